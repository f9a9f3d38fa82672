/*
 * Time limits: of the whole run, of silence, and of a start. When one is over
 * is decided here from a few times; what then happens is fsm's. Layer: model.
 * Times are nanoseconds since our start.
 */
#ifndef RANKINIT_MODEL_LIMITS_H
#define RANKINIT_MODEL_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define LIMITS_NEVER INT64_MAX

/* Which limit was reached. */
enum limit {
    LIMIT_NONE,
    LIMIT_TIMEOUT, /* the run has had its time: a normal stop, its checkpoint is saved */
    LIMIT_IDLE,    /* no rank has written anything for too long: a hang */
    LIMIT_START    /* no rank has written anything or told that it is ready: a hang, too */
};

/* As planned; 0: no such limit. */
struct limits_config {
    int64_t timeout_ns; /* since our own start: waiting and restarts included */
    int64_t idle_ns;    /* since the last output of any rank */
    int64_t start_ns;   /* since the ranks were started */
};

struct limits {
    struct limits_config config;
    int64_t begun_ns; /* the ranks were started; LIMITS_NEVER: they are not */
    int64_t heard_ns; /* the last output of any rank, or begun_ns */
    bool ready;       /* a rank has written something or is ready */
};

/* No ranks yet: only the time of the whole run passes. */
void limits_init(struct limits *limits, const struct limits_config *config);

/* The ranks of an attempt have been started. */
void limits_begin(struct limits *limits, int64_t now_ns);

/* A rank has written something at now_ns. */
void limits_heard(struct limits *limits, int64_t now_ns);

/* The earliest moment at which a limit can be over; LIMITS_NEVER if none can. */
int64_t limits_deadline(const struct limits *limits);

/* Which limit is over at now_ns; of several a hang, for its ranks tell where they stand. */
enum limit limits_due(const struct limits *limits, int64_t now_ns);

/* True for a limit that means a hang. */
bool limits_is_hang(enum limit limit);

#endif
