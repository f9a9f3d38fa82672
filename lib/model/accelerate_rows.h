/*
 * Every key of Accelerate's file and every variable of its workers, one row
 * each. Layer: model, used by accelerate.c only.
 */
#ifndef RANKINIT_MODEL_ACCELERATE_ROWS_H
#define RANKINIT_MODEL_ACCELERATE_ROWS_H

/* Variables that are sent together, or not at all. */
enum accelerate_block {
    ACCELERATE_TOP, /* always */
    ACCELERATE_CPU,
    ACCELERATE_PLAIN, /* one process, no CPU asked for */
    ACCELERATE_DYNAMO,
    ACCELERATE_FSDP,
    ACCELERATE_DEEPSPEED,
    ACCELERATE_MEGATRON,
    ACCELERATE_FP8,
    ACCELERATE_PARALLEL,
    ACCELERATE_PARALLEL_CP, /* with a context parallel size above 1 */
    ACCELERATE_PARALLEL_SP, /* with a sequence parallel size above 1 */
    ACCELERATE_MPIRUN,
    ACCELERATE__COUNT
};

/* Where a block's keys stand, and what may be left out in front of them. */
struct accelerate_section {
    const char *name, *prefix; /* prefix NULL: nothing */
};

enum accelerate_how {
    ACCELERATE_AS_IS,
    ACCELERATE_LOWER,
    ACCELERATE_UPPER,
    ACCELERATE_IF_TRUE, /* "true", or not at all */
    ACCELERATE_FIRST,   /* of a list of three, as the next two */
    ACCELERATE_SECOND,
    ACCELERATE_THIRD,
    ACCELERATE_READ, /* decides something; no variable */
    ACCELERATE_UNUSED /* means nothing here: a notice unless it is null or one of the words in dflt */
};

struct accelerate_row {
    const char *key;      /* with its prefix; NULL: the variable is constant */
    const char *variable; /* NULL: none */
    const char *dflt;     /* sent when the key is absent or null; NULL: then it is not sent */
    enum accelerate_block block;
    enum accelerate_how how;
};

extern const struct accelerate_section accelerate_sections[ACCELERATE__COUNT];
extern const struct accelerate_row accelerate_rows[]; /* ends with .block = ACCELERATE__COUNT */

#endif
