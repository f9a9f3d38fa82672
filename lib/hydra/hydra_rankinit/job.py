"""One job: freeze its configuration, start rankinit, judge by its summary."""
import copy
import json
import logging
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf, flag_override
from omegaconf.errors import OmegaConfBaseException

from . import command, failure, rank
from .stop import Stop

log = logging.getLogger(__name__)

FOLDER = ".rankinit"  # in the job's output directory


def freeze(node: Any) -> None:
    """Replaces interpolations by their values, so that all ranks see the same ones. What cannot be
    resolved stays, and fails as it would without us, if somebody asks for it."""
    keys = range(len(node)) if isinstance(node, ListConfig) else list(node.keys())
    with flag_override(node, ["readonly", "struct"], [False, False]):
        for key in keys:
            if OmegaConf.is_missing(node, key):
                continue
            interpolated = OmegaConf.is_interpolation(node, key)
            try:
                value = node[key]
            except OmegaConfBaseException:
                continue
            if isinstance(value, (DictConfig, ListConfig)):
                freeze(value)
            if interpolated:
                node[key] = value


def whole(cfg: DictConfig) -> DictConfig:
    """The job's configuration together with Hydra's own part, frozen."""
    ret = copy.deepcopy(cfg)
    hydra = HydraConfig.instance().cfg
    assert hydra is not None
    with flag_override(ret, ["readonly", "struct"], [False, False]):
        ret["hydra"] = copy.deepcopy(hydra.hydra)
    freeze(ret)
    return ret


def entry() -> Tuple[str, str]:
    """How the application was started: a module's name or a script's path."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:  # python -m
        name = spec.name
        return "module", name[: -len(".__main__")] if name.endswith(".__main__") else name
    path = getattr(main, "__file__", None)
    if path is None:
        raise HydraException(
            "hydra.launcher: there is no script that ranks could run again:"
            " state hydra.launcher.carry=pickle"
        )
    return "script", os.path.abspath(path)


class Job:
    """Called by Hydra in place of the task function."""

    def __init__(self, task: Callable[..., Any], options: Dict[str, Any], stop: Stop) -> None:
        self.task = task
        self.options = options
        self.stop = stop
        self.slot = command.Slot(None)

    def __call__(self, cfg: DictConfig) -> Any:
        frozen = whole(cfg)
        folder = Path(frozen.hydra.runtime.output_dir) / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        files = {name: folder / name for name in ("task", "config", "result", "summary.json")}
        for path in files.values():
            path.unlink(missing_ok=True)
        try:
            self._write(files, frozen)
            return self._judge(self._run(files), files, frozen)
        finally:
            # The frozen configuration may hold what the written one only refers to: secrets.
            for name in ("task", "config", "result"):
                files[name].unlink(missing_ok=True)

    def _write(self, files: Dict[str, Path], frozen: DictConfig) -> None:
        by_pickle = self.options["carry"].name == "pickle"
        task = {
            "entry": ("pickle", "") if by_pickle else entry(),
            "path": [os.path.abspath(folder) for folder in sys.path],
            "name": frozen.hydra.job.name,
            "config": str(files["config"]),
            "result": str(files["result"]),
        }
        if by_pickle:
            try:
                import cloudpickle
            except ImportError:
                raise HydraException("hydra.launcher.carry=pickle needs the package cloudpickle")
            try:
                config = cloudpickle.dumps((self.task, frozen))
            except Exception as error:
                raise HydraException(
                    f"hydra.launcher.carry=pickle cannot carry this application ({error});"
                    " carry=rerun needs no pickling"
                ) from error
        else:
            config = pickle.dumps(frozen)
        for name, data in (("task", pickle.dumps(task)), ("config", config)):
            with open(os.open(files[name], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
                f.write(data)

    def _run(self, files: Dict[str, Path]) -> int:
        words = command.words(self.options, self.slot, str(files["summary.json"]))
        words += [sys.executable, "-u", os.path.abspath(rank.__file__), str(files["task"])]
        log.debug("%s", words)
        process = subprocess.Popen(words)
        self.stop.add(process.send_signal)
        try:
            return process.wait()
        finally:
            self.stop.remove(process.send_signal)

    def _judge(self, code: int, files: Dict[str, Path], frozen: DictConfig) -> Any:
        self.stop.check()
        num = frozen.hydra.job.num
        try:
            verdict = json.loads(files["summary.json"].read_bytes())
        except (OSError, ValueError):
            raise HydraException(f"Job {num}: rankinit ended with {code} and left no summary")
        if code != 0 or verdict["verdict"] != "succeeded":
            log.error("Job %s failed: %s", num, verdict.get("message"))
            _log_all(logging.ERROR, verdict.get("hints", []))
            raise failure.from_verdict(verdict)
        _log_all(logging.WARNING, verdict.get("hints", []))
        if not files["result"].exists():
            return None
        return pickle.loads(files["result"].read_bytes())


def _log_all(level: int, texts: List[str]) -> None:
    for text in texts:
        log.log(level, "%s", text)
