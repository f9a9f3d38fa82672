"""A batch of jobs: composed by Hydra, run one after the other or side by side, results in order."""
import logging
import multiprocessing
import multiprocessing.connection
import os
from pathlib import Path
from typing import Any, Dict, List, Sequence

from hydra.core.utils import (
    JobReturn,
    JobStatus,
    configure_log,
    filter_overrides,
    run_job,
    setup_globals,
)
from omegaconf import DictConfig, open_dict

from . import __version__, command
from .job import Job
from .stop import Stop

log = logging.getLogger(__name__)


def _compose(launcher: Any, overrides: Sequence[str], num: int) -> DictConfig:
    log.info("\t#%d : %s", num, " ".join(filter_overrides(overrides)))
    loader = launcher.hydra_context.config_loader
    config = loader.load_sweep_config(launcher.config, list(overrides))
    with open_dict(config):
        config.hydra.job.id = str(num)
        config.hydra.job.num = num
    return config


def _run(launcher: Any, config: DictConfig, job: Job) -> JobReturn:
    """The directory, .hydra, env_set, callbacks and the return value are Hydra's business."""
    try:
        return run_job(
            hydra_context=launcher.hydra_context,
            task_function=job,
            config=config,
            job_dir_key="hydra.sweep.dir",
            job_subdir_key="hydra.sweep.subdir",
        )
    finally:
        configure_log(launcher.config.hydra.hydra_logging, launcher.config.hydra.verbose)


def _in_order(launcher: Any, batch: List[Any], job: Job) -> List[JobReturn]:
    ret = []
    for number, words in batch:
        job.stop.check()
        ret.append(_run(launcher, _compose(launcher, words, number), job))
    return ret


def _failed(config: DictConfig, why: BaseException) -> JobReturn:
    ret = JobReturn(overrides=list(config.hydra.overrides.task), status=JobStatus.FAILED)
    ret.return_value = why
    return ret


def _child(launcher: Any, config: DictConfig, job: Job, connection: Any) -> None:
    """In a process of its own, since Hydra keeps the working directory, the environment, logging
    and the current configuration in the process."""
    job.stop.tell.clear()
    try:
        result = _run(launcher, config, job)
    except (KeyboardInterrupt, SystemExit):
        return  # the parent was told too
    except Exception as error:
        result = _failed(config, error)
    try:
        connection.send(result)
    except Exception as error:
        connection.send(_failed(config, RuntimeError(f"the result cannot be passed on: {error}")))


class _Running:
    def __init__(self, launcher: Any, config: DictConfig, job: Job) -> None:
        context = multiprocessing.get_context("fork")
        self.config, self.slot, self.stop = config, job.slot, job.stop
        self.connection, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=_child, args=(launcher, config, job, theirs))
        self.process.start()
        theirs.close()
        self.stop.add(self.tell)

    def tell(self, number: int) -> None:
        if self.process.is_alive() and self.process.pid:
            os.kill(self.process.pid, number)

    def result(self) -> JobReturn:
        try:
            ret: JobReturn = self.connection.recv()
        except Exception as error:
            ret = _failed(self.config, RuntimeError(f"the job's process left no result: {error!r}"))
        self.process.join()
        self.stop.remove(self.tell)
        return ret


def _side_by_side(
    launcher: Any, batch: List[Any], job: Job, free: List[command.Slot]
) -> List[JobReturn]:
    waiting = list(batch)
    running: Dict[Any, _Running] = {}
    results: Dict[int, JobReturn] = {}
    while running or (waiting and not job.stop.signal):
        while free and waiting and not job.stop.signal:
            number, words = waiting.pop(0)
            job.slot = free.pop(0)
            one = _Running(launcher, _compose(launcher, words, number), job)
            running[one.connection] = one
        for connection in multiprocessing.connection.wait(list(running)):
            one = running.pop(connection)
            results[one.config.hydra.job.num] = one.result()
            free.append(one.slot)
    job.stop.check()
    return [results[number] for number, _ in batch]


def launch(launcher: Any, job_overrides: Sequence[Sequence[str]], first: int) -> List[JobReturn]:
    """What Hydra's sweepers call, once for each batch of jobs."""
    setup_globals()
    configure_log(launcher.config.hydra.hydra_logging, launcher.config.hydra.verbose)
    options = launcher.options
    command.check(options)
    slots = command.slots(options)
    Path(str(launcher.config.hydra.sweep.dir)).mkdir(parents=True, exist_ok=True)
    binary = command.find(options)
    log.info("Launching %d jobs with %s (plugin %s)", len(job_overrides), binary, __version__)
    batch = list(enumerate(job_overrides, first))
    with Stop() as stop:
        job = Job(launcher.task_function, options, stop)
        if len(slots) > 1:
            return _side_by_side(launcher, batch, job, slots)
        job.slot = slots[0]
        return _in_order(launcher, batch, job)
