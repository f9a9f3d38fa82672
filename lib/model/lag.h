/*
 * Who kept the others waiting in a collective. The rank that gives up first is
 * a victim: to blame are those that never came to the operation, or came to
 * another one. Told from what each rank of this node has said, by the numbers
 * of operations, never by the order of deaths. Layer: model.
 */
#ifndef RANKINIT_MODEL_LAG_H
#define RANKINIT_MODEL_LAG_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/outcome.h"

/* True if the verdict's root gave up waiting in a collective (NCCL, gloo). */
bool lag_is_timeout(const struct verdict *verdict);

/*
 * Appends the verdict's sentence: who lags, who gave up first, in what, and how far it had come: "rank 5 was silent in a
 * collective; rank 0 (...) gave up first after waiting 600.0 s in ALLREDUCE, SeqNum 118 ...".
 */
void lag_sentence(const struct outcome *outcome, const struct plan *plan,
                  const struct verdict *verdict, struct buf *out);

#endif
