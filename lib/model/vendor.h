/*
 * Who makes the devices, one row each: the variables that select devices, how
 * their lists are written, what they are called. Layer: model.
 *
 * A vendor's devices are recognised by their nodes (sys/facts_devices), else by a
 * variable that is set, or by --vendor.
 */
#ifndef RANKINIT_MODEL_VENDOR_H
#define RANKINIT_MODEL_VENDOR_H

#include <stdbool.h>

enum vendor_id { /* in the order of the words of --vendor after "auto" */
                 VENDOR_NVIDIA,
                 VENDOR_AMD,
                 VENDOR_ASCEND,
                 VENDOR_HABANA,
                 VENDOR_INTEL,
                 VENDOR__COUNT
};

#define VENDOR_VARIABLES 4

struct vendor {
    enum vendor_id id;
    const char *name;  /* a word of --vendor */
    const char *nodes; /* its device nodes, for people */
    /*
     * What masks its devices, the one applied last first: an entry there counts in what the later
     * names leave over. The first that is set is the pool, and only that one is narrowed: masking
     * twice would leave nothing.
     */
    const char *variables[VENDOR_VARIABLES];
    const char *own;    /* the one to set when none is */
    const char *hide;   /* its value for "no device"; NULL: it has none */
    const char *reader; /* who reads the list, for messages */
    bool uuids;         /* entries may be GPU-... */
    bool mig;           /* entries may be MIG-... */
    bool tiles;         /* entries may be parts, "0.1" */
    bool loose;         /* text behind the digits of an index is passed over */
    bool ascending;     /* entries must ascend, and have no blanks around them */
    bool empty_is_all;  /* the empty text masks nothing */
    bool by_nodes;      /* its nodes alone show that there are devices for ranks */
};

extern const struct vendor vendors[VENDOR__COUNT];

#endif
