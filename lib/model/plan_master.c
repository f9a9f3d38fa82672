/*
 * Where rank 0 listens.
 */
#include <string.h>

#include "base/buf.h"
#include "base/scan.h"
#include "model/plan.h"
#include "model/plan_parts.h"
#include "model/platform.h"

#define STATIC_PORT  29500
#define C10D_PORT    29400
#define BACKEND_C10D 1 /* in the words of --rdzv-backend */
#define CHECK_TCP    1 /* in the words of --wait-check */
#define LOOPBACK     "127.0.0.1"
#define HOST_ROOM    256

/* Ports made from job ids: no ephemeral ones, no Kubernetes NodePorts, none that "auto" takes. */
#define FROM_JOB_ID  "from-job-id"
#define JOB_PORT_MIN 23500
#define JOB_PORTS    5900

/* HOST, HOST:PORT or [IPV6]:PORT, checked before. *ret_port is -1 if there is none. */
static void split_endpoint(const char *text, struct buf *host, int *ret_port)
{
    const char *from = text + (*text == '[');
    size_t len = strcspn(from, *text == '[' ? "]" : ":");
    const char *colon = strrchr(from + len, ':');
    long port = -1;

    buf_add(host, from, len);
    if (colon && !scan_int(colon + 1, 0, 65535, &port))
        port = -1;
    *ret_port = (int)port;
}

/* FNV-1a: to be the same everywhere, and to spread ids that differ in one digit. */
static int port_of_id(const char *id)
{
    uint32_t hash = 2166136261u;

    for (; *id != '\0'; id++)
        hash = (hash ^ (unsigned char)*id) * 16777619u;
    return JOB_PORT_MIN + (int)(hash % JOB_PORTS);
}

/*
 * The port that was stated; 0: none. One that is made from the job's id needs an id that every node
 * has: the one that was stated, or Slurm's.
 */
static int read_port(const struct plan_inputs *inputs, int *ret, struct err *err)
{
    const struct setting *port = &inputs->settings->rows[OPT_MASTER_PORT];
    const char *id = settings_text(inputs->settings, OPT_RDZV_ID);

    *ret = (int)settings_int(inputs->settings, OPT_MASTER_PORT);
    if (!port->text || strcmp(port->text, FROM_JOB_ID) != 0)
        return 0;
    if (!id)
        id = platform_value(inputs->envp, "SLURM_JOB_ID");
    if (!id)
        return err_set(err, ERR_SPEC,
                       "%s=" FROM_JOB_ID ", but the job has no id: state --rdzv-id ID",
                       port->origin);
    *ret = port_of_id(id);
    return 0;
}

/*
 * Of --rdzv-endpoint and --master-addr the one with the stronger source. Of two flags torchrun takes
 * the endpoint. An operator that counts nodes from its master pod means that pod.
 */
static bool endpoint_wins(const struct settings *settings)
{
    const struct setting *endpoint = &settings->rows[OPT_RDZV_ENDPOINT];
    const struct setting *addr = &settings->rows[OPT_MASTER_ADDR];

    if (!endpoint->text || !addr->text)
        return endpoint->text != NULL;
    if (endpoint->source != addr->source)
        return endpoint->source > addr->source;
    return endpoint->source != SOURCE_PLATFORM ||
           settings->rows[OPT_NODE_RANK].source != SOURCE_PLATFORM;
}

static void note_unused(const struct setting *unused, const struct setting *used,
                        const char *used_host, struct strvec *notices)
{
    size_t len = strlen(used_host);

    if (unused->text && strncmp(unused->text, used_host, len) != 0)
        strvec_pushf(notices, "%s=%.100s is not used: %s=%.100s says where the master is",
                     unused->origin, unused->text, used->origin, used->text);
}

/* torchrun's users write localhost:0 for "any free port", which only one node can choose. */
static int from_endpoint(const struct settings *settings, int stated_port, struct plan *plan,
                         struct err *err)
{
    const struct setting *endpoint = &settings->rows[OPT_RDZV_ENDPOINT];
    const struct setting *port = &settings->rows[OPT_MASTER_PORT];
    bool c10d = settings_word(settings, OPT_RDZV_BACKEND) == BACKEND_C10D;
    bool several = plan->job.nnodes > 1;
    int *number = &plan->job.master_port;
    char room[HOST_ROOM];
    struct buf host = BUF_OVER(room);

    split_endpoint(endpoint->text, &host, number);
    plan->job.master_addr = strvec_push(&plan->texts, room);
    if (*number == 0 && several)
        return err_set(err, ERR_SPEC, "%s=%.100s: %d nodes cannot each choose a port: state one",
                       endpoint->origin, endpoint->text, plan->job.nnodes);
    if (*number < 0 && port->text && port->source >= endpoint->source)
        *number = stated_port;
    else if (port->text && *number != stated_port)
        strvec_pushf(&plan->notices, "%s=%s is not used: %s=%.100s says where the master is",
                     port->origin, port->text, endpoint->origin, endpoint->text);
    if (*number < 0)
        *number = !several ? 0 : c10d ? C10D_PORT : STATIC_PORT;
    note_unused(&settings->rows[OPT_MASTER_ADDR], endpoint, room, &plan->notices);
    return 0;
}

/* Where rank 0 of a single node listens: torchrun's --local-addr, if it is stated. */
static const char *own_addr(const struct settings *settings)
{
    const char *text = settings_text(settings, OPT_LOCAL_ADDR);

    return text ? text : LOOPBACK;
}

static int from_addr(const struct settings *settings, int stated_port, struct plan *plan,
                     struct err *err)
{
    const struct setting *addr = &settings->rows[OPT_MASTER_ADDR];

    /* MPI programs need none; those that do say so themselves. */
    if (!addr->text && plan->job.task.one && plan->job.nnodes > 1) {
        strvec_pushf(&plan->notices,
                     "nothing says where rank 0 of these %d processes listens: MASTER_ADDR is not "
                     "set, unless --master-addr HOST is stated",
                     plan->job.nnodes);
        return 0;
    }
    if (!addr->text && plan->job.nnodes > 1)
        return err_set(err, ERR_SPEC,
                       "%s says %d nodes, but nothing says where the master is (looked at "
                       "--master-addr, MASTER_ADDR, PET_MASTER_ADDR, --rdzv-endpoint): state "
                       "--master-addr HOST",
                       settings->rows[OPT_NNODES].origin, plan->job.nnodes);
    plan->job.master_addr = strvec_push(&plan->texts, addr->text ? addr->text : own_addr(settings));
    plan->job.master_port = stated_port;
    if (plan->job.master_port == 0 && plan->job.nnodes > 1)
        plan->job.master_port = STATIC_PORT;
    note_unused(&settings->rows[OPT_RDZV_ENDPOINT], addr, plan->job.master_addr, &plan->notices);
    return 0;
}

/* One node whatever else says: only a port that is stated as strongly counts. */
static void standalone(const struct settings *settings, int stated_port, struct plan *plan)
{
    bool stated = settings->rows[OPT_MASTER_PORT].source >= settings->rows[OPT_STANDALONE].source;

    plan->job.master_addr = strvec_push(&plan->texts, own_addr(settings));
    plan->job.master_port = stated ? stated_port : 0;
}

/* Length of "job" in "job-3.job.svc"; 0 if the first label does not end in a number. */
static size_t numbered_base(const char *host, const char **ret_number, size_t *ret_digits)
{
    size_t label = strcspn(host, ".");
    size_t at = label;

    while (at > 0 && host[at - 1] >= '0' && host[at - 1] <= '9')
        at--;
    *ret_number = host + at;
    *ret_digits = label - at;
    return at < label && at > 1 && host[at - 1] == '-' ? at - 1 : 0;
}

/* Pods of one set differ in the number at the end: job-1 is plainly not job-0. */
static void note_other_host(const struct plan *plan, const char *hostname, struct strvec *notices)
{
    const char *ours, *theirs;
    size_t our_digits, their_digits;
    size_t base = numbered_base(hostname, &ours, &our_digits);

    if (plan->job.nnodes == 1 || plan->job.node_rank != 0 || base == 0 || !plan->job.master_addr ||
        numbered_base(plan->job.master_addr, &theirs, &their_digits) != base ||
        strncmp(hostname, plan->job.master_addr, base) != 0)
        return;
    if (our_digits != their_digits || strncmp(ours, theirs, our_digits) != 0)
        strvec_pushf(notices,
                     "this is node 0, where rank 0 listens, but the master is %.100s and this host "
                     "is %.100s",
                     plan->job.master_addr, hostname);
}

/* Where each process has a launcher of its own, that one has seen to it. */
static void resolve_wait(const struct settings *settings, struct plan *plan)
{
    const struct plan_job *job = &plan->job;

    if (job->nnodes > 1 && job->node_rank > 0 && job->master_addr && !job->task.one)
        plan->wait.length_ns = settings_ns(settings, OPT_WAIT_MASTER);
    plan->wait.tcp = settings_word(settings, OPT_WAIT_CHECK) == CHECK_TCP;
}

int plan_resolve_master(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct settings *settings = inputs->settings;
    int rc = 0, port;

    if (read_port(inputs, &port, err) < 0)
        return -1;
    if (settings_flag(settings, OPT_STANDALONE))
        standalone(settings, port, plan);
    else if (endpoint_wins(settings))
        rc = from_endpoint(settings, port, plan, err);
    else
        rc = from_addr(settings, port, plan, err);
    if (rc < 0)
        return -1;
    resolve_wait(settings, plan);
    note_other_host(plan, inputs->facts->hostname, &plan->notices);
    return 0;
}
