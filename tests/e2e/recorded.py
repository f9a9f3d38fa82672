#!/usr/bin/env python3
"""Rank 1 fails in a function under torch's @record, which writes TORCHELASTIC_ERROR_FILE."""
import os
import sys

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
    try:
        main()
    except Exception:
        # Python's own exit, with the group's threads running, aborts at times.
        sys.excepthook(*sys.exc_info())
        os._exit(1)
