#!/usr/bin/env python3
"""steps.py WHAT: the ranks sum a number, step after step, and at step 5 rank 1 does WHAT.

sum      nothing special: ten steps, then each rank prints what it has
raise    raises ValueError
kill     ends by SIGKILL, from inside
linger   raises, takes leave of its peer and stays: the peer's error and end come before its own
"""
import os
import signal
import sys
import traceback

import torch
import torch.distributed as dist


def fail(what):
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise ValueError("no digit in step 5")


def main(what):
    # A rank that is told to stop as soon as its peer is gone would never come to complain.
    signal.signal(signal.SIGTERM, lambda signum, frame: None)
    dist.init_process_group("gloo")
    total = torch.zeros(1)
    for step in range(10):
        if step == 5 and dist.get_rank() == 1 and what != "sum":
            fail(what)
        one = torch.ones(1)
        dist.all_reduce(one)
        total += one
    print(f"rank {dist.get_rank()} has {total.item():g}", flush=True)
    dist.destroy_process_group()


def leave():
    """Tell the error and go. Python's own exit aborts at times, for the group's threads run on."""
    sys.excepthook(*sys.exc_info())
    os._exit(1)


def linger(error):
    """As a rank does that is held up in its own teardown: by a thread, or by a slow upload."""
    traceback.print_exception(error)
    dist.destroy_process_group()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        signal.pause()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except ValueError as error:
        if sys.argv[1] == "linger":
            linger(error)
        leave()
    except RuntimeError:
        leave()
