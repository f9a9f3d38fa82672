"""train.py STYLE: chooses a device as scripts do, and prints "RANK DEVICE"."""

import os
import sys

import cuda

rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])

STYLES = {
    "set_device(LOCAL_RANK)": lambda: cuda.set_device(local_rank),
    "rank % device_count()": lambda: cuda.set_device(rank % cuda.device_count()),
    "cuda:0": lambda: cuda.set_device(0),
    "if LOCAL_RANK == 0: download": lambda: "download" if local_rank == 0 else "wait",
}

print(rank, STYLES[sys.argv[1]](), flush=True)
