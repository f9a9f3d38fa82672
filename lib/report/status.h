/*
 * What a running rankinit publishes about itself: one page of fixed size in a
 * sealed memfd (sys/status.h), read by --status and --probe (sys/ask.h), and
 * what follows from it. Layer: report (pure).
 *
 * Times are nanoseconds since the start of the rankinit that publishes, as in
 * outcome.h; start_ns is that start on CLOCK_MONOTONIC. A page that was read is
 * untrusted until status_check has taken it.
 */
#ifndef RANKINIT_REPORT_STATUS_H
#define RANKINIT_REPORT_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "model/fsm.h"
#include "model/outcome.h"

#define STATUS_MAGIC    0x31746173u /* changes with the layout */
#define STATUS_NEVER    (-1)        /* a time that has not come */
#define STATUS_STUCK_NS 10000000000LL

struct status_rank {
    int32_t rank, local_rank;
    int32_t pid;
    int32_t state; /* enum rank_state */
    int32_t wait_status;
    int32_t captured; /* its output passes through us: silence means something */
    int32_t ready;    /* it has made its ready file */
    int64_t started_ns, ended_ns;
    int64_t output_ns; /* of its last output; STATUS_NEVER */
    char device[48];
};

struct status_page {
    uint32_t magic;
    uint32_t sequence; /* odd while the page is being written */
    uint32_t size;     /* of the whole page */
    int32_t count;     /* ranks */
    int32_t pid;       /* who publishes */
    int32_t state;     /* enum fsm_state */
    int32_t fanout;
    int32_t nnodes, node_rank, world_size;
    int32_t restarts;    /* of all ranks of this node */
    int32_t stop_signal; /* of a request to stop; 0: none */
    int64_t start_ns;
    int64_t deadline_ns; /* what it waits for next; FSM_NEVER */
    uint64_t orphans_reaped;
    char job_id[64];
    char host[64];
    char version[16];
    struct status_rank ranks[];
};

/* What the reader has seen of a rank's process itself. */
struct status_usage {
    bool known;
    int cpu_percent; /* of one CPU, over its whole life, as ps(1) has it */
    int64_t rss_bytes;
};

/* All that an answer is made from. */
struct status_view {
    const struct status_page *page;
    const struct status_usage *usage; /* [page->count] */
    int64_t now_ns;                   /* since page->start_ns */
    char process_state;               /* of the one who publishes: 'S', 'T', ... of proc(5) */
};

enum status_probe {
    STATUS_STARTED,
    STATUS_READY,
    STATUS_LIVE
}; /* in the order of --probe's words */

/* Bytes of a page for that many ranks. */
size_t status_size(int count);

/* True for a page of `size` bytes that is complete and of our layout; its texts are ended then. */
bool status_check(struct status_page *page, size_t size);

/*
 * The answer to a probe; *why gets one line of words.
 *   started  all ranks of this node have been started (also when they have ended since)
 *   ready    no stop has begun and all ranks run; on a single node each of them has also said
 *            something, if its output passes through us, or made its ready file (over several nodes
 *            a master that is unready would lose its DNS name before the others could find it)
 *   live     rankinit runs and keeps its own deadlines, also while it drains
 */
bool status_probe(const struct status_view *view, enum status_probe probe, struct buf *why);

/* The table for people. */
void status_text(const struct status_view *view, struct buf *out);

/* The document (status.schema.json); NULL if the arena is full. Begins the current arena anew. */
struct json *status_json(const struct status_view *view, struct json_arena *arena);

/* Bytes of an arena that holds the document, and of its text, for that many ranks. */
size_t status_arena_size(int count);
size_t status_text_size(int count);

#endif
