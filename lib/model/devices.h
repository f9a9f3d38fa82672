/*
 * Which devices exist for us and which rank gets which. Tokens (index, GPU-uuid,
 * MIG-uuid) are opaque and passed on as they came; the pool is the inherited
 * CUDA_VISIBLE_DEVICES (or the vendor's own variable) if set, never widened, else
 * what device nodes show. Never counted from NVIDIA_VISIBLE_DEVICES. Layer: model.
 */
#ifndef RANKINIT_MODEL_DEVICES_H
#define RANKINIT_MODEL_DEVICES_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "model/facts.h"
#include "model/settings.h"
#include "model/vendor.h"

enum device_mode {
    DEVICE_AUTO, /* order as in the words of --device-mode */
    DEVICE_SHARED,
    DEVICE_ISOLATED,
    DEVICE_ISOLATED_KEEP_RANK,
    DEVICE_NONE
};

struct devices {
    struct strvec pool;          /* tokens, in order */
    const struct vendor *vendor; /* whose they are, or would be */
    const char *variable;        /* "CUDA_VISIBLE_DEVICES", ...: read, and narrowed for ranks */
    const char *origin;          /* the variable, "/dev/nvidia*", "--devices", "none" */
    bool hidden;                 /* hidden on purpose: empty, -1, none, void, NoDevFiles */
    bool discovered;             /* the pool is what nodes show, in the order of facts */
    bool nested;                 /* indices count in what an outer variable leaves over (AMD) */
    int nodes;                   /* accessible device nodes of the vendor */
    int denied;                  /* its device nodes that we may not open */
    int denied_errno;            /* why not, of the first */
    int evidence;                /* devices that should be there by NVIDIA_VISIBLE_DEVICES; 0 */
    int replicas;                /* of a shared device among them (time-slicing): no devices */
    bool mps;                    /* an MPS daemon renumbers: UUIDs are the safe names */
    const char *foreign;         /* who has devices that cannot be counted; NULL: nobody */
    bool lenient;                /* the caller's word (called as torchrun): too few is a notice */
    enum device_mode mode;       /* never DEVICE_AUTO once resolved */
    int per_rank;
    struct strvec own; /* lists by local rank, where the spec gives ranks their own; else empty */
    bool set_variable; /* ranks get `variable` from us */
    bool set_order;    /* ranks get CUDA_DEVICE_ORDER=PCI_BUS_ID from us */
};

/*
 * Finds the pool. ERR_SPEC: a list the driver would cut short, duplicates, tokens not in the pool;
 * ERR_DEVICES: a named device is missing by all evidence.
 */
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
 * ERR_DEVICES: devices asked for that are not there or not ours to open, or fewer than the evidence
 * says. Both say what was asked, found and where.
 */
int devices_settle(struct devices *devices, const struct settings *settings, int nproc,
                   struct strvec *notices, struct err *err);

/* Why device nodes may not be opened, as a clause: "2 of /dev/nvidia* may not be opened: ...". */
void devices_denied_text(const struct devices *devices, struct buf *out);

/* Writes the value of the variable for a local rank ("2", "0,1,2,3", ""). */
void devices_list(const struct devices *devices, int local_rank, struct buf *out);

/* Index in the pool of the i-th device (i < per_rank) that a local rank is to use. */
int devices_of_rank(const struct devices *devices, int local_rank, int i);

/*
 * The node behind a token of the pool, in facts' memory; NULL if it cannot be told (a MIG UUID, no
 * procfs, an index that counts in another list).
 */
const struct facts_device *devices_node(const struct devices *devices, const struct facts *facts,
                                        const char *token_text);

/* "shared", "isolated", ...: the words of --device-mode. */
const char *devices_mode_word(enum device_mode mode);

/* Frees what devices own. */
void devices_release(struct devices *devices);

#endif
