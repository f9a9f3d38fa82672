"""Small programs that fail in the ways that real training jobs fail: train.py CASE, one process per rank.

`make` beside this file runs them and keeps what they said on stderr.
"""

import ctypes
import logging
import os
import signal
import sys
import threading
import time
from datetime import timedelta


def rank():
    return int(os.environ.get("RANK", "0"))


def join(timeout=60):
    import torch.distributed as dist

    dist.init_process_group("gloo", timeout=timedelta(seconds=timeout))
    return dist


def reduce_for_ever(dist):
    import torch

    while True:
        dist.all_reduce(torch.ones(1))
        time.sleep(0.01)


def load_batch(step):
    raise ValueError(f"bad batch {step}")


def value_error():
    dist = join()
    dist.barrier()
    if rank() == 1:
        time.sleep(0.2)
        load_batch(7)
    reduce_for_ever(dist)


def killed():
    dist = join()
    dist.barrier()
    if rank() == 1:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    reduce_for_ever(dist)


def store_killed():
    """Rank 0 holds the store; the other one waits at a barrier when it goes."""
    dist = join()
    dist.barrier()
    if rank() == 0:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


def store_lost():
    """Rank 0 holds the store and goes while the other one asks it."""
    dist = join()
    if rank() == 0:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    dist.distributed_c10d._get_default_store().get("never")


def left_early():
    dist = join()
    dist.barrier()
    if rank() == 1:
        sys.exit(0)
    reduce_for_ever(dist)


def timed_out():
    dist = join(timeout=2)
    dist.barrier()
    if rank() == 1:
        time.sleep(4)
        os._exit(0)
    reduce_for_ever(dist)


def store_timed_out():
    dist = join(timeout=2)
    if rank() == 0:
        time.sleep(4)
        os._exit(0)
    dist.distributed_c10d._get_default_store().get("never")


def no_master():
    """Nobody listens."""
    join(timeout=1)


def real_then_echo():
    """An error of its own, and in the way out a collective that cannot work any more."""
    dist = join()
    dist.barrier()
    if rank() == 0:
        os._exit(0)
    time.sleep(0.3)
    import torch

    try:
        load_batch(3)
    finally:
        dist.all_reduce(torch.ones(1))


def echo_wrapped():
    dist = join()
    dist.barrier()
    if rank() == 0:
        os._exit(0)
    try:
        reduce_for_ever(dist)
    except Exception as error:
        raise RuntimeError("epoch 3 failed") from error


class Broken:
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return load_batch(index)


class Killed(Broken):
    def __getitem__(self, index):
        os.kill(os.getpid(), signal.SIGKILL)


def loader_error():
    from torch.utils.data import DataLoader

    list(DataLoader(Broken(), num_workers=2))


def loader_killed():
    from torch.utils.data import DataLoader

    list(DataLoader(Killed(), num_workers=2))


def recorded():
    """Also writes an error file, where TORCHELASTIC_ERROR_FILE says."""
    from torch.distributed.elastic.multiprocessing.errors import record

    record(load_batch)(11)


def segfault():
    import faulthandler

    faulthandler.enable()
    threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
    time.sleep(0.1)
    ctypes.string_at(8)


def aborted():
    import faulthandler

    faulthandler.enable()
    os.abort()


def free_invalid():
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    libc.free(ctypes.c_void_p(ctypes.addressof(ctypes.create_string_buffer(64)) + 16))


def chained():
    try:
        {}["lr"]
    except KeyError as error:
        raise RuntimeError("no learning rate") from error


def group():
    try:
        raise ExceptionGroup("two shards", [ValueError("bad shard 1"), OSError("no shard 2")])
    except* ValueError:
        raise


def multi_line():
    raise RuntimeError("Error(s) in loading state_dict for Net:\n\tsize mismatch for fc.weight\n\tunexpected key")


def no_message():
    assert rank() < 0


def in_thread():
    thread = threading.Thread(target=load_batch, args=(5,), name="feeder")
    thread.start()
    thread.join()
    sys.exit(3)


def handled():
    """Logs an error, goes on, ends well."""
    try:
        load_batch(1)
    except ValueError:
        logging.exception("skipping a batch")
    for step in range(10):
        print(f"step {step}: loss {1 / (step + 1):.3f}", file=sys.stderr)


def interrupted():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)


def bad_import():
    import flash_attn_that_is_not_there  # noqa: F401


def bad_syntax():
    compile("def f(:\n    pass\n", "/app/model.py", "exec")


def bad_argument():
    import argparse

    argparse.ArgumentParser(prog="train.py").parse_args(["--lr"])


def bad_device():
    import torch

    torch.ones(1, device="cuda")


def no_memory():
    import torch

    torch.empty(1 << 60)


def shape_mismatch():
    import torch

    torch.nn.Linear(4, 2)(torch.ones(3, 5))


class Signalled(Broken):
    def __getitem__(self, index):
        os.kill(os.getpid(), getattr(signal, os.environ["LOADER_SIGNAL"]))
        time.sleep(5)


def load_signalled(name):
    from torch.utils.data import DataLoader

    os.environ["LOADER_SIGNAL"] = name
    list(DataLoader(Signalled(), num_workers=1))


def loader_bus():
    """As a worker ends that finds no room in /dev/shm."""
    load_signalled("SIGBUS")


def loader_told():
    """As a worker ends whose whole group is told to stop."""
    load_signalled("SIGTERM")


def told_to_exit():
    print("loading /data/train", file=sys.stderr)
    sys.exit("no shards below /data/train")


def exit_code():
    print("step 7: loss is not a number, giving up", file=sys.stderr)
    sys.exit(4)


def recursion():
    def down(depth):
        return down(depth + 1)

    down(0)


def noted():
    try:
        load_batch(9)
    except ValueError as error:
        error.add_note("in epoch 3")
        error.add_note("of shard 12")
        raise


def task_group():
    import asyncio

    async def fetch(shard):
        await asyncio.sleep(0)
        raise ConnectionError(f"no answer for shard {shard}")

    async def main():
        async with asyncio.TaskGroup() as tasks:
            for shard in (1, 2):
                tasks.create_task(fetch(shard))

    asyncio.run(main())


def spawned(index):
    load_batch(index)


def spawn():
    import torch.multiprocessing

    torch.multiprocessing.spawn(spawned, nprocs=1)


def in_pool():
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(1) as pool:
        pool.submit(load_batch, 6).result()


def at_exit():
    import atexit

    atexit.register(load_batch, 1)
    raise RuntimeError("loss is not a number")


def while_deleting():
    class Reader:
        def __del__(self):
            load_batch(2)

    Reader()
    raise KeyError("lr")


def port_taken():
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(os.environ["MASTER_PORT"])))
        taken.listen()
        join()


def state_dict():
    import torch

    torch.nn.Linear(4, 2).load_state_dict(torch.nn.Linear(3, 2, bias=False).state_dict())


def monitored():
    dist = join(timeout=2)
    if rank() == 1:
        time.sleep(4)
        os._exit(0)
    dist.monitored_barrier(timeout=timedelta(seconds=2))


def stdout_closed():
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    print("x" * 100000, flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
