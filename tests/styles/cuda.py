"""What CUDA makes of CUDA_VISIBLE_DEVICES, on a machine of $STUB_DEVICES devices that has none.

Stands for torch.cuda as far as choosing a device goes: an index counts in the mask.
"""

import os


def _visible():
    host = int(os.environ["STUB_DEVICES"])
    mask = os.environ.get("CUDA_VISIBLE_DEVICES")
    if mask is None:
        return list(range(host))
    seen = []
    for entry in filter(None, mask.split(",")):
        if not entry.strip().isdigit() or int(entry) >= host:
            break
        seen.append(int(entry))
    return [] if len(set(seen)) < len(seen) else seen


def device_count():
    return len(_visible())


def set_device(index):
    """Returns which device of the machine that is."""
    visible = _visible()
    if not 0 <= index < len(visible):
        raise RuntimeError("CUDA error: invalid device ordinal")
    return visible[index]
