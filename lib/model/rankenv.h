/*
 * The argument list and environment of one rank, from the plan and the few
 * things known only just before the start. Layer: model.
 */
#ifndef RANKINIT_MODEL_RANKENV_H
#define RANKINIT_MODEL_RANKENV_H

#include "base/strvec.h"
#include "model/plan.h"

/* What the plan cannot know: made while preparing, anew for every attempt. */
struct rankenv_late {
    int master_port;        /* the held one, or the plan's */
    int attempt;            /* 0 for the first */
    const char *error_file; /* of this rank; NULL: none */
    const char *ready_file; /* RANKINIT_THIS_READY_FILE; NULL: none */
};

/*
 * Scrubs an inherited environment for fan-out: the names that rankinit sets, TORCHELASTIC_*, PET_*,
 * RANKINIT_* and the rank variables of MPI and PMI go; their tuning (OMPI_MCA_*) and SLURM_* stay.
 */
void rankenv_scrub(struct strvec *env);

/*
 * Builds the environment of a local rank into *ret (empty before; owned by the caller). Where this
 * process is one rank of many that somebody else started (plan->job.task), what is there stays as
 * it is, and only what is missing is added.
 */
void rankenv_build(const struct plan *plan, int local_rank, const struct rankenv_late *late,
                   struct strvec *ret);

/* Builds the argument list of a local rank into *ret. */
void rankenv_argv(const struct plan *plan, int local_rank, struct strvec *ret);

#endif
