/*
 * The verdict's one sentence for people. A part of outcome_judge. Layer: model.
 */
#ifndef RANKINIT_MODEL_SENTENCE_H
#define RANKINIT_MODEL_SENTENCE_H

#include <stdint.h>

#include "base/buf.h"
#include "model/outcome.h"

/* Appends the sentence that verdict (all but its message) and outcome amount to. */
void sentence_verdict(const struct outcome *outcome, const struct plan *plan,
                      const struct verdict *verdict, struct buf *out);

/* Appends "rank 1 (local rank 1 on node 0)", or "the program" in init mode. */
void sentence_rank(const struct plan *plan, int local_rank, struct buf *out);

/* Appends "ValueError: bad batch (train.py:42)", of the message at most `limit` bytes, one line. */
void sentence_error(const struct finding *finding, size_t limit, struct buf *out);

/* Appends how a rank ended: "exit code 1", "killed by SIGKILL (...)", "not executable: ...". */
void sentence_end(const struct outcome *outcome, const struct plan *plan, int local_rank,
                  struct buf *out);

/* Appends "SIGTERM from outside", "SIGINT from pid 7 (uid 0)", "SIGTERM from rank 3". */
void sentence_stop(const struct outcome *outcome, const struct plan *plan, struct buf *out);

/*
 * Appends what is known of a process that could not be reaped, and who has to let go of it: "pid 7
 * (python) of rank 3 is left: state D in nv_wait: SIGKILL has no effect ...".
 */
void sentence_unreaped(const struct outcome_unreaped *process, const struct plan *plan,
                       struct buf *out);

/* Appends "3.2 s". */
void sentence_seconds(int64_t ns, struct buf *out);

#endif
