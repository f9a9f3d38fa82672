#include <dirent.h>
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
#include "sys/file.h"

#define NVIDIA_MAJOR     195
#define NVIDIA_MINOR_MAX 253 /* 254 is nvidia-modeset, 255 nvidiactl */
#define GPUS_DIR         "/proc/driver/nvidia/gpus"

/* What one /proc/driver/nvidia/gpus/BUS-ID/information says. */
struct information {
    long minor;
    char uuid[48];
    char bus_id[20];
};

/*
 * True for a device node of the driver. A fixture under --sysroot can hold device nodes only if
 * root made it, so there a regular file of that name stands for one.
 */
static bool is_node(const char *path, long minor, bool fixture)
{
    struct stat status;

    if (stat(path, &status) < 0)
        return false;
    if (S_ISREG(status.st_mode))
        return fixture;
    return S_ISCHR(status.st_mode) && major(status.st_rdev) == NVIDIA_MAJOR &&
           minor(status.st_rdev) == (unsigned long)minor;
}

/* access(2) and never open(2): opening a node can wake its GPU for seconds. */
static void note_node(const char *dir, const char *name, bool fixture, struct facts *facts)
{
    static const char prefix[] = "nvidia";
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);
    long minor;

    if (facts->device_count >= FACTS_DEVICES_MAX || strncmp(name, prefix, strlen(prefix)) != 0 ||
        !scan_int(name + strlen(prefix), 0, NVIDIA_MINOR_MAX, &minor))
        return;
    buf_addf(&path, "%s/%s", dir, name);
    if (path.truncated || !is_node(room, minor, fixture))
        return;
    facts->devices[facts->device_count++] = (struct facts_device){
        .minor = (int)minor,
        .accessible = access(room, R_OK | W_OK) == 0,
        .numa_node = -1,
    };
}

static void find_nodes(const char *sysroot, struct facts *facts)
{
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);
    CLEANUP_DIR DIR *dir = NULL;
    const struct dirent *entry;

    buf_addf(&path, "%s/dev", sysroot);
    dir = opendir(room);
    while (dir && (entry = readdir(dir)))
        note_node(room, entry->d_name, sysroot[0] != '\0', facts);
}

/* Copies text[len] without blanks around it, if all of it fits. */
static void copy_trimmed(const char *text, size_t len, char *room, size_t size)
{
    while (len > 0 && strchr(" \t", text[0])) {
        text++;
        len--;
    }
    while (len > 0 && strchr(" \t\r", text[len - 1]))
        len--;
    if (len >= size)
        return;
    memcpy(room, text, len);
    room[len] = '\0';
}

static void take_line(const char *line, size_t len, struct information *found)
{
    const char *colon = memchr(line, ':', len);
    char key[24] = "", value[64] = "";

    if (!colon)
        return;
    copy_trimmed(line, (size_t)(colon - line), key, sizeof(key));
    copy_trimmed(colon + 1, len - (size_t)(colon + 1 - line), value, sizeof(value));
    if (strcmp(key, "Device Minor") == 0) {
        if (!scan_int(value, 0, NVIDIA_MINOR_MAX, &found->minor))
            found->minor = -1;
    } else if (strcmp(key, "GPU UUID") == 0) {
        /* All '?' until the GPU has been used for the first time. */
        if (!strchr(value, '?'))
            copy_trimmed(value, strlen(value), found->uuid, sizeof(found->uuid));
    } else if (strcmp(key, "Bus Location") == 0) {
        copy_trimmed(value, strlen(value), found->bus_id, sizeof(found->bus_id));
    }
}

/* It becomes part of a path in sysfs. */
static bool is_bus_id(const char *text)
{
    return text[0] && strspn(text, "0123456789abcdefABCDEF:.") == strlen(text) && text[0] != '.';
}

static bool read_information(int gpus_fd, const char *name, struct information *ret)
{
    char text[4096];
    char path_room[PATH_MAX];
    struct buf path = BUF_OVER(path_room);

    *ret = (struct information){.minor = -1};
    buf_addf(&path, "%s/information", name);
    if (file_peek(gpus_fd, path_room, false, text, sizeof(text)) < 0)
        return false;
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");

        take_line(line, len, ret);
        line += len + (line[len] != '\0');
    }
    if (!is_bus_id(ret->bus_id))
        copy_trimmed(name, strlen(name), ret->bus_id, sizeof(ret->bus_id));
    if (!is_bus_id(ret->bus_id))
        ret->bus_id[0] = '\0';
    return ret->minor >= 0;
}

static void read_numa_node(const char *sysroot, struct facts_device *device)
{
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);
    int64_t node;

    buf_addf(&path, "%s/sys/bus/pci/devices/%s/numa_node", sysroot, device->bus_id);
    if (!path.truncated && file_number(room, &node) && node >= 0 && node <= INT_MAX)
        device->numa_node = (int)node;
}

/* Under CDI the directory lists all GPUs of the host: only those that have a node here count. */
static void join(const char *sysroot, const struct information *found, struct facts *facts)
{
    for (int i = 0; i < facts->device_count; i++) {
        struct facts_device *device = &facts->devices[i];

        if (device->minor != found->minor)
            continue;
        memcpy(device->uuid, found->uuid, sizeof(device->uuid));
        memcpy(device->bus_id, found->bus_id, sizeof(device->bus_id));
        if (device->bus_id[0])
            read_numa_node(sysroot, device);
    }
}

static void read_driver(const char *sysroot, struct facts *facts)
{
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);
    CLEANUP_DIR DIR *dir = NULL;
    const struct dirent *entry;
    struct information found;

    buf_addf(&path, "%s/proc/driver/nvidia", sysroot);
    facts->nvidia_driver = !path.truncated && access(room, F_OK) == 0;
    buf_reset(&path);
    buf_addf(&path, "%s" GPUS_DIR, sysroot);
    dir = opendir(room);
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' && read_information(dirfd(dir), entry->d_name, &found))
            join(sysroot, &found, facts);
}

static int by_minor(const void *a, const void *b)
{
    const struct facts_device *one = a, *other = b;

    return one->minor - other->minor;
}

static int by_bus_id(const void *a, const void *b)
{
    const struct facts_device *one = a, *other = b;
    int order = strcasecmp(one->bus_id, other->bus_id);

    return order != 0 ? order : by_minor(a, b);
}

/* One unknown bus id among known ones has no place in bus order: then minors, which follow it. */
static void sort_devices(struct facts *facts)
{
    bool all_known = true;

    for (int i = 0; i < facts->device_count; i++)
        all_known = all_known && facts->devices[i].bus_id[0];
    qsort(facts->devices, (size_t)facts->device_count, sizeof(facts->devices[0]),
          all_known ? by_bus_id : by_minor);
}

/* /dev/dri alone is no sign: every desktop has it. */
static const char *find_other(const char *sysroot)
{
    static const char *const signs[] = {"/dev/kfd", "/dev/davinci0", "/dev/davinci_manager",
                                        "/dev/accel/accel0", "/dev/dxg"};
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        buf_reset(&path);
        buf_addf(&path, "%s%s", sysroot, signs[i]);
        if (!path.truncated && access(room, F_OK) == 0)
            return signs[i];
    }
    return NULL;
}

void facts_collect_devices(const char *sysroot, struct facts *facts)
{
    facts->device_count = 0;
    facts->other_accelerator = NULL;
    find_nodes(sysroot, facts);
    read_driver(sysroot, facts);
    sort_devices(facts);
    if (facts->device_count == 0)
        facts->other_accelerator = find_other(sysroot);
}
