#include "model/devices.h"

#include <errno.h>
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

/*
 * True if somebody asked for devices by their number. A spec may spell out what holds anyway, 1; who
 * writes it on a command line wants one.
 */
static bool asks_number(const struct settings *settings)
{
    return settings_stated(settings, OPT_GPUS_PER_RANK) &&
           (settings_int(settings, OPT_GPUS_PER_RANK) > 1 ||
            settings->rows[OPT_GPUS_PER_RANK].source > SOURCE_SPEC);
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
    if (asks_number(settings))
        return settings->rows[OPT_GPUS_PER_RANK].origin;
    return NULL;
}

/* errno as the kernel means it: EPERM is the device cgroup, EACCES the mode of the node. */
void devices_denied_text(const struct devices *devices, struct buf *out)
{
    buf_addf(out, "%d of %s may not be opened (%s)", devices->denied, devices->vendor->nodes,
             devices->denied_errno == EPERM
                 ? "the container was not granted them: run it with its GPUs"
                 : "by their mode: run as a user or group who may");
}

static void add_where_none(const struct devices *devices, struct buf *out)
{
    if (devices->hidden)
        buf_addf(out, "%s hides all of them", devices->variable);
    else if (devices->denied > 0)
        devices_denied_text(devices, out);
    else
        buf_addf(out, "there is no %s: run the container with its GPUs", devices->vendor->nodes);
}

static void note_denied(const struct devices *devices, struct strvec *notices)
{
    char room[256];
    struct buf text = BUF_OVER(room);

    if (!devices->discovered || devices->denied == 0)
        return;
    devices_denied_text(devices, &text);
    strvec_pushf(notices, "%s and do not count", room);
}

/*
 * A job without devices: fine, unless they were asked for, or are there but not for us, which ranks
 * would only tell by being slow.
 */
static int settle_none(struct devices *devices, const struct settings *settings,
                       struct strvec *notices, struct err *err)
{
    const char *asked = asked_by(devices, settings);
    char room[256];
    struct buf where = BUF_OVER(room);

    add_where_none(devices, &where);
    if (devices->lenient && devices->denied == 0 &&
        settings_flag(settings, OPT_VIRTUAL_LOCAL_RANK)) {
        strvec_pushf(notices, "%s, but %s: ranks run on the CPU, each as LOCAL_RANK 0",
                     settings->rows[OPT_VIRTUAL_LOCAL_RANK].origin, room);
        devices->set_order = false;
        return 0;
    }
    if (asked)
        return err_set(err, ERR_DEVICES, "%s asks for devices, but %s%s%s%s", asked, room,
                       devices->denied > 0 ? "" : "; without ", devices->denied > 0 ? "" : asked,
                       devices->denied > 0 ? "" : " ranks run on the CPU");
    if (devices->discovered && devices->denied > 0 && !devices->lenient)
        return err_set(err, ERR_DEVICES, "%s; --device-mode none is for ranks without devices",
                       room);
    note_denied(devices, notices);
    devices->mode = DEVICE_SHARED;
    devices->set_order = false;
    return 0;
}

/* Devices that cannot be counted are as many as the ranks that were stated need. */
static void assume_pool(struct devices *devices, int nproc, struct strvec *notices)
{
    for (int i = 0; i < nproc * devices->per_rank; i++)
        strvec_pushf(&devices->pool, "%d", i);
    devices->origin = "--nproc-per-node";
    devices->discovered = false;
    strvec_pushf(notices, "the devices of %s cannot be counted: %d are taken on your word",
                 devices->foreign, nproc * devices->per_rank);
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

/* What a wrong request can do about it, and why NVIDIA's plugins may have promised more. */
static void add_remedy(const struct devices *devices, struct buf *out)
{
    if (devices->replicas > (int)devices->pool.count)
        buf_addf(out,
                 "NVIDIA_VISIBLE_DEVICES names %d replicas of %d (time-slicing): a replica is no "
                 "device of its own, and NCCL refuses two ranks on one; request whole devices, or "
                 "state --device-share",
                 devices->replicas, devices->evidence);
    else
        buf_adds(out, "ask for less (--nproc-per-node, --gpus-per-rank), or state --device-share, "
                      "or --device-mode none for ranks on the CPU");
}

static int too_few(const struct devices *devices, int nproc, struct err *err)
{
    char need_room[256], why_room[512];
    struct buf need = BUF_OVER(need_room), why = BUF_OVER(why_room);

    buf_addf(&need, "%d rank(s) with %d device(s) each need %d, %s shows %d", nproc,
             devices->per_rank, nproc * devices->per_rank, devices->origin, pool_size(devices));
    if (devices->evidence > devices->nodes) {
        buf_addf(&why,
                 "NVIDIA_VISIBLE_DEVICES names %d GPUs, but only %d of /dev/nvidia* can be used "
                 "here",
                 devices->evidence, devices->nodes);
        return err_set(err, ERR_DEVICES, "%s; %s", need_room, why_room);
    }
    if (devices->discovered && devices->denied > 0) {
        devices_denied_text(devices, &why);
        return err_set(err, ERR_DEVICES, "%s; %s", need_room, why_room);
    }
    add_remedy(devices, &why);
    return err_set(err, ERR_SPEC, "%s: %s", need_room, why_room);
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

    if (used < count && devices->own.count == 0)
        strvec_pushf(notices, "%d devices are visible (%s), %d used: --nproc-per-node is %d", count,
                     devices->origin, used, nproc);
    note_denied(devices, notices);
    if (devices->discovered && !has_mig(devices) && devices->evidence > devices->nodes)
        strvec_pushf(notices, "NVIDIA_VISIBLE_DEVICES names %d GPUs, but only %d are here",
                     devices->evidence, devices->nodes);
}

/* Ranks on one device: fine for a trial, but each takes memory, and NCCL refuses it. */
static void note_sharing(const struct devices *devices, int nproc, struct strvec *notices)
{
    if (nproc > devices_nproc(devices))
        strvec_pushf(notices,
                     "%d ranks share %d device%s: its memory is shared too, and NCCL refuses two "
                     "ranks on one device",
                     nproc, pool_size(devices), pool_size(devices) == 1 ? "" : "s");
}

static int settle_mode(struct devices *devices, const struct settings *settings, int nproc,
                       struct strvec *notices, struct err *err)
{
    if (devices->mode == DEVICE_AUTO)
        devices->mode = has_mig(devices) || devices->per_rank > 1 ? DEVICE_ISOLATED : DEVICE_SHARED;
    if (check_mig(devices, err) < 0)
        return -1;
    if (devices->own.count > 0)
        return 0; /* each rank was given its own before, by the spec */
    if (devices->lenient && devices->mode == DEVICE_SHARED && nproc > devices_nproc(devices)) {
        strvec_pushf(notices, "%d ranks, but %d devices are visible (%s)", nproc,
                     pool_size(devices), devices->origin);
        return 0;
    }
    if (check_enough(devices, settings_flag(settings, OPT_DEVICE_SHARE), nproc, err) < 0)
        return -1;
    note_sharing(devices, nproc, notices);
    return 0;
}

/* Without devices there is nothing to choose from. */
static void note_unneeded(const struct settings *settings, struct strvec *notices)
{
    const struct setting *rows = settings->rows;

    if (settings_stated(settings, OPT_DEVICES))
        strvec_pushf(notices, "%s=%.80s has no effect: %s=none", rows[OPT_DEVICES].origin,
                     rows[OPT_DEVICES].text, rows[OPT_DEVICE_MODE].origin);
    if (asks_number(settings))
        strvec_pushf(notices, "%s=%s has no effect: %s=none", rows[OPT_GPUS_PER_RANK].origin,
                     rows[OPT_GPUS_PER_RANK].text, rows[OPT_DEVICE_MODE].origin);
}

static int settle_hidden(struct devices *devices, const struct settings *settings,
                         struct strvec *notices)
{
    note_unneeded(settings, notices);
    devices->set_variable = devices->vendor->hide != NULL;
    devices->set_order = false;
    if (!devices->set_variable)
        strvec_pushf(notices, "--device-mode none: no value of %s hides the devices of %s",
                     devices->variable, devices->vendor->name);
    return 0;
}

int devices_settle(struct devices *devices, const struct settings *settings, int nproc,
                   struct strvec *notices, struct err *err)
{
    if (devices->mode == DEVICE_NONE)
        return settle_hidden(devices, settings, notices);
    if (devices->pool.count == 0 && devices->foreign && asked_by(devices, settings))
        assume_pool(devices, nproc, notices);
    if (devices->pool.count == 0)
        return settle_none(devices, settings, notices, err);
    if (settle_mode(devices, settings, nproc, notices, err) < 0)
        return -1;
    say_leftover(devices, nproc, notices);
    /* In shared mode what was inherited stays as it is, unset too, unless it was narrowed. */
    devices->set_variable = isolates(devices->mode) || settings_stated(settings, OPT_DEVICES);
    devices->set_order = devices->set_order && devices->set_variable &&
                         is_index(devices->pool.items[0]);
    if (devices->mps && devices->set_variable && is_index(devices->pool.items[0]))
        strvec_pushf(notices, "MPS is here (CUDA_MPS_PIPE_DIRECTORY), whose daemon may number "
                              "devices in its own way: name them by UUID");
    return 0;
}

int devices_of_rank(const struct devices *devices, int local_rank, int i)
{
    int groups = devices_nproc(devices); /* ranks that share come round again */

    return groups > 0 ? local_rank % groups * devices->per_rank + i : 0;
}

void devices_list(const struct devices *devices, int local_rank, struct buf *out)
{
    bool isolated = isolates(devices->mode);
    int size = isolated ? devices->per_rank : pool_size(devices);

    if (devices->mode == DEVICE_NONE)
        buf_adds(out, devices->vendor && devices->vendor->hide ? devices->vendor->hide : "");
    if (devices->mode == DEVICE_NONE || pool_size(devices) == 0)
        return;
    if ((size_t)local_rank < devices->own.count) {
        buf_adds(out, devices->own.items[local_rank]);
        return;
    }
    for (int i = 0; i < size; i++) {
        if (i > 0)
            buf_addc(out, ',');
        buf_adds(out, devices->pool.items[isolated ? devices_of_rank(devices, local_rank, i) : i]);
    }
}

const char *devices_mode_word(enum device_mode mode)
{
    static const char *const words[] = {
        [DEVICE_AUTO] = "auto",         [DEVICE_SHARED] = "shared",
        [DEVICE_ISOLATED] = "isolated", [DEVICE_ISOLATED_KEEP_RANK] = "isolated-keep-rank",
        [DEVICE_NONE] = "none",
    };

    return words[mode];
}

void devices_release(struct devices *devices)
{
    strvec_release(&devices->pool);
    strvec_release(&devices->own);
}
