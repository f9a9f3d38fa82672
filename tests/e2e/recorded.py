#!/usr/bin/env python3
"""Rank 1 fails in a function under torch's @record, which writes TORCHELASTIC_ERROR_FILE."""
import os

import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


def parse(text):
    return {"seven": 7}[text]


@record
def main():
    dist.init_process_group("gloo")
    dist.barrier()
    if os.environ["RANK"] == "1":
        parse("eight")
    dist.barrier()


if __name__ == "__main__":
    main()
