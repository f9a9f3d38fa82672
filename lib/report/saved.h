/*
 * A summary document that was saved, read back: what --explain needs of it, in
 * fixed memory. Nothing in it is trusted: texts may say anything, numbers are
 * checked, what is not as the schema says is as if it were absent.
 * Layer: report (pure).
 */
#ifndef RANKINIT_REPORT_SAVED_H
#define RANKINIT_REPORT_SAVED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "model/outcome.h"
#include "report/hints.h"

#define SAVED_SCHEMA    "rankinit.summary.v1"
#define SAVED_ROWS_MAX  8
#define SAVED_HINTS_MAX 4
#define SAVED_RANKS_MAX 256
#define SAVED_NEVER     INT64_MIN /* a time that is not there */
#define SAVED_UNKNOWN   (-1)      /* a number that is not there */

struct saved_error {
    char type[64], message[384], file[160];
    int line; /* 0: unknown */
};

/* A row of `failures`. */
struct saved_row {
    char ranks[SAVED_RANKS_MAX];
    int count;
    int exit_code;
    char signal[16]; /* "": none */
    int64_t at_ns;   /* since 1970 */
    enum rank_class class;
    struct saved_error error;
};

struct saved_root {
    bool there;
    int64_t at_ns; /* since 1970 */
    struct saved_error error;
    char words[2048]; /* its traceback, or its last lines on stderr */
    bool traceback;   /* the former */
};

/* `collective`, and who lagged: lists of ranks, "" for none. */
struct saved_lag {
    bool there;
    int64_t seq, enqueued;
    char op[32], group[48];
    char waited[SAVED_RANKS_MAX], behind[SAVED_RANKS_MAX];
    char elsewhere[SAVED_RANKS_MAX], silent[SAVED_RANKS_MAX];
};

struct saved {
    int word;   /* enum verdict_word; SAVED_UNKNOWN */
    bool whole; /* not cut */
    int exit_code;
    char reason[24], message[600];
    char job[64], host[64], version[32];
    int nnodes, node_rank, nproc;
    int64_t started_ns, ended_ns; /* since 1970 */
    struct saved_root root;
    int row_count;
    struct saved_row rows[SAVED_ROWS_MAX];
    struct saved_lag lag;
    char stop_signal[16]; /* "": no request to stop */
    int64_t stop_ns;      /* since 1970 */
    bool escalated;
    int hint_count;
    char hints[SAVED_HINTS_MAX][HINT_MAX];
};

/* True if this is such a document, of any version of the schema. */
bool saved_is_ours(const struct json *document);

/* Reads one; false if its version is unknown. `whole`: it was not cut. */
bool saved_read(const struct json *document, bool whole, struct saved *ret);

/* Copies a text member, "" if there is none: at most `size` bytes, cut at a whole character. */
void saved_text(const struct json *object, const char *key, char *room, size_t size);

/* A whole number from 0 to max; SAVED_UNKNOWN if there is none. */
int64_t saved_number(const struct json *object, const char *key, int64_t max);

/* A time since 1970; SAVED_NEVER if there is none. */
int64_t saved_time(const struct json *object, const char *key);

#endif
