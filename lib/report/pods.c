#include "report/pods.h"

#include <string.h>

#include "base/scan.h"
#include "report/saved.h"

#define INDEX_MAX 1000000

/* A container's state that has an end, and what it left. */
struct container {
    const struct json *status;
    const struct json *terminated; /* NULL: none */
    const char *message;           /* NULL: none */
    bool ours;                     /* the message looks like a summary document */
    bool again;                    /* it was started again since */
};

#define READ_TEXT(object, key, array) saved_text(object, key, array, sizeof(array))

static bool is(const struct json *object, const char *key, const char *text)
{
    const char *value = json_text(json_get(object, key));

    return value && strcmp(value, text) == 0;
}

bool pods_is_pod(const struct json *object)
{
    return is(object, "kind", "Pod") ||
           (!json_get(object, "kind") && json_get(json_get(object, "status"), "phase"));
}

/* Which pod of its job it is: by whoever numbers pods. */
static int read_index(const struct json *metadata)
{
    static const char *const keys[] = {
        "batch.kubernetes.io/job-completion-index",
        "training.kubeflow.org/replica-index",
        "leaderworkerset.sigs.k8s.io/worker-index",
        "volcano.sh/task-index",
        "apps.kubernetes.io/pod-index",
    };
    const struct json *places[] = {json_get(metadata, "annotations"), json_get(metadata, "labels")};
    long index;

    /* The operator counts masters and workers apart: rank 0 is the master. */
    if (is(places[1], "training.kubeflow.org/replica-type", "master"))
        return 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) * 2; i++) {
        const char *text = json_text(json_get(places[i % 2], keys[i / 2]));

        if (text && scan_int(text, 0, INDEX_MAX, &index))
            return (int)index + is(places[1], "training.kubeflow.org/replica-type", "worker");
    }
    return SAVED_UNKNOWN;
}

static struct container look(const struct json *status)
{
    const struct json *now = json_get(json_get(status, "state"), "terminated");
    const struct json *before = json_get(json_get(status, "lastState"), "terminated");
    struct container ret = {.status = status, .terminated = now ? now : before, .again = !now};

    ret.message = json_text(json_get(ret.terminated, "message"));
    ret.ours = ret.message && strstr(ret.message, SAVED_SCHEMA);
    return ret;
}

static struct container choose(const struct json *object)
{
    const struct json *list = json_get(json_get(object, "status"), "containerStatuses");
    const char *name = json_text(json_get(json_get(json_get(object, "metadata"), "annotations"),
                                          "kubectl.kubernetes.io/default-container"));
    struct container best = look(json_at(list, 0));

    for (size_t i = 0; i < json_count(list); i++) {
        struct container it = look(json_at(list, i));

        if ((it.ours && !best.ours) || (name && !best.ours && is(it.status, "name", name)))
            best = it;
    }
    return best;
}

/* A condition of that type that is so. */
static const struct json *condition(const struct json *status, const char *type, const char *value)
{
    const struct json *list = json_get(status, "conditions");

    for (size_t i = 0; i < json_count(list); i++) {
        const struct json *it = json_at(list, i);

        if (is(it, "type", type) && is(it, "status", value))
            return it;
    }
    return NULL;
}

/* Evicted, preempted, drained, its machine shut down. */
static void read_taken(const struct json *status, struct pod *ret)
{
    const struct json *disruption = condition(status, "DisruptionTarget", "True");

    ret->taken_ns = saved_time(disruption, "lastTransitionTime");
    READ_TEXT(disruption, "reason", ret->taken);
    READ_TEXT(disruption, "message", ret->taken_words);
    if (!disruption && is(status, "phase", "Failed")) {
        READ_TEXT(status, "reason", ret->taken);
        READ_TEXT(status, "message", ret->taken_words);
    }
}

/* Why it has not begun: no machine, no image, an init container. */
static void read_waiting(const struct json *status, const struct container *container,
                         struct pod *ret)
{
    const struct json *unplaced = condition(status, "PodScheduled", "False");
    const struct json *waiting = json_get(json_get(container->status, "state"), "waiting");
    const struct json *why = unplaced ? unplaced : waiting;

    if (container->terminated || !is(status, "phase", "Pending"))
        return;
    READ_TEXT(why, "reason", ret->waiting);
    READ_TEXT(why, "message", ret->waiting_words);
    if (!ret->waiting[0])
        memcpy(ret->waiting, "Pending", sizeof("Pending"));
}

void pods_read(const struct json *object, struct pod *ret, const char **ret_message)
{
    const struct json *metadata = json_get(object, "metadata"),
                      *status = json_get(object, "status");
    struct container container = choose(object);

    memset(ret, 0, sizeof(*ret));
    ret->there = true;
    READ_TEXT(metadata, "name", ret->name);
    READ_TEXT(json_get(object, "spec"), "nodeName", ret->machine);
    ret->index = read_index(metadata);
    ret->ended = container.terminated && !container.again;
    ret->exit_code = (int)saved_number(container.terminated, "exitCode", 255);
    READ_TEXT(container.terminated, "reason", ret->end);
    ret->ended_ns = saved_time(container.terminated, "finishedAt");
    ret->restarts = (int)saved_number(container.status, "restartCount", INDEX_MAX);
    read_taken(status, ret);
    read_waiting(status, &container, ret);
    *ret_message = container.message;
}
