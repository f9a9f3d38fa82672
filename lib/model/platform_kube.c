/*
 * Kubernetes: numbers at the end of host names, and what counts the pods of one part of a job only.
 */
#include <limits.h>
#include <string.h>

#include "base/scan.h"
#include "model/platform_parts.h"

#define TEXT_SHOWN 80

long platform_ordinal(const char *host, size_t *ret_base)
{
    size_t label = strcspn(host, ".:");
    size_t at = label;
    char digits[24];
    long number;

    while (at > 0 && host[at - 1] >= '0' && host[at - 1] <= '9')
        at--;
    if (at < 2 || host[at - 1] != '-' || label - at == 0 || label - at >= sizeof(digits))
        return -1;
    memcpy(digits, host + at, label - at);
    digits[label - at] = '\0';
    *ret_base = at - 1;
    return scan_int(digits, 0, INT_MAX, &number) ? number : -1;
}

int platform_settle_ordinal(const struct platform *platform, struct settings *settings,
                            struct err *err)
{
    const struct setting *rank = &settings->rows[OPT_NODE_RANK];
    const char *host = platform->hostname ? platform->hostname : "";
    size_t base;
    long number;

    if (!rank->text || strcmp(rank->text, "from-hostname") != 0)
        return 0;
    number = platform_ordinal(host, &base);
    if (number < 0)
        return err_set(err, ERR_SPEC,
                       "%s is from-hostname, but the hostname %.*s does not end in -N: state the "
                       "number",
                       rank->origin, TEXT_SHOWN, host);
    /* The same source once more, with the number: the later of equals is taken. */
    return settings_offer(settings, OPT_NODE_RANK,
                          &(struct setting){rank->source,
                                            strvec_pushf(&settings->texts, "%ld", number),
                                            strvec_pushf(&settings->texts, "%s (hostname %.*s)",
                                                         rank->origin, TEXT_SHOWN, host)},
                          err);
}

/* Volcano's svc plugin sets VC_<TASK>_NUM and VC_<TASK>_HOSTS for each task; its VC_*_NUM. */
static int count_tasks(const char *const *envp, struct strvec *ret_names)
{
    static const char head[] = "VC_", tail[] = "_NUM";

    for (; *envp; envp++) {
        size_t len = strcspn(*envp, "=");

        if (len > strlen(head) + strlen(tail) && (*envp)[len] == '=' &&
            strncmp(*envp, head, strlen(head)) == 0 &&
            strncmp(*envp + len - strlen(tail), tail, strlen(tail)) == 0)
            strvec_pushf(ret_names, "%.*s", (int)len, *envp);
    }
    return (int)ret_names->count;
}

/* The only task's number of pods, and its first pod. */
static void take_task(const struct platform *platform, const char *num, struct strvec *texts,
                      struct platform_place *place)
{
    size_t stem = strlen(num) - strlen("NUM");
    const char *hosts_name = strvec_pushf(texts, "%.*sHOSTS", (int)stem, num);
    const char *hosts = platform_value(platform->envp, hosts_name);

    place->size = (struct platform_word){platform_value(platform->envp, num),
                                         strvec_push(texts, num)};
    if (hosts)
        place->master = (struct platform_word){
            strvec_pushf(texts, "%.*s", (int)strcspn(hosts, ","), hosts), hosts_name};
}

/*
 * The pytorch plugin numbers the pods of the whole job in RANK. The other plugins number those of
 * one task, which is the job's only if there is no other task.
 */
int platform_mend_volcano(const struct platform *platform, struct settings *settings,
                          struct platform_place *place, struct err *err)
{
    const char *rank = platform_value(platform->envp, "RANK");
    const char *world = platform_value(platform->envp, "WORLD_SIZE");
    struct strvec names = STRVEC_INIT;
    int count, rc = 0;

    if (rank && world) {
        place->rank = (struct platform_word){rank, "RANK"};
        place->size = (struct platform_word){world, "WORLD_SIZE"};
        return 0;
    }
    count = count_tasks(platform->envp, &names);
    if (count == 1)
        take_task(platform, names.items[0], &settings->texts, place);
    else if (count > 1)
        rc = err_set(err, ERR_SPEC,
                     "%s=%.*s numbers the pods of one task of Volcano, and the job has %d "
                     "(%.40s, %.40s%s): use Volcano's pytorch plugin, or state --nnodes N and "
                     "--node-rank N",
                     place->rank.from, TEXT_SHOWN, place->rank.text, count, names.items[0],
                     names.items[1], count > 2 ? ", ..." : "");
    strvec_release(&names);
    return rc;
}

/*
 * A JobSet's child Jobs each count their pods from 0. All of them have as many pods as the nodes
 * divided by the Jobs.
 */
static int number_in_jobset(const char *const *envp, long nodes, struct settings *settings,
                            struct platform_place *place, struct err *err)
{
    static const char *const indexes[] = {"JOBSET_JOB_GLOBAL_INDEX", "JOBSET_JOB_INDEX", NULL};
    static const char *const counts[] = {"JOBSET_GLOBAL_REPLICAS", "JOBSET_REPLICATEDJOB_REPLICAS"};
    struct platform_word job = platform_first(envp, indexes);
    const char *count = counts[strcmp(job.from, indexes[1]) == 0];
    const char *replicas = platform_value(envp, count);
    long number_job, number_replicas, pod, pods;

    if (!replicas || !scan_int(replicas, 1, INT_MAX, &number_replicas) ||
        !scan_int(job.text, 0, number_replicas - 1, &number_job))
        return err_set(err, ERR_SPEC,
                       "%s=%.*s is a Job of a JobSet, which needs %s=N, a number above it, to "
                       "tell the node: give it by the pod template's downward API",
                       job.from, TEXT_SHOWN, job.text, count);
    if (nodes % number_replicas != 0)
        return err_set(err, ERR_SPEC, "%s says %ld nodes, which %ld Jobs (%s) cannot share evenly",
                       settings->rows[OPT_NNODES].origin, nodes, number_replicas, count);
    pods = nodes / number_replicas;
    if (!place->rank.text || !scan_int(place->rank.text, 0, pods - 1, &pod))
        return err_set(err, ERR_SPEC,
                       "JOB_COMPLETION_INDEX=%.*s is no pod from 0 to %ld of its Job: %s says %ld "
                       "nodes in %ld Jobs (%s)",
                       TEXT_SHOWN, place->rank.text ? place->rank.text : "", pods - 1,
                       settings->rows[OPT_NNODES].origin, nodes, number_replicas, count);
    place->rank = (struct platform_word){
        strvec_pushf(&settings->texts, "%ld", number_job * pods + pod),
        strvec_pushf(&settings->texts, "%s x %ld + JOB_COMPLETION_INDEX", job.from, pods)};
    return 0;
}

int platform_mend_jobset(const struct platform *platform, struct settings *settings,
                         struct platform_place *place, struct err *err)
{
    long nodes = settings_int(settings, OPT_NNODES);

    /* Without the number of nodes this is no part of anything; plan_shape says so. */
    return nodes > 0 ? number_in_jobset(platform->envp, nodes, settings, place, err) : 0;
}

/*
 * In a JobSet of several Jobs the index alone would give two pods the same number. Their names tell:
 * js-workers-1-0 beside a master js-workers-0-0.
 */
int platform_mend_indexed(const struct platform *platform, struct settings *settings,
                          struct platform_place *place, struct err *err)
{
    const char *master = settings_text(settings, OPT_MASTER_ADDR);
    const char *host = platform->hostname ? platform->hostname : "";
    struct strvec names = STRVEC_INIT;
    size_t ours, theirs, our_base = 0, their_base = 1;
    long our_job, their_job;

    (void)place;
    if (!master)
        master = settings_text(settings, OPT_RDZV_ENDPOINT);
    if (!master || platform_ordinal(host, &ours) < 0 || platform_ordinal(master, &theirs) < 0)
        return 0;
    our_job = platform_ordinal(strvec_pushf(&names, "%.*s", (int)ours, host), &our_base);
    their_job = platform_ordinal(strvec_pushf(&names, "%.*s", (int)theirs, master), &their_base);
    strvec_release(&names);
    if (our_job < 0 || their_job < 0 || our_job == their_job || our_base != their_base ||
        strncmp(host, master, our_base) != 0)
        return 0;
    return err_set(err, ERR_SPEC,
                   "this host is %.*s and the master is %.*s: they are in two Jobs of a JobSet, "
                   "which both count JOB_COMPLETION_INDEX from 0; give JOBSET_JOB_GLOBAL_INDEX and "
                   "JOBSET_GLOBAL_REPLICAS by the downward API, or state --node-rank N",
                   TEXT_SHOWN, host, TEXT_SHOWN, master);
}
