"""python -m plain.app: a structured configuration, and a value that only this module can define."""
import os
from dataclasses import dataclass

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig


@dataclass
class Config:
    x: int = 0
    out: str = "${hydra:runtime.output_dir}"


class Odd(Exception):
    pass


@dataclass
class Score:
    value: float
    rank: str

    def __float__(self) -> float:
        return self.value


ConfigStore.instance().store("plain", Config)


@hydra.main(version_base="1.3", config_path=None, config_name="plain")
def main(cfg: Config):
    assert cfg.out == HydraConfig.get().runtime.output_dir
    with open(os.path.join(cfg.out, "ran." + os.environ["RANK"]), "w") as file:
        file.write(os.getcwd())
    if cfg.x < 0:
        raise Odd(f"x is {cfg.x}")
    return Score(cfg.x * 10.0 + float(os.environ["RANK"]), os.environ["RANK"])


if __name__ == "__main__":
    main()
