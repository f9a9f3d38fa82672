/*
 * How many CPUs are really ours, how many threads a rank should use, and which
 * CPUs it gets. Layer: model.
 */
#ifndef RANKINIT_MODEL_CPUS_H
#define RANKINIT_MODEL_CPUS_H

#include "base/err.h"
#include "base/strvec.h"
#include "model/facts.h"
#include "model/settings.h"
#include "model/spec.h"

enum cpu_bind {
    BIND_NONE, /* order as in the words of --cpu-bind */
    BIND_NUMA,
    BIND_CORES,
    BIND_SOCKET, /* these by --numa-binding only */
    BIND_EXCLUSIVE,
    BIND_COMPLEX
};

struct plan_place;

/* min(allowed CPUs, floor(cgroup quota)), at least 1. */
int cpus_budget(const struct facts *facts);

/* OMP_NUM_THREADS for `--threads budget`: floor(budget / nproc) between 1 and 8. */
int cpus_threads(int budget, int nproc);

/* True if ranks may have to be bound, so that facts need the topology. */
bool cpus_bind_wanted(const struct settings *settings, const struct spec *spec);

/* --cpu-bind, or torchrun's --numa-binding. ERR_SPEC: both, by sources of the same strength. */
int cpus_bind_find(const struct settings *settings, enum cpu_bind *ret, struct err *err);

/* What cpus_bind reads, and where it tells what it could not do. */
struct cpus_request {
    enum cpu_bind how;
    const struct facts *facts; /* with topology; without one every CPU is its own core */
    struct cpuset cpus;        /* to be dealt out: the allowed ones that no rank was given */
    bool devices; /* ranks have devices: without a known NUMA node nothing is guessed */
    int nproc;
    struct strvec *notices;
};

/*
 * Fills bound, cpus and memory_node of each of places[nproc], whose numa_node is that of the rank's
 * device on entry; ranks without devices are dealt out over the nodes. Of a place with CPUs of its
 * own only memory_node. SMT siblings stay together; what does not divide goes to the first ranks,
 * one core each.
 */
void cpus_bind(const struct cpus_request *request, struct plan_place *places);

#endif
