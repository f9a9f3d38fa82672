"""Prints "RANK COUNT UUID BUS-ID TOLD-UUID": what CUDA sees, and what rankinit has told."""

import os

import torch

rank, count = os.environ["RANK"], torch.cuda.device_count()
uuid = bus_id = "-"
if count:
    device = torch.cuda.get_device_properties(int(os.environ["LOCAL_RANK"]))
    uuid = f"GPU-{device.uuid}"
    bus_id = f"{device.pci_domain_id:04x}:{device.pci_bus_id:02x}:{device.pci_device_id:02x}.0"
    torch.ones(1, device=int(os.environ["LOCAL_RANK"]))
print(rank, count, uuid, bus_id, os.environ.get("RANKINIT_THIS_UUIDS", "-"), flush=True)
