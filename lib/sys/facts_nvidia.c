#include "sys/facts_nvidia.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/scan.h"
#include "sys/facts.h"
#include "sys/file.h"

#define NVIDIA_MINOR_MAX 253
#define GPUS_DIR         "/proc/driver/nvidia/gpus"
#define MIG_MINORS       "/proc/driver/nvidia-caps/mig-minors"
#define MIG_MINORS_MAX   (1 << 20) /* the driver lists every number that could be */

/* What one /proc/driver/nvidia/gpus/BUS-ID/information says. */
struct information {
    long minor;
    bool excluded;
    char uuid[48];
    char bus_id[20];
};

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
    } else if (strcmp(key, "GPU Excluded") == 0) {
        found->excluded = strcmp(value, "Yes") == 0;
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

/*
 * Some firmware tells no node, but which CPUs are near: of the nodes that have them all, the one
 * that there is. The list of a machine with one node, or of all CPUs, tells nothing.
 */
static int node_of_list(const char *sysroot, const char *bus_id)
{
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);
    struct cpuset near = {0};

    buf_addf(&path, "%s/sys/bus/pci/devices/%s/local_cpulist", sysroot, bus_id);
    if (path.truncated || !facts_read_cpulist(room, &near))
        return -1;
    return facts_node_of(sysroot, &near);
}

static void read_numa_node(const char *sysroot, struct facts_device *device)
{
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);
    int64_t node;

    buf_addf(&path, "%s/sys/bus/pci/devices/%s/numa_node", sysroot, device->bus_id);
    if (!path.truncated && file_number(room, &node) && node >= 0 && node <= SHRT_MAX)
        device->numa_node = (int)node;
    else
        device->numa_node = node_of_list(sysroot, device->bus_id);
}

/* Under CDI the directory lists all GPUs of the host: only those that have a node here count. */
static void join(const char *sysroot, const struct information *found, struct facts *facts)
{
    for (int i = 0; i < facts->device_count; i++) {
        struct facts_device *device = &facts->devices[i];

        if (device->vendor != VENDOR_NVIDIA || device->minor != found->minor)
            continue;
        device->excluded = found->excluded;
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

/* True if we may open the capability of that number. */
static bool may_open_cap(const char *sysroot, int cap)
{
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);

    buf_addf(&path, "%s/dev/nvidia-caps/nvidia-cap%d", sysroot, cap);
    return !path.truncated && access(room, R_OK) == 0;
}

static bool has_device(const struct facts *facts, int minor)
{
    for (int i = 0; i < facts->device_count; i++) {
        const struct facts_device *device = &facts->devices[i];

        if (device->vendor == VENDOR_NVIDIA && device->minor == minor && device->accessible)
            return true;
    }
    return false;
}

/* Takes WORD and a number behind it off *text. */
static bool take_number(const char **text, const char *word, int *ret)
{
    size_t len = strlen(word);
    char *end;
    long number;

    if (strncmp(*text, word, len) != 0)
        return false;
    number = strtol(*text + len, &end, 10);
    if (end == *text + len || number < 0 || number > INT_MAX)
        return false;
    *text = end;
    *ret = (int)number;
    return true;
}

/* A line "gpu0/gi1/ci0/access 13" is a compute instance; the others are of what it lies in. */
static void take_mig(const char *line, const char *sysroot, struct facts *facts)
{
    struct facts_mig mig;
    int cap;

    if (facts->mig_count < FACTS_MIGS_MAX && take_number(&line, "gpu", &mig.minor) &&
        take_number(&line, "/gi", &mig.gpu_instance) &&
        take_number(&line, "/ci", &mig.compute_instance) && take_number(&line, "/access ", &cap) &&
        has_device(facts, mig.minor) && may_open_cap(sysroot, cap))
        facts->migs[facts->mig_count++] = mig;
}

static void read_migs(const char *sysroot, struct facts *facts)
{
    char path_room[PATH_MAX];
    struct buf path = BUF_OVER(path_room);
    CLEANUP_FREE char *text = NULL;
    struct err err = ERR_INIT;
    size_t len;

    /* Without a capability at hand there is no reason to read the long list. */
    buf_addf(&path, "%s/dev/nvidia-caps", sysroot);
    if (path.truncated || access(path_room, F_OK) < 0)
        return;
    buf_reset(&path);
    buf_addf(&path, "%s" MIG_MINORS, sysroot);
    if (path.truncated || file_read(path_room, MIG_MINORS_MAX, &text, &len, &err) < 0)
        return;
    for (const char *line = text; *line;) {
        take_mig(line, sysroot, facts);
        line += strcspn(line, "\n");
        line += *line != '\0';
    }
}

void facts_nvidia_describe(const char *sysroot, struct facts *facts)
{
    read_driver(sysroot, facts);
    read_migs(sysroot, facts);
}
