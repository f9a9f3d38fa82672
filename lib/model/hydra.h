/*
 * --hydra: the ranks of a Hydra application share one run directory, which Hydra
 * would otherwise name in each rank by the clock (facebookresearch/hydra #2070).
 * Done by overrides on its command line, so that it needs no plugin. Layer: model.
 */
#ifndef RANKINIT_MODEL_HYDRA_H
#define RANKINIT_MODEL_HYDRA_H

#include "base/strvec.h"
#include "model/plan.h"

/*
 * Fills plan->hydra, once argv and job are known, if it is asked for. ERR_USAGE: PROGRAM is no
 * Python script; its arguments ask for a sweep. ERR_SPEC: there is no name that all nodes know.
 */
int hydra_resolve(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

/* Index in argv where Hydra's arguments may be added: beside the first override, else the end. */
size_t hydra_place(const struct strvec *argv, int script_index);

/* Appends what the rank of this number is to be told. */
void hydra_push(const struct plan_hydra *hydra, int rank, struct strvec *argv);

#endif
