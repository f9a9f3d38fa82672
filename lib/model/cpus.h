/*
 * How many CPUs are really ours, and how many threads a rank should use.
 * Layer: model.
 */
#ifndef RANKINIT_MODEL_CPUS_H
#define RANKINIT_MODEL_CPUS_H

#include "model/facts.h"

/* min(allowed CPUs, floor(cgroup quota)), at least 1. */
int cpus_budget(const struct facts *facts);

/* OMP_NUM_THREADS for `--threads budget`: floor(budget / nproc) between 1 and 8. */
int cpus_threads(int budget, int nproc);

#endif
