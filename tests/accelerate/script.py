"""What `Accelerator()` makes of a rank's environment."""
import torch
from accelerate import Accelerator

accelerator = Accelerator()
rank = torch.tensor([float(accelerator.process_index)], device=accelerator.device)
everyone = [int(one) for one in accelerator.gather(rank)]
total = float(accelerator.reduce(rank, "sum"))
print(
    f"rank {accelerator.process_index} of {accelerator.num_processes}:"
    f" {accelerator.distributed_type.value} gathered {everyone} sum {total}"
    f" precision {accelerator.mixed_precision}",
    flush=True,
)
accelerator.end_training()
