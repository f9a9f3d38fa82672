/*
 * Who are we? Platforms tell a container its place in a job by environment
 * variables (Kubeflow, Kubernetes, Slurm, ...): here they become settings.
 * Layer: model.
 *
 *     struct platform platform = {.envp = envp, .hostname = host};
 *     platform_read(&platform, settings, notices, err);        PET_*, MASTER_*
 *     platform_find_place(&platform, nproc, settings, err);    how many nodes, which one
 *     platform_check(&platform, settings, nproc, err);         do they all agree?
 */
#ifndef RANKINIT_MODEL_PLATFORM_H
#define RANKINIT_MODEL_PLATFORM_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "model/settings.h"

/*
 * One rank per process: somebody else (mpirun, srun) started this process as one rank of many, each
 * under a rankinit of its own. For us each of them is a node with one rank; what is common to those
 * on one machine is here. -1: unknown.
 */
struct platform_task {
    bool one;       /* it is so */
    int local_rank; /* among those on this machine */
    int local_size;
    int node; /* which machine, and of how many */
    int nodes;
};

/* Who asks, and what was found out. */
struct platform {
    const char *const *envp;     /* as inherited */
    const char *hostname;        /* for the replica number in it */
    const char *resource_config; /* SageMaker's document; NULL or empty: there is none */
    bool torchrun;               /* called so: bare RANK, WORLD_SIZE, MASTER_* are not read */
    const char *name;            /* whose variables decided; NULL: nobody's. A constant text */
    struct platform_task task;
};

/*
 * True if the platform's environment states a job shape: PET_NPROC_PER_NODE, PET_NNODES,
 * WORLD_SIZE with RANK, ... (DESIGN 1). Never inside a rank (RANKINIT_THIS_RANK present).
 */
bool platform_states_shape(const char *const *envp);

/* True inside a rank of ours, where the environment speaks of a job that is already placed. */
bool platform_nested(const char *const *envp);

/* True if PET_* variables state a shape: RANK and WORLD_SIZE beside them speak of nodes. */
bool platform_pet_decides(const char *const *envp);

/* Value of a variable; NULL if it is absent, empty, or a Kubernetes service link (tcp://...). */
const char *platform_value(const char *const *envp, const char *name);

/*
 * Once fan-out is decided: offers PET_* and MASTER_* to settings as SOURCE_PLATFORM. What is empty,
 * a service link, unknown or without effect is put on `notices`, one text each.
 * ERR_SPEC: bad values, an identity that contradicts the spec's.
 */
int platform_read(struct platform *platform, struct settings *settings, struct strvec *notices,
                  struct err *err);

/*
 * Once nproc is known: number of nodes, node rank and master, where nothing stronger stated them,
 * from the first of the platforms that is here, RANK and WORLD_SIZE, or the replica number of the
 * hostname; offers them. Where this process is one rank of many (platform->task.one), nproc is 1
 * afterwards, whatever it was.
 * ERR_SPEC: several nodes and no node rank (never a silent 0), RANK and WORLD_SIZE of unknown
 * meaning, or a platform whose variables contradict each other or what was asked.
 */
int platform_find_place(struct platform *platform, int nproc, struct settings *settings,
                        struct err *err);

/*
 * Cross-checks a shape that the platform gave against RANK and WORLD_SIZE from outside. ERR_SPEC
 * naming both sources when they cannot all hold, ERR_DEVICES when `auto` found less than they count.
 */
int platform_check(const struct platform *platform, const struct settings *settings, int nproc,
                   struct err *err);

/* How much there is to tell: nothing, what is as it should be, what should be looked at. */
enum platform_news { PLATFORM_SILENT, PLATFORM_ROUTINE, PLATFORM_CONTRADICTED };

/*
 * Tells in one line which platform gave what, by which variables, and what else is there but was not
 * used; appended to `out`. CONTRADICTED: something of the latter is not what was taken.
 */
enum platform_news platform_tell(const struct platform *platform, const struct settings *settings,
                                 struct buf *out);

/* The first variable that numbers this container without saying of how many; NULL if none is here. */
const char *platform_index(const struct platform *platform, const char **ret_text);

#endif
