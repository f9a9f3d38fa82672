/*
 * The rank spec: YAML (so JSON too) -> settings and a command. The keys are
 * schema rows beside the struct; libcyaml loads them, a small libyaml event
 * pass (spec_check) refuses first what libcyaml would take or read badly.
 * Layer: model. Untrusted input: at most 1 MiB, depth 32.
 */
#ifndef RANKINIT_MODEL_SPEC_H
#define RANKINIT_MODEL_SPEC_H

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "model/settings.h"

#define SPEC_BYTES_MAX    (1u << 20)
#define SPEC_DEFAULT_PATH "/etc/rankinit/spec.yaml"

/* A document in memory. */
struct spec_source {
    const char *bytes;
    size_t len;
    const char *name; /* for messages: a path, or "RANKINIT_SPEC" */
};

/* What a spec says beyond settings. */
struct spec {
    struct strvec command;   /* used when argv has no PROGRAM */
    struct strvec env_set;   /* "NAME=value": wins over inherited values */
    struct strvec env_unset; /* names to take away */
};

/*
 * Reads a document into *ret and offers its scalars to settings as SOURCE_SPEC, with origins such as
 * "spec.yaml: job.nnodes". ERR_SPEC with name, line, column and the nearest right key; *ret is empty
 * (releasable) on failure.
 */
int spec_read(const struct spec_source *source, struct settings *settings, struct spec *ret,
              struct err *err);

/* Frees what a spec owns. */
void spec_release(struct spec *spec);

#endif
