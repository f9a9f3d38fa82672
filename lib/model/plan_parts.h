/*
 * The parts of resolving a plan, one file each; plan_resolve calls them in this
 * order. Layer: model, used by plan*.c only.
 */
#ifndef RANKINIT_MODEL_PLAN_PARTS_H
#define RANKINIT_MODEL_PLAN_PARTS_H

#include <stdbool.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "base/strvec.h"

struct plan;
struct plan_inputs;
struct spec;

/* PROGRAM's words: what argv left over, else the spec's command; empty if there is neither. */
const char *const *plan_program_words(const struct plan_inputs *inputs);

/* plan->env: inherited (scrubbed in fan-out) with the spec's env. plan_program.c */
void plan_resolve_env(const struct plan_inputs *inputs, struct plan *plan);

/* Says which names of the spec's env are every rank's own and so have no effect. plan_program.c */
void plan_note_env(const struct spec *spec, struct plan *plan);

/* plan->job, devices and threads of a fan-out. plan_shape.c */
int plan_resolve_shape(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

/*
 * plan->places: what is known of each rank's devices, and which CPUs it is bound to; says both in
 * notices; lowers omp_threads to what the CPUs of a rank can run. plan_places.c
 */
int plan_resolve_places(const struct plan_inputs *inputs, struct plan *plan, struct err *err);
void plan_release_places(struct plan *plan);

/* plan->job's master_addr and master_port, and plan->wait, once nodes and node rank are known. plan_master.c */
int plan_resolve_master(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

/* --rdzv-conf and --local-addr, which change nothing: ERR_USAGE, ERR_SPEC for slips. plan_rdzv.c */
int plan_check_rdzv(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

/* plan->argv and what belongs to it. ERR_NOT_FOUND: no Python; ERR_USAGE. plan_program.c */
int plan_resolve_program(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

/*
 * What the spec's ranks: say. First, once the ranks are known and before devices_settle, their
 * devices: devices.own and the mode. Then their CPUs, which are taken out of *left: plan->places.
 * Then, once plan->argv is there, programs and environment: plan->ranks. ERR_SPEC: no such rank, one
 * thing said twice, a CPU that is not ours; ERR_DEVICES: none are here. plan_ranks.c
 */
int plan_resolve_rank_devices(const struct plan_inputs *inputs, struct plan *plan, struct err *err);
int plan_resolve_rank_cpus(const struct plan_inputs *inputs, struct plan *plan, struct cpuset *left,
                           struct err *err);
int plan_resolve_ranks(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

/* One command line made into argv as PROGRAM is (python for a *.py). plan_program.c */
struct plan_command {
    const char *const *words; /* not empty */
    const char *const *envp;  /* may have PYTHON_EXEC */
    struct strvec *argv;      /* of the result, empty before */
    int *script_index;
};
int plan_resolve_command(const struct plan_inputs *inputs, const struct plan *plan,
                         const struct plan_command *command, struct err *err);

/* plan->stop and tini's options. plan_stop.c */
void plan_resolve_stop(const struct plan_inputs *inputs, struct plan *plan);

/* plan->report alone: also what is refused is told somewhere. plan_output.c */
void plan_resolve_report(const struct plan_inputs *inputs, struct plan *plan);

/*
 * plan->security: before the environment, which gets the user's names. ERR_SPEC: a user that we
 * cannot become, capabilities that ranks would get back, lists without a filter. plan_security.c
 */
int plan_resolve_security(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

/*
 * --redirects, --tee and the filters: sinks, duplicates, and that the folder of the run is kept.
 * Needs plan->error_dir. ERR_SPEC: output is to be redirected but there is no directory.
 * plan_files.c
 */
int plan_resolve_files(const struct plan_inputs *inputs, struct plan *plan, struct err *err);
void plan_release_files(struct plan *plan);

/* True if any rank's stream (0: stdout) does not simply go to the console. plan_files.c */
bool plan_sinks_matter(const struct plan *plan, int stream);

/*
 * plan->limits and plan->restart. ERR_SPEC: silence that nobody would hear; restarts where not all
 * ranks of the job are here. plan_limits.c
 */
int plan_resolve_limits(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

/* plan->output, plan->report and error_dir. plan_output.c */
int plan_resolve_output(const struct plan_inputs *inputs, struct plan *plan, struct err *err);

#endif
