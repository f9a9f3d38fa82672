"""meet.py env|tcp: all ranks meet and each prints the sum of all ranks, and whether torch sees a launcher.
meet.py alone: only the latter, for a process that nobody launched."""
import os
import sys

import torch
import torch.distributed as dist


def main(how):
    text = f"launched {dist.is_torchelastic_launched()}"
    if how != "alone":
        env = os.environ
        method = f"tcp://{env['MASTER_ADDR']}:{env['MASTER_PORT']}" if how == "tcp" else "env://"
        dist.init_process_group("gloo", init_method=method, rank=int(env["RANK"]),
                                world_size=int(env["WORLD_SIZE"]))
        total = torch.tensor(dist.get_rank())
        dist.all_reduce(total)
        text += f", rank {dist.get_rank()} of {dist.get_world_size()}, sum {total.item()}"
        dist.destroy_process_group()
    print(text, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
