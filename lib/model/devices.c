#include "model/devices.h"

#include <string.h>

static bool is_mig(const char *token)
{
    return strncmp(token, "MIG-", 4) == 0;
}

static bool is_index(const char *token)
{
    return strncmp(token, "GPU-", 4) != 0 && !is_mig(token);
}

static bool isolates(enum device_mode mode)
{
    return mode == DEVICE_ISOLATED || mode == DEVICE_ISOLATED_KEEP_RANK;
}

static int pool_size(const struct devices *devices)
{
    return (int)devices->pool.count;
}

static bool has_mig(const struct devices *devices)
{
    return devices->pool.count > 0 && is_mig(devices->pool.items[0]);
}

int devices_nproc(const struct devices *devices)
{
    return devices->mode == DEVICE_NONE ? 0 : pool_size(devices) / devices->per_rank;
}

/* What asks for devices, so that having none is an error; NULL if nothing does. */
static const char *asked_by(const struct devices *devices, const struct settings *settings)
{
    const char *nproc = settings_text(settings, OPT_NPROC_PER_NODE);

    if (nproc && strcmp(nproc, "gpu") == 0)
        return settings->rows[OPT_NPROC_PER_NODE].origin;
    if (isolates(devices->mode))
        return settings_flag(settings, OPT_VIRTUAL_LOCAL_RANK)
                   ? settings->rows[OPT_VIRTUAL_LOCAL_RANK].origin
                   : settings->rows[OPT_DEVICE_MODE].origin;
    if (settings_stated(settings, OPT_DEVICES))
        return settings->rows[OPT_DEVICES].origin;
    if (settings_stated(settings, OPT_GPUS_PER_RANK))
        return settings->rows[OPT_GPUS_PER_RANK].origin;
    return NULL;
}

static const char *where_none(const struct devices *devices)
{
    if (devices->hidden)
        return "CUDA_VISIBLE_DEVICES hides all of them";
    if (devices->denied > 0)
        return "none of /dev/nvidia* may be opened: run as a user who may, or grant the devices";
    return "there is no /dev/nvidia*: run the container with its GPUs";
}

static void note_denied(const struct devices *devices, struct strvec *notices)
{
    if (devices->discovered && devices->denied > 0)
        strvec_pushf(notices, "%d of /dev/nvidia* may not be opened and do not count",
                     devices->denied);
}

/* A job without devices: fine, unless they were asked for. */
static int settle_none(struct devices *devices, const struct settings *settings,
                       struct strvec *notices, struct err *err)
{
    const char *asked = asked_by(devices, settings);

    if (asked && devices->foreign)
        return err_set(err, ERR_SPEC,
                       "%s asks for devices, and those of %s are not supported yet: state "
                       "--nproc-per-node N with --device-mode shared",
                       asked, devices->foreign);
    if (asked)
        return err_set(err, ERR_DEVICES, "%s asks for devices, but %s", asked, where_none(devices));
    note_denied(devices, notices);
    devices->mode = DEVICE_SHARED;
    devices->set_order = false;
    return 0;
}

/* One MIG instance is all that a process can use: the driver shows it only the first of a list. */
static int check_mig(const struct devices *devices, struct err *err)
{
    if (!has_mig(devices))
        return 0;
    if (devices->per_rank > 1)
        return err_set(err, ERR_SPEC,
                       "%d devices per rank are asked for, but a process can use only one MIG "
                       "instance: leave out --gpus-per-rank",
                       devices->per_rank);
    if (devices->mode == DEVICE_SHARED && pool_size(devices) > 1)
        return err_set(err, ERR_SPEC,
                       "--device-mode shared with %d MIG instances: a process would see only the "
                       "first one: use --device-mode isolated",
                       pool_size(devices));
    return 0;
}

static int too_few(const struct devices *devices, int nproc, struct err *err)
{
    int need = nproc * devices->per_rank;

    if (devices->evidence > devices->nodes)
        return err_set(err, ERR_DEVICES,
                       "%d rank(s) with %d device(s) each need %d, %s shows %d; "
                       "NVIDIA_VISIBLE_DEVICES names %d GPUs, but only %d of /dev/nvidia* can be "
                       "used here",
                       nproc, devices->per_rank, need, devices->origin, pool_size(devices),
                       devices->evidence, devices->nodes);
    return err_set(err, ERR_SPEC,
                   "%d rank(s) with %d device(s) each need %d, %s shows %d: ask for less "
                   "(--nproc-per-node, --gpus-per-rank), or state --device-share, or --device-mode "
                   "none for ranks on the CPU",
                   nproc, devices->per_rank, need, devices->origin, pool_size(devices));
}

static int check_enough(const struct devices *devices, bool share, int nproc, struct err *err)
{
    int count = pool_size(devices);

    if (devices->per_rank > count)
        return too_few(devices, nproc, err);
    if (nproc > count / devices->per_rank && !share)
        return too_few(devices, nproc, err);
    return 0;
}

static void say_leftover(const struct devices *devices, int nproc, struct strvec *notices)
{
    int count = pool_size(devices), used = nproc * devices->per_rank;

    if (used < count)
        strvec_pushf(notices, "%d devices are visible (%s), %d used: --nproc-per-node is %d", count,
                     devices->origin, used, nproc);
    note_denied(devices, notices);
    if (devices->discovered && devices->evidence > devices->nodes)
        strvec_pushf(notices, "NVIDIA_VISIBLE_DEVICES names %d GPUs, but only %d are here",
                     devices->evidence, devices->nodes);
}

int devices_settle(struct devices *devices, const struct settings *settings, int nproc,
                   struct strvec *notices, struct err *err)
{
    bool share = settings_flag(settings, OPT_DEVICE_SHARE);

    if (devices->mode == DEVICE_NONE) {
        devices->set_variable = true;
        devices->set_order = false;
        return 0;
    }
    if (devices->pool.count == 0)
        return settle_none(devices, settings, notices, err);
    if (devices->mode == DEVICE_AUTO)
        devices->mode = has_mig(devices) || devices->per_rank > 1 ? DEVICE_ISOLATED : DEVICE_SHARED;
    if (check_mig(devices, err) < 0)
        return -1;
    if (devices->own.count > 0) {
        devices->set_variable = true; /* each rank was given its own before, by the spec */
        devices->set_order = devices->set_order && is_index(devices->pool.items[0]);
        return 0;
    }
    if (devices->lenient && devices->mode == DEVICE_SHARED && nproc > devices_nproc(devices)) {
        strvec_pushf(notices, "%d ranks, but %d devices are visible (%s)", nproc,
                     pool_size(devices), devices->origin);
    } else if (check_enough(devices, share, nproc, err) < 0) {
        return -1;
    }
    say_leftover(devices, nproc, notices);
    /* In shared mode what was inherited stays as it is, unset too, unless it was narrowed. */
    devices->set_variable = isolates(devices->mode) || settings_stated(settings, OPT_DEVICES);
    devices->set_order = devices->set_order && devices->set_variable &&
                         is_index(devices->pool.items[0]);
    return 0;
}

void devices_list(const struct devices *devices, int local_rank, struct buf *out)
{
    int count = pool_size(devices);
    bool isolated = isolates(devices->mode);
    int first = isolated ? local_rank * devices->per_rank : 0;
    int size = isolated ? devices->per_rank : count;

    if (devices->mode == DEVICE_NONE || count == 0)
        return;
    if ((size_t)local_rank < devices->own.count) {
        buf_adds(out, devices->own.items[local_rank]);
        return;
    }
    for (int i = 0; i < size; i++) {
        if (i > 0)
            buf_addc(out, ',');
        buf_adds(out, devices->pool.items[(first + i) % count]); /* wraps with --device-share */
    }
}

void devices_release(struct devices *devices)
{
    strvec_release(&devices->pool);
    strvec_release(&devices->own);
}
