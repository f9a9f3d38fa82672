#include "sys/status.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"

/* A text of the plan as it fits: the page says what it can. */
static void put(char *room, size_t size, const char *text)
{
    struct buf out;

    buf_init(&out, room, size);
    buf_adds(&out, text ? text : "");
}

static void put_device(struct status_rank *rank, const struct devices *devices, int local_rank)
{
    struct buf list;

    buf_init(&list, rank->device, sizeof(rank->device));
    if (devices->mode == DEVICE_ISOLATED || devices->mode == DEVICE_ISOLATED_KEEP_RANK)
        devices_list(devices, local_rank, &list);
    else if (devices->mode == DEVICE_SHARED && (size_t)local_rank < devices->pool.count)
        buf_adds(&list, devices->pool.items[local_rank]);
}

/* What never changes. */
static void fill(struct status_page *page, const struct plan *plan, int64_t start_ns)
{
    page->size = (uint32_t)status_size(plan->job.nproc);
    page->count = plan->job.nproc;
    page->pid = plan->pid;
    page->fanout = plan->mode == PLAN_FANOUT;
    page->nnodes = plan->job.nnodes;
    page->node_rank = plan->job.node_rank;
    page->world_size = plan->job.world_size;
    page->start_ns = start_ns;
    put(page->job_id, sizeof(page->job_id), plan->job.id);
    put(page->host, sizeof(page->host), plan->host);
    put(page->version, sizeof(page->version), RANKINIT_VERSION);
    for (int i = 0; i < page->count; i++) {
        struct status_rank *rank = &page->ranks[i];

        rank->local_rank = i;
        rank->rank = plan->job.first_rank + i;
        rank->captured = plan->output.capture_out || plan->output.capture_err;
        rank->output_ns = STATUS_NEVER;
        put_device(rank, &plan->devices, i);
    }
    page->magic = STATUS_MAGIC;
}

/* The last seal came with Linux 5.1; without it our own user could write, who could also kill us. */
static void seal(int fd)
{
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) < 0)
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
}

void status_open(struct status *status, const struct plan *plan, int64_t start_ns)
{
    CLEANUP_FD int fd = memfd_create(STATUS_MEMFD, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    size_t size = status_size(plan->job.nproc);
    void *page = MAP_FAILED;

    *status = (struct status){.fd = -1};
    /* MAP_POPULATE: a full cgroup must not kill us at a later write. */
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (page == MAP_FAILED) {
        log_info("no --status and --probe: %s", strerror(errno));
        return;
    }
    seal(fd);
    fill(page, plan, start_ns);
    *status = (struct status){.fd = cleanup_take_fd(&fd), .page = page, .size = size};
}

static void put_rank(struct status_rank *ret, const struct outcome_rank *rank,
                     const struct relay_stream *streams)
{
    ret->pid = rank->pid;
    ret->state = (int32_t)rank->state;
    ret->wait_status = rank->wait_status;
    ret->started_ns = rank->started_ns;
    ret->ended_ns = rank->ended_ns;
    ret->ready = rank->ready_ns != OUTCOME_NEVER;
    ret->output_ns = STATUS_NEVER;
    for (int i = 0; i < 2; i++) {
        /* What an earlier attempt has said is no word of this one. */
        if (streams[i].said_ns > rank->started_ns && streams[i].said_ns > ret->output_ns)
            ret->output_ns = streams[i].said_ns;
    }
}

void status_publish(const struct status *status, const struct outcome *outcome,
                    const struct relay *relay, const struct fsm *fsm)
{
    struct status_page *page = status->page;
    uint32_t sequence;

    if (!page)
        return;
    sequence = page->sequence;
    __atomic_store_n(&page->sequence, sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    page->state = (int32_t)fsm->state;
    page->deadline_ns = fsm_deadline(fsm);
    page->stop_signal = outcome->stop.requested ? outcome->stop.signal : 0;
    page->restarts = outcome->restarts;
    page->orphans_reaped = outcome->orphans_reaped;
    for (int i = 0; i < page->count; i++)
        put_rank(&page->ranks[i], &outcome->ranks[i], &relay->streams[(ptrdiff_t)2 * i]);
    __atomic_store_n(&page->sequence, sequence + 2, __ATOMIC_RELEASE);
}

void status_close(struct status *status)
{
    if (status->page)
        munmap(status->page, status->size);
    cleanup_fd(&status->fd);
    *status = (struct status){.fd = -1};
}
