#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/scan.h"
#include "sys/facts.h"
#include "sys/facts_nvidia.h"
#include "sys/file.h"

#define NUMBER_MAX 255

/* How the device nodes of a vendor look. */
struct node_kind {
    enum vendor_id vendor;
    unsigned major;           /* and the number as minor; 0: given out at run time, any */
    const char *dir, *prefix; /* "/dev" and "nvidia" of /dev/nvidia0 */
    long number_max;
    const char *also;  /* a node that its programs need as well; NULL: none */
    const char *class; /* folder in sysfs that has NAME/device; NULL: none */
    const char *pci;   /* that device's vendor */
    bool pci_must;     /* only with it; else unless it is another's */
};

static const struct node_kind kinds[] = {
    /* 254 is nvidia-modeset, 255 nvidiactl. */
    {VENDOR_NVIDIA, 195, "/dev", "nvidia", 253, NULL, NULL, NULL, false},
    {VENDOR_AMD, 226, "/dev/dri", "renderD", NUMBER_MAX, "/dev/kfd", "/sys/class/drm", "0x1002",
     false},
    {VENDOR_ASCEND, 0, "/dev", "davinci", NUMBER_MAX, NULL, NULL, NULL, false},
    {VENDOR_HABANA, 0, "/dev/accel", "accel", NUMBER_MAX, NULL, "/sys/class/accel", "0x1da3",
     false},
    {VENDOR_INTEL, 226, "/dev/dri", "renderD", NUMBER_MAX, NULL, "/sys/class/drm", "0x8086", true},
};

/* A kind's folder below sysroot. */
struct place {
    const struct node_kind *kind;
    const char *sysroot;
    struct facts *facts;
};

/*
 * True for a device node of the driver. A fixture under --sysroot can hold device nodes only if
 * root made it, so there a regular file of that name stands for one.
 */
static bool is_node(const char *path, long number, const struct place *place)
{
    unsigned wanted = place->kind->major;
    struct stat status;

    if (stat(path, &status) < 0)
        return false;
    if (S_ISREG(status.st_mode))
        return place->sysroot[0] != '\0';
    return S_ISCHR(status.st_mode) &&
           (wanted == 0 ||
            (major(status.st_rdev) == wanted && minor(status.st_rdev) == (unsigned long)number));
}

/* access(2) and never open(2): opening a node can wake its GPU for seconds. Returns an errno. */
static int look_at(const char *path)
{
    return access(path, R_OK | W_OK) == 0 ? 0 : errno;
}

static void note_owner(const char *path, struct facts_device *device)
{
    struct stat status;

    if (stat(path, &status) < 0)
        return;
    device->uid = status.st_uid;
    device->gid = status.st_gid;
    device->mode = status.st_mode & 0777;
}

/* Reads one line of sysfs, CLASS/NAME/device/FILE; false if there is none. */
static bool read_attribute(const struct place *place, const char *name, const char *file,
                           char room[static 64])
{
    char path_room[PATH_MAX];
    struct buf path = BUF_OVER(path_room);

    room[0] = '\0';
    if (!place->kind->class)
        return false;
    buf_addf(&path, "%s%s/%s/device/%s", place->sysroot, place->kind->class, name, file);
    if (path.truncated || file_peek(AT_FDCWD, path_room, false, room, 64) < 0)
        return false;
    room[strcspn(room, "\n")] = '\0';
    return room[0] != '\0';
}

static bool is_vendors(const struct place *place, const char *name)
{
    char text[64];

    if (!place->kind->pci)
        return true;
    if (!read_attribute(place, name, "vendor", text))
        return !place->kind->pci_must;
    return strcmp(text, place->kind->pci) == 0;
}

/* What sysfs says of a node's PCI device: its place, and for some the vendor's own names. */
static void describe(const struct place *place, const char *name, struct facts_device *device)
{
    char path_room[PATH_MAX], target[PATH_MAX], text[64];
    struct buf path = BUF_OVER(path_room);
    struct buf bus_id = BUF_OVER(device->bus_id), uuid = BUF_OVER(device->uuid);
    const char *slash;
    ssize_t len;
    long number;

    if (!place->kind->class)
        return;
    buf_addf(&path, "%s%s/%s/device", place->sysroot, place->kind->class, name);
    len = path.truncated ? -1 : readlink(path_room, target, sizeof(target) - 1);
    target[len > 0 ? len : 0] = '\0';
    slash = strrchr(target, '/');
    if (slash && strlen(slash + 1) < sizeof(device->bus_id))
        buf_adds(&bus_id, slash + 1);
    if (read_attribute(place, name, "numa_node", text) && scan_int(text, 0, SHRT_MAX, &number))
        device->numa_node = (int)number;
    if (device->vendor == VENDOR_AMD && read_attribute(place, name, "unique_id", text) &&
        strlen(text) <= 16 && strspn(text, "0123456789abcdef") == strlen(text))
        buf_addf(&uuid, "GPU-%s", text);
    if (device->vendor == VENDOR_HABANA && read_attribute(place, name, "module_id", text) &&
        scan_int(text, 0, NUMBER_MAX, &number)) {
        device->numbered = true;
        device->index = (int)number;
    }
}

static void note_node(const struct place *place, const char *dir, const char *name)
{
    const struct node_kind *kind = place->kind;
    struct facts *facts = place->facts;
    char room[PATH_MAX], also_room[PATH_MAX];
    struct buf path = BUF_OVER(room), also = BUF_OVER(also_room);
    struct facts_device *device;
    long number;

    if (facts->device_count >= FACTS_DEVICES_MAX ||
        strncmp(name, kind->prefix, strlen(kind->prefix)) != 0 ||
        !scan_int(name + strlen(kind->prefix), 0, kind->number_max, &number))
        return;
    buf_addf(&path, "%s/%s", dir, name);
    buf_addf(&also, "%s%s", place->sysroot, kind->also ? kind->also : "");
    if (path.truncated || also.truncated || !is_node(room, number, place) ||
        !is_vendors(place, name))
        return;
    device = &facts->devices[facts->device_count++];
    *device = (struct facts_device){
        .vendor = kind->vendor, .minor = (int)number, .denied = look_at(room), .numa_node = -1};
    if (!device->denied && kind->also)
        device->denied = look_at(also_room);
    device->accessible = device->denied == 0;
    note_owner(room, device);
    describe(place, name, device);
}

static void find_nodes(const struct place *place)
{
    const struct node_kind *kind = place->kind;
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);
    CLEANUP_DIR DIR *dir = NULL;
    const struct dirent *entry;

    if (kind->also) {
        buf_addf(&path, "%s%s", place->sysroot, kind->also);
        if (path.truncated || access(room, F_OK) < 0)
            return;
        buf_reset(&path);
    }
    buf_addf(&path, "%s%s", place->sysroot, kind->dir);
    dir = path.truncated ? NULL : opendir(room);
    while (dir && (entry = readdir(dir)))
        note_node(place, room, entry->d_name);
}

static int by_minor(const void *a, const void *b)
{
    const struct facts_device *one = a, *other = b;
    int order = (int)one->vendor - (int)other->vendor;

    return order != 0 ? order : one->minor - other->minor;
}

static int by_bus_id(const void *a, const void *b)
{
    const struct facts_device *one = a, *other = b;
    int order = strcasecmp(one->bus_id, other->bus_id);

    return order != 0 ? order : by_minor(a, b);
}

/* One unknown bus id among known ones has no place in bus order: then minors, which follow it. */
static void sort_devices(struct facts_device *devices, int count)
{
    bool all_known = true;

    for (int i = 0; i < count; i++)
        all_known = all_known && devices[i].bus_id[0];
    qsort(devices, (size_t)count, sizeof(devices[0]), all_known ? by_bus_id : by_minor);
}

/* Signs of devices that have no node for each. /dev/dri alone is none: every desktop has it. */
static const struct sign {
    const char *path;
    enum vendor_id vendor;
} signs[] = {
    {"/dev/dxg", VENDOR_NVIDIA}, /* WSL */
    {"/dev/kfd", VENDOR_AMD},
    {"/dev/davinci_manager", VENDOR_ASCEND},
    {"/dev/nvhost-ctrl-gpu", VENDOR_NVIDIA}, /* Jetson */
    {"/dev/nvgpu", VENDOR_NVIDIA},
};

static void find_other(const char *sysroot, struct facts *facts)
{
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        buf_reset(&path);
        buf_addf(&path, "%s%s", sysroot, signs[i].path);
        if (path.truncated || access(room, F_OK) < 0)
            continue;
        facts->other_accelerator = signs[i].path;
        facts->other_vendor = signs[i].vendor;
        return;
    }
}

/* True if there are nodes that ranks are surely for. */
static bool found_by_nodes(const struct facts *facts)
{
    for (int i = 0; i < facts->device_count; i++) {
        if (vendors[facts->devices[i].vendor].by_nodes)
            return true;
    }
    return false;
}

void facts_collect_devices(const char *sysroot, struct facts *facts)
{
    facts->device_count = 0;
    facts->mig_count = 0;
    facts->other_accelerator = NULL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct place place = {.kind = &kinds[i], .sysroot = sysroot, .facts = facts};
        int before = facts->device_count;

        find_nodes(&place);
        if (kinds[i].vendor == VENDOR_NVIDIA)
            facts_nvidia_describe(sysroot, facts);
        sort_devices(facts->devices + before, facts->device_count - before);
    }
    if (!found_by_nodes(facts))
        find_other(sysroot, facts);
}
