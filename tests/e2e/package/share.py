"""Each rank tells where it is, and what the sum of all ranks is."""
import sys

import torch
import torch.distributed as dist

from . import __name__ as package


def main():
    dist.init_process_group("gloo")
    total = torch.tensor(dist.get_rank() + 1)
    dist.all_reduce(total)
    print(f"{package}: rank {dist.get_rank()} of {dist.get_world_size()}, sum {total.item()}, "
          f"arguments {sys.argv[1:]}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
