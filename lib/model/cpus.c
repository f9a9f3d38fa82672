#include "model/cpus.h"

#define THREADS_MAX 8 /* more rarely helps a rank, and nproc of them would fight */

int cpus_budget(const struct facts *facts)
{
    int64_t budget = facts->cpus_allowed;

    if (facts->cpu_quota_us >= 0 && facts->cpu_period_us > 0) {
        int64_t quota = facts->cpu_quota_us / facts->cpu_period_us;

        if (quota < budget)
            budget = quota;
    }
    return budget < 1 ? 1 : (int)budget;
}

int cpus_threads(int budget, int nproc)
{
    int threads = nproc > 0 ? budget / nproc : budget;

    if (threads < 1)
        return 1;
    return threads > THREADS_MAX ? THREADS_MAX : threads;
}
