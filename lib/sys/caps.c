#include "sys/caps.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/file.h"

#define STATUS_MAX 16384
#define NAME_MAX_  40
#define BITS       64

/* ---- what we hold ---- */

static int last_capability(void)
{
    return (int)cap_max_bits() - 1;
}

static void collect_own(struct facts_caps *ret)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};

    if (syscall(SYS_capget, &head, data) == 0) {
        ret->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
        ret->effective = data[0].effective | (uint64_t)data[1].effective << 32;
        ret->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
    }
    for (int i = 0; i <= ret->last; i++) {
        if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1)
            ret->bounding |= SECURITY_CAP(i);
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) == 1)
            ret->ambient |= SECURITY_CAP(i);
    }
    ret->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

/* The number after a key, hexadecimal; 0 if it has none. */
static uint64_t status_set(const char *text, const char *key)
{
    const char *line = strstr(text, key);

    return line ? strtoull(line + strlen(key), NULL, 16) : 0;
}

void caps_collect(const char *sysroot, struct facts_caps *ret)
{
    char text[STATUS_MAX], room[PATH_MAX];
    struct buf path = BUF_OVER(room);

    memset(ret, 0, sizeof(*ret));
    ret->last = last_capability();
    buf_addf(&path, "%s/proc/self/status", sysroot);
    if (!sysroot[0] || path.truncated || file_peek(AT_FDCWD, room, false, text, sizeof(text)) < 0) {
        collect_own(ret);
        return;
    }
    ret->inheritable = status_set(text, "\nCapInh:");
    ret->permitted = status_set(text, "\nCapPrm:");
    ret->effective = status_set(text, "\nCapEff:");
    ret->bounding = status_set(text, "\nCapBnd:");
    ret->ambient = status_set(text, "\nCapAmb:");
    ret->no_new_privs = status_set(text, "\nNoNewPrivs:") != 0;
}

/* ---- names ---- */

/* "NET_RAW", "cap_net_raw" -> its number; -1. */
static int find(const char *name, size_t len)
{
    static const char prefix[] = "cap_";
    char room[NAME_MAX_ + sizeof(prefix)];
    struct buf whole = BUF_OVER(room);
    cap_value_t value;

    if (len < sizeof(prefix) - 1 || strncasecmp(name, prefix, sizeof(prefix) - 1) != 0)
        buf_adds(&whole, prefix);
    buf_add(&whole, name, len);
    for (size_t i = 0; i < whole.len; i++)
        room[i] = (char)tolower((unsigned char)room[i]);
    return !whole.truncated && cap_from_name(room, &value) == 0 ? (int)value : -1;
}

int caps_read(const struct setting *list, int last, uint64_t *ret, struct strvec *notices,
              struct err *err)
{
    uint64_t set = 0;

    for (const char *name = list->text; *name != '\0';) {
        size_t len = strcspn(name, ",");
        int number = len == 3 && strncasecmp(name, "all", 3) == 0 ? BITS : find(name, len);

        if (number < 0)
            return err_set(err, ERR_SPEC, "%s: \"%.*s\" is no capability: see capabilities(7)",
                           list->origin, (int)len, name);
        if (number == BITS)
            set |= SECURITY_CAP(last + 1) - 1;
        else if (number > last)
            strvec_pushf(notices, "%s: this kernel has no %.*s: left out", list->origin, (int)len,
                         name);
        else
            set |= SECURITY_CAP(number);
        name += len + (name[len] == ',');
    }
    *ret = set;
    return 0;
}

/* ---- putting on ---- */

static int set_own(uint64_t permitted, uint64_t inheritable)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    for (int i = 0; i < 2; i++) {
        data[i].permitted = data[i].effective = (uint32_t)(permitted >> (32 * i));
        data[i].inheritable = (uint32_t)(inheritable >> (32 * i));
    }
    return syscall(SYS_capset, &head, data) < 0 ? errno : 0;
}

int caps_child_before(const struct security *security)
{
    for (int i = 0; i < BITS; i++) {
        if (security->caps.bounding_drop >> i & 1 && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
            return errno;
    }
    /* The kernel takes it back at the exec. */
    if (security->caps.change && security->caps.permitted && security->user.change &&
        prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
        return errno;
    return 0;
}

int caps_child_after(const struct security *security)
{
    const struct security_caps *caps = &security->caps;
    int errnum;

    if (!caps->change)
        return 0;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    errnum = set_own(caps->permitted, caps->inheritable);
    for (int i = 0; i < BITS && errnum == 0; i++) {
        if (caps->ambient >> i & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) < 0)
            errnum = errno;
    }
    return errnum;
}

void caps_reduce(uint64_t keep)
{
    struct facts_caps own = {.last = last_capability()};

    collect_own(&own);
    if (!(own.permitted & ~keep) && !(own.ambient & ~keep) && !(own.inheritable & ~keep))
        return;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    set_own(own.permitted & keep, own.inheritable & keep & own.permitted);
}
