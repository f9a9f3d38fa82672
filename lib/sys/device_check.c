#include "sys/device_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sys/facts.h"

int device_check_init(struct device_check *check, const struct plan *plan, struct err *err)
{
    *check = (struct device_check){NULL, NULL};
    if (plan->restart.max == 0 || plan->devices.pool.count == 0)
        return 0;
    check->first = calloc(1, sizeof(*check->first));
    check->again = calloc(1, sizeof(*check->again));
    if (!check->first || !check->again)
        return err_set(err, ERR_SYSTEM, "no memory for the devices");
    /* Written to, so that the pages are ours before a cgroup can be full. */
    memset(check->again, 0, sizeof(*check->again));
    facts_collect_devices(plan->sysroot, check->first);
    return 0;
}

static const struct facts_device *find(const struct facts *facts, const struct facts_device *device)
{
    for (int i = 0; i < facts->device_count; i++) {
        if (facts->devices[i].vendor == device->vendor && facts->devices[i].minor == device->minor)
            return &facts->devices[i];
    }
    return NULL;
}

static int lost(const struct facts_device *device, const struct facts_device *now, struct err *err)
{
    const char *name = vendors[device->vendor].nodes;
    int len = (int)strcspn(name, "*");

    if (!now)
        return err_set(err, ERR_DEVICE_LOST,
                       "%.*s%d%s%s was there at the start and has gone: no restart here", len, name,
                       device->minor, device->uuid[0] ? " " : "", device->uuid);
    return err_set_errno(err, ERR_DEVICE_LOST, now->denied ? now->denied : ENODEV,
                         "%.*s%d%s%s may not be opened any more: no restart here", len, name,
                         device->minor, device->uuid[0] ? " " : "", device->uuid);
}

int device_check_again(const struct device_check *check, const struct plan *plan, struct err *err)
{
    if (!check->first)
        return 0;
    facts_collect_devices(plan->sysroot, check->again);
    for (int i = 0; i < check->first->device_count; i++) {
        const struct facts_device *device = &check->first->devices[i];
        const struct facts_device *now = find(check->again, device);

        if (device->accessible && plan->devices.vendor == &vendors[device->vendor] &&
            (!now || !now->accessible))
            return lost(device, now, err);
    }
    return 0;
}

void device_check_release(struct device_check *check)
{
    free(check->first);
    free(check->again);
}
