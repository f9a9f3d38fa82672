/*
 * Which devices exist for us and which rank gets which. Tokens (index, GPU-uuid,
 * MIG-uuid) are opaque and passed on as they came; the pool is the inherited
 * CUDA_VISIBLE_DEVICES if set, never widened, else what device nodes show.
 * Never counted from NVIDIA_VISIBLE_DEVICES. Layer: model.
 */
#ifndef RANKINIT_MODEL_DEVICES_H
#define RANKINIT_MODEL_DEVICES_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "model/facts.h"
#include "model/settings.h"

enum device_mode {
    DEVICE_AUTO, /* order as in the words of --device-mode */
    DEVICE_SHARED,
    DEVICE_ISOLATED,
    DEVICE_ISOLATED_KEEP_RANK,
    DEVICE_NONE
};

struct devices {
    struct strvec pool;    /* tokens, in order */
    const char *origin;    /* "CUDA_VISIBLE_DEVICES", "/dev/nvidia*", "--devices", "none" */
    bool hidden;           /* hidden on purpose: empty, -1, none, void, NoDevFiles */
    bool discovered;       /* pool is 0..n-1 of the accessible nodes of facts, in their order */
    int nodes;             /* accessible device nodes */
    int denied;            /* device nodes that we may not open */
    int evidence;          /* devices that should be there by NVIDIA_VISIBLE_DEVICES' UUIDs; 0 */
    const char *foreign;   /* facts' other_accelerator if it would decide; NULL: none */
    bool lenient;          /* the caller's word (called as torchrun): too few is a notice */
    enum device_mode mode; /* never DEVICE_AUTO once resolved */
    int per_rank;
    struct strvec own; /* lists by local rank, where the spec gives ranks their own; else empty */
    bool set_variable; /* ranks get CUDA_VISIBLE_DEVICES from us */
    bool set_order;    /* ranks get CUDA_DEVICE_ORDER=PCI_BUS_ID from us */
};

/* Finds the pool. ERR_SPEC: a list the driver would cut short, duplicates, tokens not in the pool. */
int devices_find(const struct settings *settings, const struct facts *facts,
                 const char *const *envp, struct devices *ret, struct err *err);

/*
 * Appends to *ret the tokens of the pool that a list in our own words selects ("0-1", "GPU-8f1c");
 * the origin of the list is for messages. ERR_SPEC: not such a list, or not in the pool.
 */
int devices_select(const struct devices *devices, const struct facts *facts,
                   const struct setting *list, struct strvec *ret, struct err *err);

/* Place in the pool of the device that one such token names; -1 if it is not there. */
int devices_position(const struct devices *devices, const struct facts *facts, const char *text);

/* What --nproc-per-node auto or gpu means here: visible devices / per_rank; 0 if none. */
int devices_nproc(const struct devices *devices);

/*
 * Settles the mode and proves that nproc ranks can be served. ERR_SPEC: too few by a wrong request;
 * ERR_DEVICES: devices asked for that are not there, or fewer than the evidence says. Both say what
 * was asked, found and where.
 */
int devices_settle(struct devices *devices, const struct settings *settings, int nproc,
                   struct strvec *notices, struct err *err);

/* Writes the value of CUDA_VISIBLE_DEVICES for a local rank ("2", "0,1,2,3", ""). */
void devices_list(const struct devices *devices, int local_rank, struct buf *out);

/* Frees what devices own. */
void devices_release(struct devices *devices);

#endif
