#include "report/hints.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/signame.h"
#include "model/sentence.h"

#define WORDS_MAX  5
#define SHM_LITTLE (1LL << 30)  /* of /dev/shm altogether */
#define SHM_FULL   (64LL << 20) /* of it free */

/* What rows look at. */
struct scene {
    const struct plan *plan;
    const struct outcome *outcome;
    const struct verdict *verdict;
    const struct outcome_rank *rank; /* the root cause; NULL: none */
    const char *tail;                /* its last lines on stderr */
};

/*
 * A row holds if one of its words is in what the root cause said (its last lines on stderr count
 * for `tail` only: much stands there that explains nothing) and `when` is true. Its hint is what
 * `tell` appends, and then the text.
 */
struct row {
    const char *words[WORDS_MAX];
    bool tail;
    bool (*when)(const struct scene *scene);
    void (*tell)(const struct scene *scene, struct buf *out);
    const char *text;
};

static bool said(const struct scene *scene, const char *words)
{
    const struct finding *cause = &scene->verdict->cause;

    return strstr(cause->type, words) || strstr(cause->message, words) ||
           strstr(cause->traceback, words);
}

static void add_mib(struct buf *out, int64_t bytes)
{
    buf_addf(out, "%" PRId64 " MiB", bytes >> 20);
}

static bool died_of(const struct scene *scene, int signal)
{
    const struct outcome_rank *rank = scene->rank;

    return rank && rank->state == RANK_ENDED && WIFSIGNALED(rank->wait_status) &&
           WTERMSIG(rank->wait_status) == signal;
}

static bool could_not_execute(const struct scene *scene, int errnum)
{
    const struct outcome_rank *rank = scene->rank;

    return rank && rank->state == RANK_START_FAILED && rank->stage == STAGE_EXEC &&
           rank->stage_errno == errnum;
}

/* Shared memory: the kernel answers a page that it cannot give with SIGBUS. */
static bool was_bus_error(const struct scene *scene)
{
    return died_of(scene, SIGBUS) ||
           (scene->rank &&
            (said(scene, "Bus error") || said(scene, "bus error") ||
             said(scene, "insufficient shared memory") || said(scene, "out of shared memory")));
}

static bool is_shm_little(const struct scene *scene)
{
    int64_t size = scene->plan->shm_bytes, left = scene->outcome->shm_free_bytes;

    return (size >= 0 && size <= SHM_LITTLE) || (left >= 0 && left <= SHM_FULL);
}

static bool lacks_shm(const struct scene *scene)
{
    return was_bus_error(scene) && is_shm_little(scene);
}

static bool bus_error_for_another_reason(const struct scene *scene)
{
    return died_of(scene, SIGBUS) && !is_shm_little(scene);
}

static void tell_shm(const struct scene *scene, struct buf *out)
{
    buf_adds(out, "/dev/shm has ");
    add_mib(out, scene->plan->shm_bytes >= 0 ? scene->plan->shm_bytes : 0);
    if (scene->outcome->shm_free_bytes >= 0) {
        buf_adds(out, ", of which ");
        add_mib(out, scene->outcome->shm_free_bytes);
        buf_adds(out, " were free");
    }
}

/* Memory. */
static bool was_out_of_memory(const struct scene *scene)
{
    return scene->outcome->oom_kills > 0;
}

static int count_oom_ranks(const struct outcome *outcome)
{
    int count = 0;

    for (int i = 0; i < outcome->count; i++)
        count += outcome->ranks[i].oom;
    return count;
}

static void tell_memory(const struct scene *scene, struct buf *out)
{
    const struct outcome *outcome = scene->outcome;
    int64_t limit = scene->plan->memory_limit_bytes, peak = outcome->memory_peak_bytes;
    int ranks = count_oom_ranks(outcome);

    buf_addf(out, "the kernel killed %" PRIu64 " %s of this container for lack of memory",
             outcome->oom_kills, outcome->oom_kills == 1 ? "process" : "processes");
    if (limit > 0) {
        buf_adds(out, ", limit ");
        add_mib(out, limit);
    }
    if (peak > 0) {
        buf_adds(out, ", peak ");
        add_mib(out, peak);
    }
    /* The counter names nobody; it does if nobody else can be meant. */
    if (scene->verdict->word == VERDICT_SUCCEEDED)
        buf_adds(out, ", though all ranks ended with 0 (--oom fail makes that a failure)");
    else if (ranks > 0 && (uint64_t)ranks == outcome->oom_kills)
        buf_addf(out, ": certainly %s", ranks == 1 ? "this rank" : "these ranks");
    else if (scene->rank && scene->rank->oom)
        buf_adds(out, ": this rank very likely, and others with it");
    else if (scene->rank)
        buf_adds(out, ": likely a worker process of a rank");
}

/* Devices. */
static void tell_devices(const struct scene *scene, struct buf *out)
{
    switch (scene->plan->devices.mode) {
    case DEVICE_ISOLATED:
    case DEVICE_ISOLATED_KEEP_RANK:
        buf_addf(out, "with --device-mode %s a rank sees only its own %d, from number 0",
                 scene->plan->devices.mode == DEVICE_ISOLATED ? "isolated" : "isolated-keep-rank",
                 scene->plan->devices.per_rank);
        break;
    default: buf_addf(out, "the ranks see %zu devices here", scene->plan->devices.pool.count);
    }
}

/* Programs. */
static bool is_no_program(const struct scene *scene)
{
    return could_not_execute(scene, ENOEXEC);
}

static bool is_path_not_found(const struct scene *scene)
{
    return could_not_execute(scene, ENOENT) && scene->plan->argv.count > 0 &&
           strchr(scene->plan->argv.items[0], '/');
}

static bool is_not_permitted(const struct scene *scene)
{
    return could_not_execute(scene, EACCES);
}

/* Stops and kills. */
static bool was_port_taken(const struct scene *scene)
{
    return scene->outcome->own.kind == ERR_PORT;
}

static bool is_master_nameless(const struct scene *scene)
{
    return scene->outcome->own.kind == ERR_MASTER &&
           strstr(scene->outcome->own.message, "no such name");
}

static bool is_master_closed(const struct scene *scene)
{
    return scene->outcome->own.kind == ERR_MASTER && !is_master_nameless(scene);
}

/* Peers that hang in a collective after a failure are no news; a checkpoint cut short is. */
static bool was_killed_after_grace(const struct scene *scene)
{
    const struct outcome *outcome = scene->outcome;

    return outcome->stop.requested && outcome->killed_ns != OUTCOME_NEVER && !outcome->stop.again &&
           outcome->first_failure_ns == OUTCOME_NEVER;
}

static void tell_grace(const struct scene *scene, struct buf *out)
{
    buf_adds(out, "what had not ended ");
    sentence_seconds(scene->plan->stop.grace_ns, out);
    buf_adds(out, " (--grace) after the request was killed");
}

static bool was_asked_twice(const struct scene *scene)
{
    return scene->outcome->stop.again;
}

static bool did_parent_die(const struct scene *scene)
{
    return scene->outcome->stop.requested && scene->plan->parent_death_signal > 0 &&
           scene->outcome->stop.signal == scene->plan->parent_death_signal;
}

static void tell_parent(const struct scene *scene, struct buf *out)
{
    char name[SIGNAME_MAX];

    buf_addf(out, "%s is what -p asks for", signame_text(scene->outcome->stop.signal, name));
}

static bool was_stopped_from_outside(const struct scene *scene)
{
    const struct outcome_stop *stop = &scene->outcome->stop;

    return stop->requested && stop->signal == SIGTERM && stop->sender_pid == 0 &&
           stop->sender_rank < 0 && scene->verdict->word == VERDICT_STOPPED;
}

static bool was_killed_from_outside(const struct scene *scene)
{
    return died_of(scene, SIGKILL) && outcome_rank_killed_from_outside(scene->rank) &&
           scene->outcome->oom_known && scene->outcome->oom_kills == 0;
}

static bool was_not_restarted(const struct scene *scene)
{
    return scene->outcome->not_restarted[0] != '\0';
}

static void tell_no_restart(const struct scene *scene, struct buf *out)
{
    buf_adds(out, scene->outcome->not_restarted);
}

static bool is_code_mapped(const struct scene *scene)
{
    return scene->verdict->code_before != scene->verdict->exit_code;
}

static void tell_code(const struct scene *scene, struct buf *out)
{
    buf_addf(out, "exit code %d is returned as %d", scene->verdict->code_before,
             scene->verdict->exit_code);
}

static const struct row rows[] = {
    {.when = lacks_shm,
     .tell = tell_shm,
     .text = ": too little for data loader workers or NCCL; give it more: docker run --shm-size "
             "8g, or in Kubernetes an emptyDir with medium: Memory at /dev/shm"},
    {.when = bus_error_for_another_reason,
     .text = "SIGBUS, though /dev/shm has room: a mapped file was cut short, or its disk is full "
             "or failing"},
    {.when = was_out_of_memory,
     .tell = tell_memory,
     .text = "; raise the memory limit, or use fewer data loader workers or smaller batches"},
    {.words = {"CUDA out of memory", "CUDA error: out of memory", "HIP out of memory",
               "CUBLAS_STATUS_ALLOC_FAILED"},
     .text = "the GPU's memory is full: smaller batches, activation checkpointing, or sharding; if "
             "nvidia-smi shows others on this GPU, they have it"},
    {.words = {"Xid (", "uncorrectable ECC", "fallen off the bus", "GPU is lost",
               "cudaErrorECCUncorrectable"},
     .tail = true,
     .text = "the GPU itself failed: look for Xid in the node's dmesg and at nvidia-smi -q, drain "
             "the node, and run elsewhere; another try here will fail too"},
    {.words = {"driver version is insufficient", "NVIDIA driver on your system is too old",
               "cudaErrorInsufficientDriver", "forward compatibility was attempted",
               "no kernel image is available"},
     .text = "the image's CUDA and the node do not fit: a newer driver on the node, or an image "
             "built for its CUDA version and its GPUs"},
    {.words = {"invalid device ordinal"},
     .tell = tell_devices,
     .text = ": the script asks for one beyond; use LOCAL_RANK with --device-mode shared or "
             "isolated, or cuda:0 with isolated devices"},
    {.words = {"unhandled system error", "ncclSystemError"},
     .tail = true,
     .text = "NCCL failed in a system call: NCCL_DEBUG=WARN names it; often /dev/shm is too small, "
             "the locked-memory limit too low, or NCCL_SOCKET_IFNAME the wrong interface"},
    {.words = {"Address already in use", "address already in use", "EADDRINUSE"},
     .text = "another process has that port, perhaps one left by an earlier job: choose another "
             "--master-port (auto on one node); ss -ltnp shows who has it"},
    {.when = was_port_taken,
     .text = "another process has that port, perhaps one left by an earlier job: choose another "
             "--master-port (auto on one node); ss -ltnp shows who has it"},
    {.when = is_master_nameless,
     .text = "the name of node 0 is not in DNS: is its pod scheduled, does the headless Service "
             "exist, and does it publish addresses that are not ready?"},
    {.when = is_master_closed,
     .text = "node 0 has a name, but nobody answers at its port: has rank 0 started, is it this "
             "port, and does a network policy let this node through?"},
    {.words = {"No space left on device", "Disk quota exceeded"},
     .text = "a disk, /dev/shm or a quota is full: df -h and df -i in the container show which; "
             "checkpoints and caches belong on a volume"},
    {.words = {"can't open file", "can't find '__main__' module"},
     .text = "the script is not there, or this user may not read it: a relative path starts at the "
             "working directory; check WORKDIR, the volume's mount path and its permissions"},
    {.words = {"Exec format error", "cannot execute binary file"},
     .text =
         "a program for another architecture (uname -m; docker build --platform), or a file that is "
         "cut short or no program"},
    {.when = is_no_program,
     .text =
         "a program for another architecture (uname -m; docker build --platform), or a file that is "
         "cut short or no program"},
    {.when = is_path_not_found,
     .text = "if the file is there, what it needs to start is not: the interpreter of its #! line "
             "(a line end of Windows?) or its dynamic loader (musl or glibc)"},
    {.when = is_not_permitted,
     .text = "chmod +x; or its file system is mounted noexec, or a folder above it is closed to "
             "this user"},
    {.words = {"error while loading shared libraries", "cannot open shared object file"},
     .text = "a shared library is not in the image or not on its search path: ldd shows which; "
             "those of the driver come only with the NVIDIA container runtime"},
    {.when = was_killed_from_outside,
     .text = "nothing in this container sent that SIGKILL as far as is known, and no OOM kill was "
             "counted: look for the node running out of memory (dmesg), or at who can kill there"},
    {.when = did_parent_die,
     .tell = tell_parent,
     .text = ": the process that started rankinit died (PDEATHSIG), and this is its end too"},
    {.when = was_stopped_from_outside,
     .text = "SIGTERM from outside the container is Kubernetes or docker stop: kubectl describe "
             "pod tells whether it was deleted, evicted, preempted or failed its liveness probe"},
    {.when = was_asked_twice,
     .text = "a second request to stop cut the grace short; one is enough, and the ranks then have "
             "all of --grace for a checkpoint"},
    {.when = was_killed_after_grace,
     .tell = tell_grace,
     .text = ": save less or sooner at the stop signal, or give it longer, with "
             "terminationGracePeriodSeconds at least 5 s more than --grace"},
    {.when = was_not_restarted, .tell = tell_no_restart, .text = ""},
    {.when = is_code_mapped, .tell = tell_code, .text = " (-e, --exit-map or --exit-preset)"},
};

static bool has_words(const struct scene *scene, const struct row *row)
{
    if (!row->words[0])
        return true;
    if (!scene->rank)
        return false;
    for (size_t i = 0; i < WORDS_MAX && row->words[i]; i++) {
        if (said(scene, row->words[i]) || (row->tail && strstr(scene->tail, row->words[i])))
            return true;
    }
    return false;
}

void hints_add(struct hints *hints, const char *text)
{
    struct buf out;

    for (int i = 0; i < hints->count; i++) {
        if (strcmp(hints->texts[i], text) == 0)
            return;
    }
    if (hints->count == HINTS_MAX)
        return;
    buf_init(&out, hints->texts[hints->count++], HINT_MAX);
    buf_add_plain(&out, text, strlen(text));
}

void hints_make(const struct plan *plan, const struct outcome *outcome,
                const struct verdict *verdict, struct hints *ret)
{
    struct scene scene = {plan, outcome, verdict, NULL, ""};
    char room[EVIDENCE_TAIL_MAX + 1], text[HINT_MAX];
    struct buf tail = BUF_OVER(room);

    ret->count = 0;
    if (verdict->root >= 0) {
        scene.rank = &outcome->ranks[verdict->root];
        evidence_tail(scene.rank->evidence, plan->output.tail_lines, &tail);
        scene.tail = room;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out = BUF_OVER(text);

        if (!has_words(&scene, &rows[i]) || (rows[i].when && !rows[i].when(&scene)))
            continue;
        if (rows[i].tell)
            rows[i].tell(&scene, &out);
        buf_adds(&out, rows[i].text);
        hints_add(ret, text);
    }
}
