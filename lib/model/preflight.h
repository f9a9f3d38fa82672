/*
 * What would make ranks fail later, said before they start, with the remedy.
 * Layer: model.
 */
#ifndef RANKINIT_MODEL_PREFLIGHT_H
#define RANKINIT_MODEL_PREFLIGHT_H

#include "base/err.h"
#include "model/facts.h"
#include "model/plan.h"

/*
 * Puts notices on the plan: little pinned memory with InfiniBand, devices that the
 * ranks' user may not open, few processes left. ERR_SPEC: not
 * even one process for each rank is left.
 */
int preflight(const struct facts *facts, struct plan *plan, struct err *err);

#endif
