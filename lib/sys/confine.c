#include "sys/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/caps.h"

#define DIGITS 12

/* A number as text, at the end of room; async-signal-safe, unlike snprintf. */
static const char *text_of(int number, char room[static DIGITS])
{
    unsigned rest = number < 0 ? 0U - (unsigned)number : (unsigned)number;
    char *at = &room[DIGITS - 1];

    *at = '\0';
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        *--at = '-';
    return at;
}

static int set_oom_score(int score)
{
    char room[DIGITS];
    const char *text = text_of(score, room);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    int errnum = fd < 0 || write(fd, text, strlen(text)) < 0 ? errno : 0;

    if (fd >= 0)
        close(fd);
    return errnum;
}

static int set_limit(const struct rlimit_value *limit)
{
    const struct rlimit wanted = {
        .rlim_cur = limit->soft == RLIMIT_UNLIMITED ? RLIM_INFINITY : limit->soft,
        .rlim_max = limit->hard == RLIMIT_UNLIMITED ? RLIM_INFINITY : limit->hard};

    return setrlimit((__rlimit_resource_t)limit->resource, &wanted) < 0 ? errno : 0;
}

void confine_child_limits(const struct confine *confine, confine_tell *tell, void *context)
{
    const struct security *security = confine->security;
    int errnum;

    if (security->umask_stated)
        umask(security->umask);
    for (int i = 0; i < security->limit_count; i++) {
        errnum = set_limit(&security->limits[i]);
        if (errnum)
            tell(context, STAGE_LIMIT, errnum);
    }
    if (security->oom_score_stated && (errnum = set_oom_score(security->oom_score_adj)) != 0)
        tell(context, STAGE_OOM_SCORE, errnum);
    if (security->nice_stated && setpriority(PRIO_PROCESS, 0, security->nice) < 0)
        tell(context, STAGE_NICE, errno);
}

/*
 * A pipe is its maker's: the rank could write to it, but not open /dev/stdout, as programs that log
 * to a file do. Container engines give theirs away in the same manner. Best effort.
 */
static void give_pipes(const struct security_user *user)
{
    for (int fd = 0; fd < 3; fd++) {
        struct stat status;

        if (fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && fchown(fd, user->uid, user->gid))
            continue;
    }
}

/* The raw calls: glibc's would want to tell other threads, of which there are none. */
static int set_user(const struct security_user *user)
{
    if (!user->change)
        return 0;
    give_pipes(user);
    if (syscall(SYS_setgroups, user->group_count, user->groups) < 0 ||
        syscall(SYS_setresgid, user->gid, user->gid, user->gid) < 0 ||
        syscall(SYS_setresuid, user->uid, user->uid, user->uid) < 0)
        return errno;
    return 0;
}

void confine_child_user(const struct confine *confine, confine_tell *tell, void *context)
{
    const struct security *security = confine->security;
    int errnum = caps_child_before(security);

    if (errnum)
        tell(context, STAGE_CAPABILITIES, errnum);
    errnum = set_user(&security->user);
    if (errnum)
        tell(context, STAGE_USER, errnum);
    errnum = caps_child_after(security);
    if (errnum)
        tell(context, STAGE_CAPABILITIES, errnum);
    if (security->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        tell(context, STAGE_NO_NEW_PRIVS, errno);
}
