"""What runs in each rank: rank.py TASK-FILE. Brings the rank to the user's function.

`rerun`: runs the user's script or module again as __main__, with Hydra's own --experimental-rerun
and the frozen configuration. `pickle`: calls the function that came along. In both the value that
rank 0 returns is left in a file for the sweeper, and a failure in TORCHELASTIC_ERROR_FILE.
"""
import functools
import json
import os
import pickle
import runpy
import sys
import time
import traceback
import warnings
from typing import Any, Callable, Dict


def _is_rank_0() -> bool:
    return os.environ.get("RANK", "0") == "0"


def _dumps(value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception:  # of a class that came by pickle too, and is in no module
        import cloudpickle

        return cloudpickle.dumps(value)  # type: ignore[no-any-return]


def _keep_result(path: str, value: Any) -> None:
    if value is None or not _is_rank_0():
        return
    try:
        data = _dumps(value)
    except Exception as error:
        print(f"hydra_rankinit: what rank 0 returned cannot be pickled: {error}", file=sys.stderr)
        return
    with open(path + ".new", "wb") as file:
        file.write(data)
    os.replace(path + ".new", path)


def _configure_log(conf: Any, verbose: Any = False) -> None:
    """Job logging, with a file of its own for each rank but 0: app.log, app.rank1.log, ..."""
    from hydra.core.utils import configure_log
    from omegaconf import OmegaConf

    if conf is not None and not _is_rank_0():
        plain = OmegaConf.to_container(conf, resolve=True)
        for handler in (plain.get("handlers") or {}).values():
            if handler.get("filename"):
                stem, end = os.path.splitext(handler["filename"])
                handler["filename"] = f"{stem}.rank{os.environ['RANK']}{end}"
        conf = OmegaConf.create(plain, flags={"allow_objects": True})
    configure_log(conf, verbose)


def _rerun(task: Dict[str, Any]) -> None:
    import hydra

    module = sys.modules["hydra.main"]
    original = module.main  # type: ignore[attr-defined]

    def main(*args: Any, **options: Any) -> Callable[..., Any]:
        decorate = original(*args, **options)

        def keeping(function: Callable[..., Any]) -> Any:
            @functools.wraps(function)
            def call(*args: Any) -> Any:
                value = function(*args)
                _keep_result(task["result"], value)
                return value

            return decorate(call)

        return keeping

    hydra.main = module.main = main  # type: ignore[attr-defined]
    module.configure_log = _configure_log  # type: ignore[attr-defined]
    warnings.filterwarnings("ignore", message="Experimental rerun CLI option")
    kind, name = task["entry"]
    sys.argv = [name, "--experimental-rerun", task["config"]]
    if kind == "module":
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(name, run_name="__main__")


def _call_pickled(task: Dict[str, Any]) -> None:
    from hydra.core.hydra_config import HydraConfig
    from hydra.core.utils import JobRuntime, setup_globals

    setup_globals()
    with open(task["config"], "rb") as file:
        function, config = pickle.load(file)
    JobRuntime.instance().set("name", task["name"])
    _configure_log(config.hydra.job_logging, config.hydra.verbose)
    HydraConfig.instance().set_config(config)
    config._set_flag(["readonly", "struct"], [False, False])
    del config["hydra"]
    config._set_flag("struct", True)
    _keep_result(task["result"], function(config))


def _own_frames(trace: Any) -> Any:
    """A traceback from the user's code on, without the way there."""
    files = []
    at = trace
    while at is not None:
        files.append((at.tb_frame.f_code.co_filename, at))
        at = at.tb_next
    last = max(i for i, (name, _) in enumerate(files) if name == __file__)
    own = [at for name, at in files[last + 1 :] if "runpy" not in name]
    return own[0] if own else trace


def _tell(error: BaseException) -> None:
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    sys.stdout.flush()
    sys.stderr.write("".join(lines))
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path or (os.path.exists(path) and os.path.getsize(path)):
        return  # none is wanted, or torch's own @record was here
    last = "".join(traceback.format_exception_only(type(error), error)).strip()
    extra = {"py_callstack": "".join(lines), "timestamp": str(int(time.time()))}
    try:
        with open(path, "w") as file:
            json.dump({"message": {"message": last, "extraInfo": extra}}, file)
    except OSError:
        pass


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        task = pickle.load(file)
    sys.path[:] = task["path"]
    try:
        if task["entry"][0] == "pickle":
            _call_pickled(task)
        else:
            _rerun(task)
    except Exception as error:
        _tell(error.with_traceback(_own_frames(error.__traceback__)))
        sys.exit(1)


if __name__ == "__main__":
    main()
