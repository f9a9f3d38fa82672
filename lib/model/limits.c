#include "model/limits.h"

void limits_init(struct limits *limits, const struct limits_config *config)
{
    *limits = (struct limits){.config = *config, .begun_ns = LIMITS_NEVER};
}

void limits_begin(struct limits *limits, int64_t now_ns)
{
    limits->begun_ns = limits->heard_ns = now_ns;
    limits->ready = false;
}

void limits_heard(struct limits *limits, int64_t now_ns)
{
    if (now_ns > limits->heard_ns)
        limits->heard_ns = now_ns;
    limits->ready = true;
}

/* When a limit is over; LIMITS_NEVER for one that is not armed. */
static int64_t end_of(const struct limits *limits, enum limit limit)
{
    const struct limits_config *config = &limits->config;
    bool begun = limits->begun_ns != LIMITS_NEVER;

    switch (limit) {
    case LIMIT_TIMEOUT: return config->timeout_ns > 0 ? config->timeout_ns : LIMITS_NEVER;
    case LIMIT_IDLE:
        return begun && config->idle_ns > 0 ? limits->heard_ns + config->idle_ns : LIMITS_NEVER;
    case LIMIT_START:
        return begun && config->start_ns > 0 && !limits->ready ? limits->begun_ns + config->start_ns
                                                               : LIMITS_NEVER;
    case LIMIT_NONE: break;
    }
    return LIMITS_NEVER;
}

int64_t limits_deadline(const struct limits *limits)
{
    int64_t earliest = LIMITS_NEVER;

    for (int limit = LIMIT_TIMEOUT; limit <= LIMIT_START; limit++) {
        int64_t end = end_of(limits, (enum limit)limit);

        earliest = end < earliest ? end : earliest;
    }
    return earliest;
}

enum limit limits_due(const struct limits *limits, int64_t now_ns)
{
    for (int limit = LIMIT_START; limit > LIMIT_NONE; limit--) {
        if (end_of(limits, (enum limit)limit) <= now_ns)
            return (enum limit)limit;
    }
    return LIMIT_NONE;
}

bool limits_is_hang(enum limit limit)
{
    return limit == LIMIT_IDLE || limit == LIMIT_START;
}
