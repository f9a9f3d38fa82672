/*
 * What the parts of `platform` share: the table of platforms, and what a row
 * of it finds out. Layer: model, used by platform*.c only.
 */
#ifndef RANKINIT_MODEL_PLATFORM_PARTS_H
#define RANKINIT_MODEL_PLATFORM_PARTS_H

#include "model/platform.h"

/* A row's variables that say one thing: the first one that has a value counts. */
#define PLATFORM_NAMES 4

enum platform_kind {
    PLATFORM_NODES, /* counts containers, and says how many there are */
    PLATFORM_INDEX, /* numbers containers, but does not know how many there are */
    PLATFORM_TASKS  /* starts processes: several on a node, each one rank, or one on each node */
};

/* One number or name of a place, and the variable that said so; text NULL: unknown. */
struct platform_word {
    const char *text;
    const char *from;
};

/* What a platform says of this process. */
struct platform_place {
    const struct platform_row *row;
    struct platform_word size; /* containers, or processes where `task` */
    struct platform_word rank;
    struct platform_word master;
    bool task;                /* one rank per process */
    bool master_guessed;      /* follows from something else: any stated address is better */
    struct platform_task one; /* where `task` */
};

struct platform_row {
    const char *name;
    enum platform_kind kind;
    bool weak;                         /* RANK with WORLD_SIZE from outside comes first */
    const char *signs[PLATFORM_NAMES]; /* only this platform sets them */
    const char *rank[PLATFORM_NAMES];
    const char *size[PLATFORM_NAMES];
    const char *local_rank[PLATFORM_NAMES];
    const char *local_size[PLATFORM_NAMES];
    const char *master[PLATFORM_NAMES];
    /* Mends what the columns above gave where they do not say it all; NULL: they do. */
    int (*mend)(const struct platform *platform, struct settings *settings,
                struct platform_place *place, struct err *err);
};

/* The table, ordered: the first row whose sign is there decides. */
extern const struct platform_row platform_rows[];
extern const int platform_row_count;

/* The row that decides here; NULL: none. */
const struct platform_row *platform_find_row(const struct platform *platform);

/* The first of some variables with a value. */
struct platform_word platform_first(const char *const *envp, const char *const names[]);

/* The first one as a number from min; -1 if there is none or it is no such number. */
long platform_first_number(const char *const *envp, const char *const names[], long min);

/* Fills *ret with all that a row says. ERR_SPEC: it contradicts itself or lacks what it needs. */
int platform_look(const struct platform *platform, const struct platform_row *row,
                  struct settings *settings, struct platform_place *ret, struct err *err);

/* Rows' menders, in platform_slurm.c, platform_cloud.c and platform_kube.c. */
int platform_mend_slurm(const struct platform *platform, struct settings *settings,
                        struct platform_place *place, struct err *err);
int platform_mend_mpi(const struct platform *platform, struct settings *settings,
                      struct platform_place *place, struct err *err);
int platform_mend_aws(const struct platform *platform, struct settings *settings,
                      struct platform_place *place, struct err *err);
int platform_mend_sagemaker(const struct platform *platform, struct settings *settings,
                            struct platform_place *place, struct err *err);
int platform_mend_volcano(const struct platform *platform, struct settings *settings,
                          struct platform_place *place, struct err *err);
int platform_mend_jobset(const struct platform *platform, struct settings *settings,
                         struct platform_place *place, struct err *err);
int platform_mend_indexed(const struct platform *platform, struct settings *settings,
                          struct platform_place *place, struct err *err);

/* The hostname's node rank where it is asked for ("from-hostname"). platform_kube.c */
int platform_settle_ordinal(const struct platform *platform, struct settings *settings,
                            struct err *err);

/* The number behind the last '-' of the first label of a host name; -1 if there is none. */
long platform_ordinal(const char *host, size_t *ret_base);

#endif
