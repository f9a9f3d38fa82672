"""Ranks that come to Hydra one after another, each in a second of the clock of its own."""
import logging
import os

rank = int(os.environ["RANK"])

import datetime  # noqa: E402


class Later(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(seconds=2 * rank)


datetime.datetime = Later

import hydra  # noqa: E402
from hydra.core.hydra_config import HydraConfig  # noqa: E402


@hydra.main(version_base="1.3", config_path=".", config_name="app")
def main(cfg):
    logging.getLogger(__name__).info("here")
    folder = HydraConfig.get().runtime.output_dir
    open(os.path.join(folder, f"seen.{rank}"), "w").close()


if __name__ == "__main__":
    main()
