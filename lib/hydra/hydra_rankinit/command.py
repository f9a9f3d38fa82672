"""The command line of rankinit for one job, and what rankinit says of the machine."""
import json
import logging
import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from hydra.errors import HydraException

log = logging.getLogger(__name__)

# Fields of the torchrun plugin that choose a rendezvous, with their defaults there.
UNUSED = {
    "rdzv_endpoint": "127.0.0.1:29500",
    "rdzv_backend": "static",
    "rdzv_timeout": -1,
    "monitor_interval": 5,
}
SAME_NAME = {"max_restarts": 0, "log_dir": None, "tee": "0", "redirects": "0"}


@dataclass
class Slot:
    """What one job at a time has for itself: devices, or (None) all that there are."""

    devices: Optional[List[str]]


def find(options: Dict[str, Any]) -> str:
    binary = shutil.which(options["binary"])
    if binary is None:
        raise HydraException(
            f"{options['binary']} is not on PATH: install rankinit, or say where it is with"
            " hydra.launcher.binary=PATH"
        )
    return os.path.abspath(binary)


def check(options: Dict[str, Any]) -> None:
    """Refuses what cannot work before any job starts."""
    nodes = max(options["nnodes"], options.get("min_nodes", 1), options.get("max_nodes", 1))
    if nodes != 1:
        raise HydraException(
            f"hydra.launcher: {nodes} nodes: a sweep runs on one node. For a single run on several"
            " nodes start rankinit --hydra on each"
        )
    if options["parallel_jobs"] < 1:
        raise HydraException("hydra.launcher.parallel_jobs must be at least 1")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANKINIT_THIS_RANK" in os.environ:
        raise HydraException(
            f"This process is itself rank {os.environ['RANKINIT_THIS_RANK']} of"
            f" {os.environ['WORLD_SIZE']}: every rank would run the whole sweep. Start it once"
            " (rankinit --nproc-per-node 1 ...) and state hydra.launcher.nproc_per_node"
        )
    for name, default in UNUSED.items():
        if options.get(name, default) != default:
            log.warning(
                "hydra.launcher.%s has no effect: each job gets a free port of its own", name
            )


def _pool(options: Dict[str, Any]) -> List[str]:
    """The visible devices, as rankinit finds them."""
    words = [find(options), "--plan=json", "--nproc-per-node=1", "--standalone", "--no-python"]
    ran = subprocess.run(words + ["true"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if ran.returncode != 0:
        raise HydraException(f"rankinit cannot tell the visible devices: exit code {ran.returncode}")
    return json.loads(ran.stdout).get("devices", {}).get("pool", [])


def slots(options: Dict[str, Any]) -> List[Slot]:
    """One for each job that may run at a time; their devices are disjoint."""
    jobs, wanted = options["parallel_jobs"], options["gpus_per_job"]
    if wanted == 0 or (wanted is None and jobs == 1):
        return [Slot([] if wanted == 0 else None) for _ in range(jobs)]
    pool = _pool(options)
    if wanted is None:
        if not pool:
            return [Slot(None) for _ in range(jobs)]
        wanted = max(len(pool) // jobs, 1)
    if jobs * wanted > len(pool):
        raise HydraException(
            f"hydra.launcher: {jobs} jobs at a time with {wanted} devices each need {jobs * wanted},"
            f" but {len(pool)} are visible: {','.join(pool) or 'none'}"
        )
    return [Slot(pool[i * wanted : (i + 1) * wanted]) for i in range(jobs)]


def words(options: Dict[str, Any], slot: Slot, summary: str) -> List[str]:
    """Everything in front of the program."""
    ret = [find(options), f"--nproc-per-node={options['nproc_per_node']}", "--standalone"]
    ret += ["--parent-death-signal=TERM", "--report=never", f"--summary={summary}"]
    for name, default in SAME_NAME.items():
        if options[name] != default:
            ret.append(f"--{name.replace('_', '-')}={options[name]}")
    for name, default in (("rdzv_id", "none"), ("role", "default")):
        if options.get(name, default) != default:
            ret.append(f"--{name.replace('_', '-')}={options[name]}")
    if slot.devices is not None:
        ret.append(f"--devices={','.join(slot.devices)}" if slot.devices else "--device-mode=none")
    return ret + list(options["options"]) + ["--"]
