/*
 * What Kubernetes itself says of a pod that ran rankinit, from the objects that
 * `kubectl get pods -o json` prints. Nothing in it is trusted.
 * Layer: report (pure).
 */
#ifndef RANKINIT_REPORT_PODS_H
#define RANKINIT_REPORT_PODS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

struct pod {
    bool there;
    char name[64], machine[64]; /* the pod's; the cluster node's */
    int index;                  /* of its job, which is the node's rank; SAVED_UNKNOWN */
    bool ended;                 /* its container did, and does not run again */
    int exit_code;              /* then; SAVED_UNKNOWN */
    char end[32];               /* "OOMKilled", "Error", ...; "" unknown */
    int64_t ended_ns;           /* whole seconds; SAVED_NEVER */
    int restarts;
    char taken[40], taken_words[200]; /* "Evicted", "PreemptionByScheduler": the platform took it */
    int64_t taken_ns;
    char waiting[40], waiting_words[200]; /* "ImagePullBackOff", ...: it has not begun */
};

/* True if this is a pod. */
bool pods_is_pod(const struct json *object);

/*
 * Reads one. Of several containers the one that left a summary document counts, else the default
 * one, else the first; *ret_message is what it left (of the arena; NULL: nothing).
 */
void pods_read(const struct json *object, struct pod *ret, const char **ret_message);

#endif
