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

/* True if NAME or NAME=value is one that each rank gets from us, whatever else is said. */
bool rankenv_is_ours(const char *entry);

/* Takes names away from an environment and then sets "NAME=value" texts: what a spec's env: says. */
void rankenv_apply(struct strvec *env, const struct strvec *unset, const struct strvec *set);

/*
 * Builds the environment of a local rank into *ret (empty before; owned by the caller). Where this
 * process is one rank of many that somebody else started (plan->job.task), what is there stays as
 * it is, and only what is missing is added.
 */
void rankenv_build(const struct plan *plan, int local_rank, const struct rankenv_late *late,
                   struct strvec *ret);

/* The program of a local rank as planned, its own or that of all. */
const struct strvec *rankenv_program(const struct plan *plan, int local_rank);

/*
 * Builds the argument list of a local rank into *ret: in fan-out with ${local_rank} in any word but
 * the first filled in, and with --local-rank=N and what --hydra adds if that is planned.
 */
void rankenv_argv(const struct plan *plan, int local_rank, struct strvec *ret);

#endif
