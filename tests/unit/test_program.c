#include "model/program.h"
#include "tap.h"

#define KIND(...)   program_classify((const char *const[]){__VA_ARGS__, NULL}, false)
#define MODULE(...) program_classify((const char *const[]){__VA_ARGS__, NULL}, true)

TEST(python_files_fan_out_by_themselves)
{
    tap_eq_int(KIND("train.py"), PROGRAM_SCRIPT);
    tap_eq_int(KIND("./train.py", "--lr", "0.1"), PROGRAM_SCRIPT);
    tap_eq_int(KIND("/workspace/a.b.py"), PROGRAM_SCRIPT);
    tap_eq_int(KIND("lightning/train.py"), PROGRAM_SCRIPT);
    tap_eq_int(KIND("composer.py"), PROGRAM_SCRIPT);
    tap_eq_int(KIND("run.py"), PROGRAM_SCRIPT);
}

TEST(modules_fan_out_by_themselves)
{
    tap_eq_int(MODULE("pkg.train"), PROGRAM_SCRIPT);
    tap_eq_int(MODULE("train", "--x"), PROGRAM_SCRIPT);
    tap_eq_int(MODULE("torch.distributed.run", "train.py"), PROGRAM_OTHER);
    tap_eq_int(MODULE("accelerate.commands.launch", "train.py"), PROGRAM_OTHER);
}

TEST(names_that_only_look_like_python_files_do_not)
{
    tap_eq_int(KIND(".py"), PROGRAM_OTHER);
    tap_eq_int(KIND("dir/.py"), PROGRAM_OTHER);
    tap_eq_int(KIND("train.py/"), PROGRAM_OTHER);
    tap_eq_int(KIND("train.pyc"), PROGRAM_OTHER);
    tap_eq_int(KIND("train.PY"), PROGRAM_OTHER);
    tap_eq_int(KIND("happy"), PROGRAM_OTHER);
    tap_eq_int(KIND(""), PROGRAM_OTHER);
}

TEST(python_with_a_file_waits_for_a_shape)
{
    tap_eq_int(KIND("python", "train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python3", "train.py", "-c"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python3.11", "./x/train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("/usr/bin/python3", "train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python3.13t", "train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python3-dbg", "train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("pypy3", "train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("pypy3.10", "train.py"), PROGRAM_PYTHON);
}

TEST(python_options_are_skipped)
{
    tap_eq_int(KIND("python", "-u", "train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "-uO", "-B", "train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "-X", "dev", "train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "-Xfaulthandler", "train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "-W", "ignore", "train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "-uW", "ignore", "train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "-Wignore", "-m", "pkg"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "--check-hash-based-pycs", "never", "train.py"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "-i", "--", "train.py"), PROGRAM_PYTHON);
}

TEST(python_with_a_module_waits_for_a_shape)
{
    tap_eq_int(KIND("python", "-m", "pkg.train"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "-mpkg"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "-um", "pkg"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python3", "-u", "-X", "dev", "-m", "pkg", "-c"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "-m", "torch.utils.bottleneck"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "-m", "torch.distributed.runner"), PROGRAM_PYTHON);
    tap_eq_int(KIND("python", "-m", "lightning_app.train"), PROGRAM_PYTHON);
}

TEST(launching_modules_are_left_alone)
{
    tap_eq_int(KIND("python", "-m", "torch.distributed.run", "train.py"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "-mtorch.distributed.launch", "train.py"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "-um", "torch.distributed.run", "train.py"), PROGRAM_OTHER);
    tap_eq_int(KIND("python3", "-m", "accelerate.commands.launch", "train.py"), PROGRAM_OTHER);
    tap_eq_int(KIND("python3", "-m", "deepspeed.launcher.runner", "train.py"), PROGRAM_OTHER);
    tap_eq_int(KIND("python3", "-m", "vllm.entrypoints.openai.api_server"), PROGRAM_OTHER);
    tap_eq_int(KIND("python3", "/lib/torch/distributed/run.py", "x.py"), PROGRAM_OTHER);
    tap_eq_int(KIND("/lib/torch/distributed/launch.py", "x.py"), PROGRAM_OTHER);
    tap_eq_int(KIND("python3", "/mytorch/distributed/run.py"), PROGRAM_PYTHON);
}

TEST(other_uses_of_python_are_left_alone)
{
    tap_eq_int(KIND("python"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "-u"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "-c", "import train"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "-c", "train.py"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "-uc", "train.py"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "-m"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "-"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "-V"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "--version", "train.py"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "-X"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "--check-hash-based-pycs"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "--"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "package_dir", "train.py"), PROGRAM_OTHER);
    tap_eq_int(KIND("python", "/usr/bin/torchrun", "train.py"), PROGRAM_OTHER);
}

TEST(everything_else_is_left_alone)
{
    static const char *const names[] = {
        "bash",   "sh",      "/bin/sh",    "env",        "torchrun", "accelerate",    "deepspeed",
        "mpirun", "mpiexec", "srun",       "ray",        "vllm",     "composer",      "lightning",
        "fabric", "torchx",  "horovodrun", "nvidia-smi", "ipython",  "python-config", "pythonx",
        "uv",     "conda",   "tini",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        tap_eq_int(KIND(names[i], "train.py"), PROGRAM_OTHER);
}

TEST(knows_python_files)
{
    tap_ok(program_is_python_file("train.py"));
    tap_ok(program_is_python_file("/lib/torch/distributed/run.py"));
    tap_ok(!program_is_python_file(".py"));
    tap_ok(!program_is_python_file("a.py/b"));
    tap_ok(!program_is_python_file(""));
}

TEST(knows_launchers)
{
    tap_ok(program_is_launcher("torchrun"));
    tap_ok(program_is_launcher("mpirun"));
    tap_ok(program_is_launcher("mpirun.openmpi"));
    tap_ok(program_is_launcher("mpiexec.hydra"));
    tap_ok(program_is_launcher("torch.distributed.run"));
    tap_ok(program_is_launcher("accelerate.commands.launch"));
    tap_ok(program_is_launcher("horovodrun"));
    tap_ok(!program_is_launcher("torchrunner"));
    tap_ok(!program_is_launcher("torch.distributed"));
    tap_ok(!program_is_launcher("bash"));
    tap_ok(!program_is_launcher("rayon"));
    tap_ok(!program_is_launcher(""));
}

TAP_MAIN()
