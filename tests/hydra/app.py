"""A Hydra application: each rank says what it sees, job by job, and does what `do` says."""
import json
import logging
import os
import signal
import sys
import threading
import time

import hydra
from hydra.core.hydra_config import HydraConfig

LOCK = threading.Lock()  # what no pickler can carry
log = logging.getLogger(__name__)


def say(cfg):
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_PORT", "CUDA_VISIBLE_DEVICES", "FROM_JOB")
    run = HydraConfig.get()
    words = {name: os.environ.get(name) for name in names}
    words.update(now=cfg.now, x=cfg.x, cwd=os.getcwd(), job=run.job.num, dir=run.runtime.output_dir)
    with open(os.path.join(run.runtime.output_dir, f"seen.{words['RANK']}"), "w") as file:
        file.write(json.dumps(words) + "\n")


def until(true):
    end = time.monotonic() + 60
    while not true():
        if time.monotonic() > end:
            sys.exit(9)


def meet(folder, count):
    """Until `count` jobs are here at the same time."""
    open(os.path.join(folder, str(os.getpid())), "w").close()
    until(lambda: len(os.listdir(folder)) >= count)


def let_rank_0_speak(rank):
    """Whoever fails does so when rank 0 has said all: it would be ended for that."""
    said = os.path.join(HydraConfig.get().runtime.output_dir, "said")
    if rank == 0:
        open(said, "w").close()
    else:
        until(lambda: os.path.exists(said))


@hydra.main(version_base="1.3", config_path=".", config_name="app")
def main(cfg):
    with LOCK:
        say(cfg)
    log.info("logged by rank %s", os.environ["RANK"])
    rank = int(os.environ["RANK"])
    if cfg.do in ("raise", "die"):
        let_rank_0_speak(rank)
    if cfg.do == "raise" and rank == 1:
        raise ValueError(f"bad batch {cfg.x}")
    if cfg.do == "die" and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if cfg.do == "meet":
        meet(cfg.folder, cfg.count)
    if cfg.do == "wait":
        print("waiting", flush=True)
        signal.pause()
    return cfg.x * 10.0 + rank


if __name__ == "__main__":
    main()
