#!/usr/bin/env python3
"""Train a digit classifier on several ranks: an example to copy from.

    rankinit --nproc-per-node 2 train.py --checkpoint digits.pt

The data set (1,797 scanned digits) comes with scikit-learn. NCCL on GPUs, gloo on CPUs. On
SIGTERM all ranks leave at the same step and rank 0 saves a checkpoint to go on from.
"""
import argparse
import os
import signal
import sys
from datetime import timedelta
from itertools import islice

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

stop_signals = []  # those that came; the training loop acts on them, between two steps


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=64, help="images per rank and step")
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--checkpoint", metavar="FILE", help="go on from FILE, and save there")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a collective may take")
    parser.add_argument("--fail-rank", type=int, metavar="RANK", help="make this rank raise")
    parser.add_argument("--fail-at-step", type=int, default=20, metavar="STEP")
    return parser.parse_args()


def pick_device():
    """LOCAL_RANK selects, also when this rank was given one device of its own."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


def load_data():
    """Return training and test set; every fifth image is for the test."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    test = torch.arange(len(labels)) % 5 == 0
    return TensorDataset(images[~test], labels[~test]), TensorDataset(images[test], labels[test])


def build_model():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 10))


def load_checkpoint(path, model, optimizer, device):
    """Rank 0 reads and all get the same. Return the step to go on from."""
    state = [None]
    if path and dist.get_rank() == 0 and os.path.exists(path):
        state = [torch.load(path, map_location="cpu", weights_only=True)]
    dist.broadcast_object_list(state, src=0, device=device)
    if not state[0]:
        return 0
    model.module.load_state_dict(state[0]["model"])
    optimizer.load_state_dict(state[0]["optimizer"])
    return state[0]["step"]


def save_checkpoint(path, model, optimizer, step):
    """Rank 0 writes beside the file and renames: a kill never leaves half of one."""
    if not path or dist.get_rank() != 0:
        return
    state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(state, path + ".tmp")
    os.replace(path + ".tmp", path)
    print(f"checkpoint saved at step {step}: {path}", flush=True)


def somebody_was_asked_to_stop(device):
    """All ranks answer alike: none may wait for one that left. (A big job asks less often.)"""
    flag = torch.tensor(len(stop_signals), device=device)
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())


def accuracy(model, test, device):
    """Each rank tests its share of the images."""
    images, labels = test[dist.get_rank()::dist.get_world_size()]
    right = (model.module(images.to(device)).argmax(1) == labels.to(device)).sum()
    dist.all_reduce(right)
    return right.item() / len(test)


def train(args, device):
    rank = dist.get_rank()
    training_set, test = load_data()
    sampler = DistributedSampler(training_set)  # each rank its own share
    loader = DataLoader(training_set, args.batch_size, sampler=sampler)
    model = DistributedDataParallel(build_model().to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    step = load_checkpoint(args.checkpoint, model, optimizer, device)
    if rank == 0:
        print(f"training on {dist.get_world_size()} x {device.type} from step {step}", flush=True)
    for epoch in range(step // len(loader), args.epochs):
        sampler.set_epoch(epoch)  # a new order, the same on every rank
        done = step % len(loader)  # of this epoch, before the checkpoint
        for images, labels in islice(loader, done, None):
            if rank == args.fail_rank and step == args.fail_at_step:
                raise ValueError(f"rank {rank} was told to fail at step {step}")
            if somebody_was_asked_to_stop(device):
                save_checkpoint(args.checkpoint, model, optimizer, step)
                return
            loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {loss.item():.4f}", flush=True)
    save_checkpoint(args.checkpoint, model, optimizer, step)
    result = accuracy(model, test, device)
    if rank == 0:
        print(f"test accuracy {result:.4f}", flush=True)


def main():
    args = parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: stop_signals.append(number))
    device = pick_device()
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=timedelta(seconds=args.timeout))
    status = 0
    try:
        train(args, device)
        dist.destroy_process_group()
    except Exception:
        sys.excepthook(*sys.exc_info())
        status = 1
    # Leave at once: the clean-up at Python's exit can wait for the peers, or abort, since gloo's
    # threads outlive the group of a DistributedDataParallel (pytorch/pytorch#179291).
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
