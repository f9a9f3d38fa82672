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

#include "base/err.h"
#include "base/strvec.h"
#include "model/settings.h"

/* Who asks, and what was found out. */
struct platform {
    const char *const *envp; /* as inherited */
    const char *hostname;    /* for the replica number in it */
    bool torchrun;           /* called so: bare RANK, WORLD_SIZE and MASTER_* are not read */
    const char *name;        /* whose variables decided; NULL: nobody's. A constant text */
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
 * Once nproc is known: number of nodes and node rank, where nothing stronger stated them, from RANK
 * and WORLD_SIZE, the platform's index or the replica number of the hostname; offers them.
 * ERR_SPEC: several nodes and no node rank (never a silent 0), RANK and WORLD_SIZE of unknown
 * meaning, or a platform not built yet whose variables would have decided.
 */
int platform_find_place(struct platform *platform, int nproc, struct settings *settings,
                        struct err *err);

/*
 * Cross-checks a shape that the platform gave against RANK and WORLD_SIZE from outside. ERR_SPEC
 * naming both sources when they cannot all hold, ERR_DEVICES when `auto` found less than they count.
 */
int platform_check(const struct platform *platform, const struct settings *settings, int nproc,
                   struct err *err);

#endif
