#!/usr/bin/env python3
"""races.py raise|linger|skip: two or more ranks sum a number; at a step of its own choice rank 1 fails.

raise   rank 1 raises; the others die of the lost connection, at once or up to 50 ms later
linger  rank 1 raises, takes leave of its peers and is held up for two seconds; the others die first
skip    rank 1 never comes to a sum, and waits until it is stopped; the others time out

Which step, and how long the others take, is chosen at random, anew for each run.
"""
import datetime
import os
import random
import signal
import sys
import time
import traceback

import torch
import torch.distributed as dist


class Fault(Exception):
    pass


def steps(what, last):
    for step in range(50):
        if step == last and dist.get_rank() == 1:
            if what == "skip":
                signal.pause()
            raise Fault(f"no digit in step {step}")
        dist.all_reduce(torch.ones(1))


def main(what):
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=1 if what == "skip" else 60))
    # So that nobody is told to stop before it has had its say.
    if what != "skip" or dist.get_rank() != 1:
        signal.signal(signal.SIGTERM, lambda signum, frame: None)
    # A slow start is no lag.
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=60))
    try:
        steps(what, random.randrange(1, 20))
    except Fault as error:
        traceback.print_exception(error)
        if what == "linger":
            dist.destroy_process_group()
            time.sleep(2)
    except RuntimeError as error:
        time.sleep(random.choice((0, random.uniform(0, 0.05))))
        traceback.print_exception(error)
    # Without Python's own exit, which aborts at times: the group's threads run on.
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
