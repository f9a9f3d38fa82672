/*
 * Devices, looked at again: what was there at the start must be there when ranks
 * are started once more. Layer: sys.
 */
#ifndef RANKINIT_SYS_DEVICE_CHECK_H
#define RANKINIT_SYS_DEVICE_CHECK_H

#include "base/err.h"
#include "model/plan.h"

/* Two looks; NULL: nothing to compare. */
struct device_check {
    struct facts *first, *again;
};

/* Takes the first look, if restarts are planned and ranks have devices. ERR_SYSTEM: no memory. */
int device_check_init(struct device_check *check, const struct plan *plan, struct err *err);

/* Looks again. ERR_DEVICE_LOST: names a device that has gone, or may not be opened any more. */
int device_check_again(const struct device_check *check, const struct plan *plan, struct err *err);

/* Frees it. */
void device_check_release(struct device_check *check);

#endif
