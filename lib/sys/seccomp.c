#include "sys/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/scan.h"
#include "sys/seccomp_profile.h"

#define NAME_ROOM 64
#define DENY      SCMP_ACT_ERRNO(EPERM)
#define ABSENT    SCMP_ACT_ERRNO(ENOSYS)

static void release_context(scmp_filter_ctx *context)
{
    if (*context)
        seccomp_release(*context);
}

/* True if name is one of a list with commas. */
static bool listed(const char *list, const char *name)
{
    size_t size = strlen(name);

    while (list && *list != '\0') {
        size_t len = strcspn(list, ",");

        if (len == size && memcmp(list, name, len) == 0)
            return true;
        list += len + (list[len] == ',');
    }
    return false;
}

int seccomp_check(const char *origin, const char *list, bool denied, struct err *err)
{
    char name[NAME_ROOM];

    while (scan_item(&list, name, sizeof(name))) {
        if (seccomp_syscall_resolve_name(name) == __NR_SCMP_ERROR)
            return err_set(err, ERR_SPEC, "%s: \"%s\" is no system call: see syscalls(2)", origin,
                           name);
        if (denied && strcmp(name, "execve") == 0)
            return err_set(err, ERR_SPEC, "%s: execve is what starts a rank: it cannot be denied",
                           origin);
    }
    return 0;
}

/* Adds a rule, unless this machine has no such call (a pseudo number below 0). */
static int add(scmp_filter_ctx context, uint32_t action, const char *name)
{
    int number = seccomp_syscall_resolve_name(name);

    return number < 0 ? 0 : seccomp_rule_add(context, action, number, 0);
}

/* clone and unshare do much that is harmless; only new namespaces are denied. */
static int add_namespaces(scmp_filter_ctx context, const char *name, size_t first)
{
    const size_t count = sizeof(seccomp_namespaces) / sizeof(seccomp_namespaces[0]);
    int number = seccomp_syscall_resolve_name(name);
    int rc = 0;

    for (size_t i = first; i < count && rc == 0; i++) {
        const scmp_datum_t bit = seccomp_namespaces[i];

        rc = seccomp_rule_add(context, DENY, number, 1, SCMP_CMP(0, SCMP_CMP_MASKED_EQ, bit, bit));
    }
    return rc;
}

static int add_rules(scmp_filter_ctx context, const struct security *security)
{
    const char *allow = security->allow, *deny = security->deny;
    char name[NAME_ROOM];
    int rc = 0;

    for (size_t i = 0; i < sizeof(seccomp_denied) / sizeof(seccomp_denied[0]) && rc == 0; i++) {
        if (!listed(allow, seccomp_denied[i]) && !listed(deny, seccomp_denied[i]))
            rc = add(context, DENY, seccomp_denied[i]);
    }
    while (rc == 0 && scan_item(&deny, name, sizeof(name)))
        rc = add(context, DENY, name);
    deny = security->deny;
    if (rc == 0 && !listed(allow, "clone") && !listed(deny, "clone"))
        rc = add_namespaces(context, "clone", 1);
    if (rc == 0 && !listed(allow, "unshare") && !listed(deny, "unshare"))
        rc = add_namespaces(context, "unshare", 0);
    if (rc == 0 && !listed(allow, "clone3") && !listed(deny, "clone3"))
        rc = add(context, ABSENT, "clone3");
    return rc;
}

/* libseccomp writes into a descriptor: a piece of memory is the only one that is always there. */
static int export(scmp_filter_ctx context, struct seccomp_filter *ret)
{
    CLEANUP_FD int fd = memfd_create("rankinit-seccomp", MFD_CLOEXEC);
    struct stat status;
    size_t size;
    int rc = fd < 0 ? -errno : seccomp_export_bpf(context, fd);

    if (rc < 0)
        return rc;
    if (fstat(fd, &status) < 0)
        return -errno;
    size = (size_t)status.st_size;
    if (size == 0 || size / sizeof(*ret->steps) > BPF_MAXINSNS)
        return -EINVAL;
    ret->steps = malloc(size);
    if (!ret->steps)
        return -ENOMEM;
    ret->count = (unsigned short)(size / sizeof(*ret->steps));
    return pread(fd, ret->steps, size, 0) == (ssize_t)size ? 0 : -EIO;
}

int seccomp_compile(const struct security *security, struct seccomp_filter *ret, struct err *err)
{
    CLEANUP(release_context) scmp_filter_ctx context = NULL;
    int rc = 0;

    *ret = (struct seccomp_filter){.steps = NULL};
    if (!security->seccomp)
        return 0;
    context = seccomp_init(SCMP_ACT_ALLOW);
    if (!context)
        return err_set(err, ERR_SYSTEM, "no memory for the filter of system calls");
    rc = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, DENY);
    /* A tree instead of a chain: every call of a rank passes through it. */
    if (rc == 0)
        rc = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (rc == 0)
        rc = add_rules(context, security);
    if (rc == 0)
        rc = export(context, ret);
    if (rc < 0)
        return err_set_errno(err, ERR_SYSTEM, -rc, "cannot make the filter of system calls");
    return 0;
}

int seccomp_child(const struct seccomp_filter *filter)
{
    const struct sock_fprog program = {.len = filter->count, .filter = filter->steps};

    if (!filter->steps)
        return 0;
    /* Older kernels slow down a filtered process unless told that it guards nothing from itself. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) ==
        0)
        return 0;
    if (errno == EINVAL && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0)
        return 0;
    return errno;
}

void seccomp_release_filter(struct seccomp_filter *filter)
{
    free(filter->steps);
    *filter = (struct seccomp_filter){.steps = NULL};
}
