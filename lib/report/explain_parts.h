/*
 * What the parts of explain share: nodes as they were read, and the judgement
 * over them. Layer: report, used by explain*.c only.
 */
#ifndef RANKINIT_REPORT_EXPLAIN_PARTS_H
#define RANKINIT_REPORT_EXPLAIN_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/explain.h"
#include "report/pods.h"
#include "report/saved.h"

#define EXPLAIN_NODES_MAX   4096
#define EXPLAIN_FOREIGN_MAX 8            /* inputs that are named in notes */
#define EXPLAIN_RANKS_MAX   (1 << 16)    /* ranks beyond are not listed */
#define EXPLAIN_SKEW_NS     1000000000LL /* clocks of machines agree within that, or do not */

/* A node of the job: its document, its pod, or both. */
struct node {
    bool documented;
    struct saved saved;
    struct pod pod;
    char foreign[200]; /* the head of what its container left instead */
};

struct explain {
    struct node *nodes;
    int count, capacity;
    int left_out;       /* nodes for which there was no room */
    int superseded;     /* documents of a node of which there is a newer one */
    int other_versions; /* documents of a schema that is not ours */
    int foreign_count;  /* inputs that hold nothing of use */
    const char *foreign[EXPLAIN_FOREIGN_MAX];
};

/* What a node contributes to the question who was first. In the order of their weight. */
enum claim_kind {
    CLAIM_NONE,    /* succeeded, or runs */
    CLAIM_STOPPED, /* was asked to stop */
    CLAIM_ECHO,    /* lost a peer */
    CLAIM_TIMEOUT, /* gave up waiting for others */
    CLAIM_UNBORN,  /* its container has never begun */
    CLAIM_KILLED,  /* as a whole, without last words, or by the platform */
    CLAIM_OWN      /* a rank failed by itself */
};

struct claim {
    enum claim_kind kind;
    int64_t at_ns; /* since 1970; INT64_MAX: unknown, so never the first of its kind */
};

/* The judgement over all nodes. */
struct job {
    int word;   /* enum verdict_word */
    int root;   /* index of the node that was first; -1: none */
    int second; /* of one that may have been first as well; -1: none */
    int nnodes; /* as documents say; at least those that are there */
    int missing;
    int64_t zero_ns, last_ns; /* first start, last end; SAVED_NEVER: unknown */
};

/* Brings the nodes into an order that does not depend on that of inputs; one for each rank. */
void explain_settle(struct explain *explain);

/* What a node claims. */
struct claim explain_claim(const struct node *node);

/* Judges. */
void explain_judge(const struct explain *explain, struct job *ret);

/* The rank of a node; SAVED_UNKNOWN. */
int explain_rank_of(const struct node *node);

/* Appends "node 1 (trainer-1)". */
void explain_name(const struct node *node, struct buf *out);

/* Appends the job's sentence. */
void explain_sentence(const struct explain *explain, const struct job *job, struct buf *out);

/* Appends who lags over all nodes, "ranks 8-15 were behind ... in a collective"; the root timed out. */
void explain_lag(const struct explain *explain, const struct job *job, struct buf *out);

/* Marks the ranks of a list "0-3,5" that may end with ",..." */
void explain_mark(const char *list, unsigned char mark,
                  unsigned char marks[static EXPLAIN_RANKS_MAX]);

/* Appends the table of nodes, and a bar for each. */
void explain_nodes(const struct explain *explain, const struct job *job, struct buf *out);

/* Appends what has to be said about the material itself, a note a paragraph. */
void explain_notes(const struct explain *explain, const struct job *job, struct buf *out);

#endif
