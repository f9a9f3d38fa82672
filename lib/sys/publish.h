/*
 * From what is known to the documents, at every change of state: judge, render,
 * deliver. All memory is reserved at the start. Layer: sys.
 */
#ifndef RANKINIT_SYS_PUBLISH_H
#define RANKINIT_SYS_PUBLISH_H

#include "base/err.h"
#include "base/json.h"
#include "model/outcome.h"
#include "model/plan.h"
#include "sys/deliver.h"
#include "sys/relay.h"

struct publish {
    const struct plan *plan;
    struct outcome *outcome;
    struct deliver deliver;
    struct json_arena arena;
    void *arena_memory;
    char *document; /* [SUMMARY_FULL_MAX] */
};

/* Opens the places of delivery and reserves memory. ERR_SYSTEM, ERR_SPEC (see deliver_open). */
int publish_init(struct publish *publish, const struct plan *plan, struct outcome *outcome,
                 struct err *err);

/* Writes the termination log anew from what is known now. */
void publish_now(struct publish *publish);

/*
 * The end: termination log and summary file, then, after all that ranks have said, the page for
 * people and the last line; wait is for all of them. Writes the final judgement to *ret.
 */
void publish_final(struct publish *publish, struct relay *relay, struct relay_wait wait,
                   struct verdict *ret);

/*
 * Nothing was started: tells a failure of rankinit's own in every place that `plan` names, and on
 * stderr as one line for people and, if the plan wants it, the document. Returns the exit code.
 */
int publish_refusal(const struct plan *plan, const struct err *why);

/* Frees and closes everything. */
void publish_release(struct publish *publish);

#endif
