/*
 * Accelerate's configuration file (`accelerate config`) -> settings, and the
 * environment that `accelerate launch` would give its workers. What a key or a
 * variable means is a row of accelerate_rows.c. Layer: model.
 *
 * Facts: huggingface/accelerate, utils/launch.py and commands/launch.py of 1.x;
 * older files (0.11 on) are understood too. Untrusted input: at most 1 MiB.
 */
#ifndef RANKINIT_MODEL_ACCELERATE_H
#define RANKINIT_MODEL_ACCELERATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strvec.h"
#include "model/settings.h"
#include "model/spec.h"

struct accelerate {
    struct strvec env;     /* "NAME=value": over what is inherited, below the spec's */
    struct strvec notices; /* which file it was, and what of it has no effect */
};

/* The path that accelerate itself would read, by HF_HOME, XDG_CACHE_HOME, HOME; NULL: none is set. */
const char *accelerate_default_path(const char *const *envp, struct strvec *texts);

/* The first number that cksum(1) prints for these bytes. */
uint32_t accelerate_checksum(const char *bytes, size_t len);

/*
 * Reads a file into *ret and offers to settings as SOURCE_ACCELERATE, with origins such as
 * "default_config.yaml:4: num_processes". envp and cwd make the PYTHONPATH of DeepSpeed's workers.
 * ERR_SPEC with name and line: no YAML or JSON, an unknown key with the nearest one, what is for
 * other machines (TPU, SageMaker), and what cannot hold at the same time. *ret is releasable.
 */
struct accelerate_source {
    struct spec_source document;
    const char *const *envp;
    const char *cwd;
};
int accelerate_read(const struct accelerate_source *source, struct settings *settings,
                    struct accelerate *ret, struct err *err);

/* Frees what it owns. */
void accelerate_release(struct accelerate *accelerate);

#endif
