#include "model/preflight.h"

#define MEMLOCK_SMALL \
    (INT64_C(1) << 30)   /* NCCL registers its buffers: hundreds of MiB for a rank */
#define THREADS_OTHER 48 /* of a rank with CUDA, NCCL and some data loaders */

/* ibv_reg_mr fails under a small limit, and NCCL then quietly takes TCP. */
static void check_memlock(const struct facts *facts, struct plan *plan)
{
    if (facts->infiniband && !facts->ipc_lock && facts->memlock_bytes >= 0 &&
        facts->memlock_bytes < MEMLOCK_SMALL)
        strvec_pushf(&plan->notices,
                     "InfiniBand is here, but only %lld KiB may be locked in memory: NCCL would "
                     "fall back to TCP; raise it (docker run --ulimit memlock=-1, or the "
                     "container runtime's LimitMEMLOCK)",
                     (long long)(facts->memlock_bytes >> 10));
}

static int check_pids(const struct facts *facts, struct plan *plan, struct err *err)
{
    int nproc = plan->job.nproc;
    int64_t wanted = (int64_t)nproc * (plan->omp_threads + THREADS_OTHER);

    if (facts->pids_room < 0 || facts->pids_room >= wanted)
        return 0;
    if (facts->pids_room < nproc)
        return err_set(err, ERR_SPEC,
                       "the pids limit of the container leaves room for %lld processes, but there "
                       "are %d ranks: raise it (docker run --pids-limit, podPidsLimit)",
                       (long long)facts->pids_room, nproc);
    strvec_pushf(&plan->notices,
                 "the pids limit of the container leaves room for %lld processes and threads, %d "
                 "ranks may want %lld: forks may fail; raise it (docker run --pids-limit, "
                 "podPidsLimit)",
                 (long long)facts->pids_room, nproc, (long long)wanted);
    return 0;
}

/* As access(2) would say for that user. */
static bool may_open(const struct security_user *user, const struct facts_device *device)
{
    mode_t wanted = 06;

    if (user->uid == 0)
        return true;
    if (device->uid == user->uid)
        return (device->mode >> 6 & wanted) == wanted;
    for (int i = -1; i < user->group_count; i++) {
        if (device->gid == (i < 0 ? user->gid : user->groups[i]))
            return (device->mode >> 3 & wanted) == wanted;
    }
    return (device->mode & wanted) == wanted;
}

/* We see the devices, the ranks' user may not. */
static void check_nodes(const struct facts *facts, struct plan *plan)
{
    const struct security_user *user = &plan->security.user;
    const struct facts_device *first = NULL;
    int closed = 0;

    for (int i = 0; i < facts->device_count && user->change; i++) {
        if (!facts->devices[i].accessible || may_open(user, &facts->devices[i]))
            continue;
        first = first ? first : &facts->devices[i];
        closed++;
    }
    if (first)
        strvec_pushf(&plan->notices,
                     "user %u may not open %d of %s, which are of mode %o, user %u, group %u: its "
                     "ranks will not find them; state that group (--user %u:%u)",
                     user->uid, closed, vendors[first->vendor].nodes, (unsigned)first->mode,
                     first->uid, first->gid, user->uid, first->gid);
}

int preflight(const struct facts *facts, struct plan *plan, struct err *err)
{
    check_memlock(facts, plan);
    check_nodes(facts, plan);
    return check_pids(facts, plan, err);
}
