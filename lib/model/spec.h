/*
 * The rank spec: YAML (so JSON too) -> settings, a command and exceptions for
 * single ranks. The keys are tables (spec_keys) that libcyaml loads by; a small
 * libyaml event pass (spec_check) refuses first what libcyaml would take or
 * read badly. spec.schema.json says the same to editors.
 * Layer: model. Untrusted input: at most 1 MiB, depth 32.
 */
#ifndef RANKINIT_MODEL_SPEC_H
#define RANKINIT_MODEL_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "model/settings.h"

#define SPEC_BYTES_MAX    (1u << 20)
#define SPEC_LOCAL_MAX    4095 /* the largest local rank that can be named */
#define SPEC_DEFAULT_PATH "/etc/rankinit/spec.yaml"

/* A document in memory. */
struct spec_source {
    const char *bytes;
    size_t len;
    const char *name; /* for messages: a path, "RANKINIT_SPEC", "--spec" */
};

/* A row of ranks: what is different for some of the ranks here. */
struct spec_rank {
    const char *origin;  /* "spec.yaml: ranks[1]", for messages */
    const char *local;   /* local ranks it is about, checked by scan_list: "0-3,6" */
    const char *devices; /* their devices; NULL: as for the others */
    const char *cpus;    /* their CPUs, checked by cpuset_read: "0-7,16"; NULL: as for the others */
    struct strvec command;
    struct strvec env_set, env_unset; /* as below, after those */
    struct strvec texts;              /* owns what is pointed to */
};

/* What a spec says beyond settings. */
struct spec {
    struct strvec command;   /* used when argv has no PROGRAM */
    struct strvec env_set;   /* "NAME=value": wins over inherited values */
    struct strvec env_unset; /* names to take away */
    struct spec_rank *ranks; /* exceptions, in the order of the document */
    size_t rank_count;
};

/* True if RANKINIT_SPEC is the document itself: it begins with '{' or has several lines. */
bool spec_is_document(const char *text);

/*
 * Reads a document into *ret and offers its scalars to settings as SOURCE_SPEC, with origins such as
 * "spec.yaml: job.nnodes". ERR_SPEC with name, line, column and the nearest right key; *ret is empty
 * (releasable) on failure.
 */
int spec_read(const struct spec_source *source, struct settings *settings, struct spec *ret,
              struct err *err);

/* Frees what a spec owns; it is empty afterwards. */
void spec_release(struct spec *spec);

#endif
