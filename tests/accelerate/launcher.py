"""launcher.py DIR PATTERN FILE...: what accelerate's own launcher would add to the environment for
each configuration file, to DIR/NAME.theirs: the variables whose names match PATTERN, by name."""
import os
import re
import sys

from accelerate.commands import launch
from accelerate.utils import launch as prepare

prepare.is_fp8_available = lambda: True
prepare.is_port_in_use = lambda port: False


def variables(path):
    args = launch.launch_command_parser().parse_args(["--config_file", path, "train.py"])
    args, defaults, from_file = launch._validate_launch_command(args)
    if args.use_deepspeed:
        fields = list(defaults.deepspeed_config) + ["mixed_precision"] * from_file
        args.deepspeed_fields_from_accelerate_config = ",".join(fields)
        return prepare.prepare_deepspeed_cmd_env(args)[1]
    if args.use_fsdp or args.use_megatron_lm or args.multi_gpu:
        return prepare.prepare_multi_gpu_env(args)
    return prepare.prepare_simple_launcher_cmd_env(args)[1]


for path in sys.argv[3:]:
    lines = [
        f"{name}={value}\n"
        for name, value in variables(path).items()
        if re.match(sys.argv[2], name) and os.environ.get(name) != value
    ]
    with open(os.path.join(sys.argv[1], os.path.basename(path) + ".theirs"), "w") as file:
        file.writelines(sorted(lines))
