#include "sys/users.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/scan.h"

#define NAME_SHOWN 80
#define ID_MAX     4294967294L /* the last one means "unchanged" to the kernel */

static void close_stream(FILE **stream)
{
    if (*stream)
        fclose(*stream);
}

/* A file of accounts, which must be a plain one; NULL if there is none. */
static FILE *open_accounts(const char *sysroot, const char *path)
{
    char room[PATH_MAX];
    struct buf whole = BUF_OVER(room);
    struct stat status;

    buf_addf(&whole, "%s%s", sysroot, path);
    CLEANUP_FD int fd = whole.truncated ? -1 : open(room, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return NULL;
    FILE *stream = fdopen(fd, "r");
    if (stream)
        cleanup_take_fd(&fd);
    return stream;
}

/* The entry of a name, or, if that is NULL, of a number. */
static bool find_user(const char *sysroot, const char *name, struct facts_user *user)
{
    CLEANUP(close_stream) FILE *stream = open_accounts(sysroot, "/etc/passwd");
    struct passwd *entry;

    while (stream && (entry = fgetpwent(stream))) {
        struct buf entry_name = BUF_OVER(user->name), home = BUF_OVER(user->home);

        if (name ? strcmp(entry->pw_name, name) != 0 : entry->pw_uid != user->uid)
            continue;
        user->known = user->group_known = true;
        user->uid = entry->pw_uid;
        user->gid = entry->pw_gid;
        buf_adds(&entry_name, entry->pw_name);
        buf_adds(&home, entry->pw_dir);
        return true;
    }
    return false;
}

static bool find_group(const char *sysroot, const char *name, gid_t *ret)
{
    CLEANUP(close_stream) FILE *stream = open_accounts(sysroot, "/etc/group");
    const struct group *entry;

    while (stream && (entry = fgetgrent(stream))) {
        if (strcmp(entry->gr_name, name) != 0)
            continue;
        *ret = entry->gr_gid;
        return true;
    }
    return false;
}

static bool has_member(const struct group *entry, const char *name)
{
    for (char **member = entry->gr_mem; *member; member++) {
        if (strcmp(*member, name) == 0)
            return true;
    }
    return false;
}

static void find_groups(const char *sysroot, struct facts_user *user)
{
    CLEANUP(close_stream) FILE *stream = open_accounts(sysroot, "/etc/group");
    const struct group *entry;

    while (stream && user->group_count < FACTS_GROUPS_MAX && (entry = fgetgrent(stream))) {
        if (entry->gr_gid != user->gid && has_member(entry, user->name))
            user->groups[user->group_count++] = entry->gr_gid;
    }
}

static int no_such(const char *origin, const char *what, const char *name, struct err *err)
{
    return err_set(err, ERR_SPEC, "%s: no %s \"%.*s\" in /etc/%s: state its number", origin, what,
                   NAME_SHOWN, name, strcmp(what, "user") == 0 ? "passwd" : "group");
}

int users_find(const char *sysroot, const char *origin, const char *text, struct facts_user *ret,
               struct err *err)
{
    const char *colon = strchr(text, ':');
    size_t len = strcspn(text, ":");
    char name[sizeof(ret->name)] = "";
    long number;

    memset(ret, 0, sizeof(*ret));
    if (len == 0 || len >= sizeof(name) || (colon && (!colon[1] || strchr(colon + 1, ':'))))
        return err_set(err, ERR_SPEC, "%s: \"%.*s\" is not USER or USER:GROUP", origin, NAME_SHOWN,
                       text);
    memcpy(name, text, len);
    if (scan_int(name, 0, ID_MAX, &number)) {
        ret->uid = (uid_t)number;
        find_user(sysroot, NULL, ret);
        ret->uid = (uid_t)number;
    } else if (!find_user(sysroot, name, ret)) {
        return no_such(origin, "user", name, err);
    }
    if (!colon) {
        if (ret->known)
            find_groups(sysroot, ret);
        return 0;
    }
    ret->group_known = true;
    if (scan_int(colon + 1, 0, ID_MAX, &number))
        ret->gid = (gid_t)number;
    else if (!find_group(sysroot, colon + 1, &ret->gid))
        return no_such(origin, "group", colon + 1, err);
    return 0;
}
