/*
 * Where each rank is: its devices' names and place, its CPUs, and telling it all once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/cpus.h"
#include "model/plan.h"
#include "model/plan_parts.h"

#define NAMES_ROOM 16384 /* names of one rank's devices */
#define LINE_ROOM  900   /* of a line of ours, LOG_LINE_MAX less what stands before it */
#define RANK_ROOM  512   /* what is told of one rank */

/* The tokens of a list with commas. */
static void split(const char *text, struct strvec *ret)
{
    while (*text) {
        size_t size = strcspn(text, ",");

        strvec_pushf(ret, "%.*s", (int)size, text);
        text += size;
        text += *text == ',';
    }
}

/* Local rank by which devices are taken; -1: unknown. One of many has siblings that we do not see. */
static int taker(const struct plan *plan, int local_rank)
{
    const struct devices *devices = &plan->devices;

    if (!plan->job.task.one || devices->mode != DEVICE_SHARED || devices->pool.count == 1)
        return local_rank;
    return plan->job.task.local_rank < devices_nproc(devices) ? plan->job.task.local_rank : -1;
}

/* Appends the tokens of a rank's devices; none, if it has none or they are unknown. */
static void find_tokens(const struct plan *plan, int local_rank, struct strvec *ret)
{
    const struct devices *devices = &plan->devices;
    int by = taker(plan, local_rank);

    if (devices->mode == DEVICE_NONE || devices->pool.count == 0)
        return;
    if ((size_t)local_rank < devices->own.count) {
        split(devices->own.items[local_rank], ret);
        return;
    }
    for (int i = 0; by >= 0 && i < devices->per_rank; i++) {
        size_t index = (size_t)devices_of_rank(devices, by, i);

        if (index < devices->pool.count)
            strvec_push(ret, devices->pool.items[index]);
    }
}

/* Names of all its devices, or none at all: half a list would be taken for the whole. */
static void describe(const struct plan_inputs *inputs, struct plan *plan, int local_rank,
                     struct plan_place *place)
{
    char uuid_room[NAMES_ROOM], bus_room[NAMES_ROOM];
    struct buf uuids = BUF_OVER(uuid_room), bus_ids = BUF_OVER(bus_room);
    CLEANUP(strvec_release) struct strvec tokens = STRVEC_INIT;
    bool all_uuids, all_bus_ids;

    find_tokens(plan, local_rank, &tokens);
    all_uuids = all_bus_ids = tokens.count > 0;
    *place = (struct plan_place){.uuids = "", .bus_ids = "", .numa_node = -1, .memory_node = -1};
    for (size_t i = 0; i < tokens.count; i++) {
        const struct facts_device *device = devices_node(&plan->devices, inputs->facts,
                                                         tokens.items[i]);

        if (!device)
            return;
        if (i == 0)
            place->numa_node = device->numa_node;
        all_uuids = all_uuids && device->uuid[0];
        all_bus_ids = all_bus_ids && device->bus_id[0];
        buf_addf(&uuids, "%s%s", i > 0 ? "," : "", device->uuid);
        buf_addf(&bus_ids, "%s%s", i > 0 ? "," : "", device->bus_id);
    }
    if (all_uuids)
        place->uuids = strvec_push(&plan->texts, uuid_room);
    if (all_bus_ids)
        place->bus_ids = strvec_push(&plan->texts, bus_room);
}

/* "rank 1: device 1, GPU-8f1c, 0000:3b:00.0, NUMA node 0, CPUs 0-7"; nothing, if nothing is known. */
static void tell_rank(const struct plan *plan, int local_rank, struct buf *out)
{
    const struct plan_place *place = &plan->places[local_rank];
    CLEANUP(strvec_release) struct strvec tokens = STRVEC_INIT;
    const char *separator = ": ";

    find_tokens(plan, local_rank, &tokens);
    if (tokens.count == 0 && place->numa_node < 0 && !place->bound)
        return;
    buf_addf(out, "rank %d", plan->job.first_rank + local_rank);
    if (tokens.count > 0) {
        buf_addf(out, "%sdevice", separator);
        for (size_t i = 0; i < tokens.count; i++)
            buf_addf(out, "%c%s", i > 0 ? ',' : ' ', tokens.items[i]);
        separator = ", ";
    }
    if (place->uuids[0])
        buf_addf(out, "%s%s", separator, place->uuids);
    if (place->bus_ids[0])
        buf_addf(out, "%s%s", separator, place->bus_ids);
    if (place->numa_node >= 0) {
        buf_addf(out, "%sNUMA node %d", separator, place->numa_node);
        separator = ", ";
    }
    if (place->bound) {
        buf_addf(out, "%sCPUs ", separator);
        cpuset_write(&place->cpus, out);
    }
}

/* One line for all ranks, or as few as they fit in. */
static void tell(struct plan *plan)
{
    char room[LINE_ROOM];
    struct buf line = BUF_OVER(room);
    bool devices = plan->devices.pool.count > 0 && plan->devices.mode != DEVICE_NONE;
    bool bound = false, told = false;

    for (int i = 0; i < plan->job.nproc; i++)
        bound = bound || plan->places[i].bound;
    if (!devices && !bound)
        return;
    if (devices)
        buf_addf(&line, "devices %s: ", devices_mode_word(plan->devices.mode));
    for (int i = 0; i < plan->job.nproc; i++) {
        char rank_room[RANK_ROOM];
        struct buf rank = BUF_OVER(rank_room);

        tell_rank(plan, i, &rank);
        if (rank.len == 0)
            continue;
        if (line.len > 0 && line.len + rank.len + 3 > LINE_ROOM) {
            strvec_push(&plan->notices, room);
            buf_reset(&line);
        } else if (told) {
            buf_adds(&line, "; ");
        }
        buf_adds(&line, rank_room);
        told = true;
    }
    strvec_push(&plan->notices, room);
}

/*
 * As many threads as the CPUs of the rank that has the fewest can run. A rank with CPUs of its own has
 * threads of its own, too.
 */
static void limit_threads(const struct plan_inputs *inputs, struct plan *plan)
{
    int budget = cpus_budget(inputs->facts);

    if (settings_word(inputs->settings, OPT_THREADS) != 0 ||
        (plan->torchrun && !settings_stated(inputs->settings, OPT_THREADS)))
        return;
    for (int i = 0; i < plan->job.nproc; i++) {
        struct plan_place *place = &plan->places[i];
        int sharers = 0, threads;

        for (int j = 0; j < plan->job.nproc; j++)
            sharers += plan->places[j].bound && cpuset_equal(&plan->places[j].cpus, &place->cpus);
        if (!place->bound)
            continue;
        threads = cpus_threads(cpuset_count(&place->cpus), sharers);
        if (place->own)
            place->threads = threads < budget ? threads : budget;
        else if (threads < plan->omp_threads)
            plan->omp_threads = threads;
    }
}

int plan_resolve_places(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    struct cpus_request request = {
        .facts = inputs->facts,
        /* siblings unseen: to deal out nodes is not for us alone */
        .devices = plan->devices.pool.count > 0 ||
                   (plan->job.task.one && plan->job.task.local_size != 1),
        .cpus = inputs->facts->cpus,
        .nproc = plan->job.nproc,
        .notices = &plan->notices};

    if (cpus_bind_find(inputs->settings, &request.how, err) < 0)
        return -1;
    plan->places = calloc((size_t)plan->job.nproc, sizeof(*plan->places));
    if (!plan->places)
        return err_set(err, ERR_SYSTEM, "no memory for %d ranks", plan->job.nproc);
    for (int i = 0; i < plan->job.nproc; i++)
        describe(inputs, plan, i, &plan->places[i]);
    if (plan_resolve_rank_cpus(inputs, plan, &request.cpus, err) < 0)
        return -1;
    cpus_bind(&request, plan->places);
    limit_threads(inputs, plan);
    tell(plan);
    return 0;
}

void plan_release_places(struct plan *plan)
{
    free(plan->places);
    plan->places = NULL;
}
