#include "model/program.h"

#include <stddef.h>
#include <string.h>

/*
 * Commands and Python modules that start ranks or workers by themselves; what follows after a dot
 * belongs to them too (mpirun.openmpi, vllm.entrypoints.openai.api_server).
 */
static const char *const launchers[] = {
    "accelerate",
    "accelerate-launch",
    "axolotl",
    "bagua.distributed",
    "colossalai",
    "composer",
    "deepspeed",
    "fabric",
    "horovod",
    "horovodrun",
    "lightning",
    "lightning_fabric",
    "llamafactory-cli",
    "mpiexec",
    "mpirun",
    "oneflow.distributed.launch",
    "orterun",
    "paddle.distributed.launch",
    "prterun",
    "prun",
    "pytorch_lightning",
    "ray",
    "sglang",
    "srun",
    "torch.distributed.elastic",
    "torch.distributed.launch",
    "torch.distributed.launcher",
    "torch.distributed.run",
    "torch_xla.distributed",
    "torchelastic.distributed.launch",
    "torchrun",
    "torchx",
    "tritonserver",
    "trtllm-llmapi-launch",
    "tune",
    "vllm",
    "xla_dist",
};

#define LAUNCHERS (sizeof(launchers) / sizeof(launchers[0]))

bool program_is_launcher(const char *name)
{
    for (size_t i = 0; i < LAUNCHERS; i++) {
        size_t len = strlen(launchers[i]);

        if (strncmp(name, launchers[i], len) == 0 && (name[len] == '\0' || name[len] == '.'))
            return true;
    }
    return false;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool program_is_python_file(const char *path)
{
    size_t len = strlen(last_part(path));

    return len > 3 && strcmp(last_part(path) + len - 3, ".py") == 0;
}

/* True for the file of a launching module, such as .../site-packages/torch/distributed/run.py. */
static bool is_launcher_file(const char *path)
{
    static const char *const files[] = {
        "torch/distributed/run.py",      "torch/distributed/launch.py",
        "accelerate/commands/launch.py", "deepspeed/launcher/launch.py",
        "deepspeed/launcher/runner.py",
    };
    size_t len = strlen(path);

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        size_t tail = strlen(files[i]);

        if (len > tail && path[len - tail - 1] == '/' && strcmp(path + len - tail, files[i]) == 0)
            return true;
    }
    return false;
}

/* python, python3, python3.11, python3.13t, python3-dbg, pypy, pypy3, pypy3.10 */
static bool is_interpreter(const char *path)
{
    const char *name = last_part(path);

    if (strncmp(name, "python", 6) == 0)
        name += 6;
    else if (strncmp(name, "pypy", 4) == 0)
        name += 4;
    else
        return false;
    name += strspn(name, "0123456789.");
    name += *name == 't';
    return *name == '\0' || strcmp(name, "-dbg") == 0;
}

static enum program_kind classify_module(const char *module)
{
    return !module || program_is_launcher(module) ? PROGRAM_OTHER : PROGRAM_PYTHON;
}

/*
 * Reads one word of options in front of python's program, such as -uOm. Returns how many words it
 * takes (2 if its argument is the next one), or 0 if the program is decided: *ret_kind then.
 */
static int skip_letters(const char *const *words, enum program_kind *ret_kind)
{
    for (const char *at = words[0] + 1; *at != '\0'; at++) {
        const char *attached = at[1] != '\0' ? at + 1 : NULL;

        if (strchr("cVh?", *at)) {
            *ret_kind = PROGRAM_OTHER;
            return 0;
        }
        if (*at == 'm') {
            *ret_kind = classify_module(attached ? attached : words[1]);
            return 0;
        }
        if (strchr("XWQ", *at))
            return attached || !words[1] ? 1 : 2;
    }
    return 1;
}

/* Kind of what follows the interpreter. */
static enum program_kind classify_python(const char *const *words)
{
    static const char pycs[] = "--check-hash-based-pycs";
    enum program_kind kind;
    int taken;

    while (*words && (*words)[0] == '-') {
        if (strcmp(*words, "--") == 0) {
            words++;
            break;
        }
        if ((*words)[1] == '\0') /* the program comes from standard input */
            return PROGRAM_OTHER;
        if ((*words)[1] == '-') {
            if (strcmp(*words, pycs) != 0 || !words[1])
                return PROGRAM_OTHER;
            words += 2;
            continue;
        }
        taken = skip_letters(words, &kind);
        if (taken == 0)
            return kind;
        words += taken;
    }
    if (!*words || !program_is_python_file(*words) || is_launcher_file(*words))
        return PROGRAM_OTHER;
    return PROGRAM_PYTHON;
}

enum program_kind program_classify(const char *const *argv, bool module)
{
    if (module)
        return program_is_launcher(argv[0]) ? PROGRAM_OTHER : PROGRAM_SCRIPT;
    if (program_is_python_file(argv[0]))
        return is_launcher_file(argv[0]) ? PROGRAM_OTHER : PROGRAM_SCRIPT;
    if (is_interpreter(argv[0]))
        return classify_python(argv + 1);
    return PROGRAM_OTHER;
}
