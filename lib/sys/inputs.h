/*
 * Everything that a plan is made from, read once: the command line, RANKINIT_*,
 * the facts of the machine, the rank spec. Layer: sys.
 *
 *     CLEANUP(inputs_release) struct inputs inputs;
 *     verb = inputs_read(&inputs, argv, envp, &err);
 *     if (verb == OPTIONS_RUN)
 *         plan_resolve(&inputs.plan, &plan, &err);
 */
#ifndef RANKINIT_SYS_INPUTS_H
#define RANKINIT_SYS_INPUTS_H

#include "base/err.h"
#include "base/strvec.h"
#include "model/accelerate.h"
#include "model/facts.h"
#include "model/plan.h"
#include "model/settings.h"
#include "model/spec.h"

struct inputs {
    struct plan_inputs plan; /* points to the following */
    struct settings settings;
    struct spec spec;
    struct accelerate accelerate;
    struct facts facts;
    struct facts_cpu topology[CPUSET_MAX]; /* the facts' own, where binding is wanted */
    struct strvec notices;                 /* about RANKINIT_* names that mean nothing */
};

/*
 * Reads them. An enum options_verb; anything but OPTIONS_RUN stops after the command line. -1 with
 * *err: a bad option, twin or spec; facts are there all the same. Releasable in any case.
 */
int inputs_read(struct inputs *ret, const char *const *argv, const char *const *envp,
                struct err *err);

/* Frees what they own; a plan that was made from them lives on. */
void inputs_release(struct inputs *inputs);

#endif
