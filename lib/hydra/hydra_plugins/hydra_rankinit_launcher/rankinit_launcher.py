"""The launcher as Hydra sees it: its configuration groups and the plugin class.

Every Hydra application imports this module when it starts, whatever launcher it uses, so it
imports nothing but Hydra. The work is in the package hydra_rankinit.
"""
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, List, Optional, Sequence

from hydra.core.config_store import ConfigStore
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class Carry(Enum):
    """How ranks come to the function that they run."""

    rerun = "rerun"  # they run the script again, with the frozen configuration
    pickle = "pickle"  # they unpickle it (cloudpickle)


@dataclass
class RankinitConf:
    """hydra/launcher=rankinit"""

    _target_: str = "hydra_plugins.hydra_rankinit_launcher.rankinit_launcher.RankinitLauncher"
    nproc_per_node: str = "auto"  # ranks of a job: a number, or auto: its GPUs, else 1
    nnodes: int = 1
    max_restarts: int = 0
    log_dir: Optional[str] = None  # as rankinit's options of the same names
    tee: str = "0"
    redirects: str = "0"
    gpus_per_job: Optional[int] = None  # of the visible ones; None: an equal part of them
    parallel_jobs: int = 1
    carry: Carry = Carry.rerun
    binary: str = "rankinit"  # the program, on PATH or with its path
    options: List[str] = field(default_factory=list)  # further options of rankinit


@dataclass
class TorchrunConf(RankinitConf):
    """hydra/launcher=torchrun: the fields and defaults of the plugin of that name."""

    nproc_per_node: str = "8"
    min_nodes: int = 1
    max_nodes: int = 1
    rdzv_id: str = "none"
    role: str = "default"
    rdzv_endpoint: str = "127.0.0.1:29500"
    rdzv_backend: str = "static"
    rdzv_timeout: int = -1
    monitor_interval: float = 5


ConfigStore.instance().store("rankinit", RankinitConf, group="hydra/launcher", provider="rankinit")
ConfigStore.instance().store("torchrun", TorchrunConf, group="hydra/launcher", provider="rankinit")


class RankinitLauncher(Launcher):
    def __init__(self, **options: Any) -> None:
        self.options = options

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self.hydra_context = hydra_context
        self.task_function = task_function
        self.config = config

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        from hydra_rankinit import sweep

        return sweep.launch(self, job_overrides, initial_job_idx)
