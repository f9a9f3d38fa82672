/*
 * The parts of resolving a plan, one file each; plan_resolve calls them in this
 * order. Layer: model, used by plan*.c only.
 */
#ifndef RANKINIT_MODEL_PLAN_PARTS_H
#define RANKINIT_MODEL_PLAN_PARTS_H

#include "base/err.h"

struct plan;
struct plan_inputs;

/* PROGRAM's words: what argv left over, else the spec's command; empty if there is neither. */
const char *const *plan_program_words(const struct plan_inputs *inputs);

/* plan->env: inherited (scrubbed in fan-out) with the spec's env. plan_program.c */
void plan_resolve_env(const struct plan_inputs *inputs, struct plan *plan);

/* plan->job, devices and threads of a fan-out. plan_shape.c */
int plan_resolve_shape(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

/*
 * plan->places: what is known of each rank's devices, and which CPUs it is bound to; says both in
 * notices; lowers omp_threads to what the CPUs of a rank can run. plan_places.c
 */
int plan_resolve_places(const struct plan_inputs *inputs, struct plan *plan, struct err *err);
void plan_release_places(struct plan *plan);

/* plan->job's master_addr and master_port, once nodes and node rank are known. plan_master.c */
int plan_resolve_master(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

/* plan->argv and what belongs to it. ERR_NOT_FOUND: no Python; ERR_USAGE. plan_program.c */
int plan_resolve_program(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

/* plan->stop and tini's options. plan_stop.c */
void plan_resolve_stop(const struct plan_inputs *inputs, struct plan *plan);

/* plan->output, plan->report and error_dir. plan_output.c */
int plan_resolve_output(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

#endif
