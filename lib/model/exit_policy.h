/*
 * What becomes of the exit code: which codes are as good as 0 (-e), what a stop
 * and an OOM kill return, and the table that readers of the code need
 * (--exit-map, --exit-preset), which comes last of all. Layer: model.
 */
#ifndef RANKINIT_MODEL_EXIT_POLICY_H
#define RANKINIT_MODEL_EXIT_POLICY_H

#include <stdbool.h>

#include "model/settings.h"

#define EXIT_CODES 256

/* All zero: every code stays as it is. */
struct exit_policy {
    bool zero[EXIT_CODES]; /* as good as 0 (-e) */
    short map[EXIT_CODES]; /* what is returned instead, plus 1; 0: the code stays */
    bool kubeflow;         /* those of our own codes that are worth another try are 128 more */
    bool stop_rank;        /* a stop returns the ranks' code instead of 128+N */
    bool oom_fails;        /* an OOM kill that no rank has told of is a failure */
};

/* Reads the options. */
/* Marks the codes of a checked list, "3,75" (NULL: none). */
void exit_policy_codes(const char *text, bool ret[EXIT_CODES]);

void exit_policy_resolve(const struct settings *settings, struct exit_policy *ret);

/* What is returned instead of a code of a rank, or of ours. The map beats the preset. */
int exit_policy_map(const struct exit_policy *policy, bool from_rank, int code);

#endif
