#include "model/waiting.h"

#include <errno.h>
#include <string.h>

#include "model/sentence.h"

#define PAUSE_FIRST_NS 100000000LL
#define PAUSE_MAX_NS   5000000000LL
#define JITTER_PERCENT 20

int64_t waiting_pause(int tries, unsigned dice)
{
    int64_t pause = PAUSE_FIRST_NS;
    int percent = 100 - JITTER_PERCENT + (int)(dice % (2 * JITTER_PERCENT + 1));

    for (int i = 1; i < tries && pause < PAUSE_MAX_NS; i++)
        pause += pause / 2;
    if (pause > PAUSE_MAX_NS)
        pause = PAUSE_MAX_NS;
    return pause * percent / 100;
}

enum waiting_cause waiting_of_errno(int errnum)
{
    switch (errnum) {
    case ECONNREFUSED: return WAITING_REFUSED;
    case ETIMEDOUT: return WAITING_SILENT;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case EACCES:
    case EPERM: return WAITING_UNREACHABLE;
    default: return WAITING_OTHER;
    }
}

const char *waiting_word(enum waiting_cause cause)
{
    static const char *const words[WAITING__CAUSES] = {
        [WAITING_UNKNOWN] = "no answer yet",
        [WAITING_NO_NAME] = "no such name",
        [WAITING_NO_SERVER] = "no name server answers",
        [WAITING_SERVER] = "the name server failed",
        [WAITING_REFUSED] = "connection refused",
        [WAITING_SILENT] = "connection timed out",
        [WAITING_UNREACHABLE] = "host or network unreachable",
        [WAITING_OTHER] = "no connection",
    };

    return words[cause];
}

/* True if one of the modules of a hosts: line is none that c-ares does the same as. */
static bool has_other_module(const char *line, size_t len)
{
    static const char *const same[] = {"files", "dns", "myhostname"};

    for (size_t at = 0; at < len;) {
        size_t blank = strspn(line + at, " \t\r");
        size_t size = strcspn(line + at + blank, " \t\r\n[");
        bool known = size == 0;

        at += blank;
        for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
            known |= size == strlen(same[i]) && strncmp(line + at, same[i], size) == 0;
        if (at < len && !known && line[at] != '#')
            return true;
        if (at >= len || line[at] == '#')
            return false;
        at += size;
        if (line[at] == '[') /* "[NOTFOUND=return]" */
            at += strcspn(line + at, "]\n") + (line[at + strcspn(line + at, "]\n")] == ']');
    }
    return false;
}

bool waiting_knows_other_modules(const char *nsswitch)
{
    static const char database[] = "hosts:";

    while (*nsswitch) {
        size_t len = strcspn(nsswitch, "\n");
        size_t blank = strspn(nsswitch, " \t");

        if (strncmp(nsswitch + blank, database, sizeof(database) - 1) == 0)
            return has_other_module(nsswitch + blank + sizeof(database) - 1,
                                    len - blank - (sizeof(database) - 1));
        nsswitch += len + (nsswitch[len] == '\n');
    }
    return false;
}

static void add_master(const struct plan *plan, struct buf *out)
{
    const char *name = plan->job.master_addr;

    buf_adds(out, "the master ");
    buf_add_plain(out, name, strlen(name));
    if (plan->wait.tcp)
        buf_addf(out, ", port %d", plan->job.master_port);
}

void waiting_sentence(const struct plan *plan, enum waiting_cause cause, struct buf *out)
{
    buf_adds(out, "waiting for ");
    add_master(plan, out);
    buf_addf(out, ": %s", waiting_word(cause));
}

int waiting_give_up(const struct plan *plan, enum waiting_cause cause, struct buf *ret_notice,
                    struct err *err)
{
    bool sure = cause != WAITING_UNKNOWN && cause != WAITING_NO_SERVER && cause != WAITING_SERVER;
    char room[ERR_MESSAGE_MAX];
    struct buf text = BUF_OVER(room);
    struct buf *out = sure ? &text : ret_notice;

    add_master(plan, out);
    buf_adds(out, sure ? " cannot be reached: " : " could not be looked up: ");
    buf_addf(out, "%s, after ", waiting_word(cause));
    sentence_seconds(plan->wait.length_ns, out);
    buf_adds(out, " (--wait-master)");
    if (sure)
        return err_set(err, ERR_MASTER, "%s", room);
    buf_adds(out, "; the ranks are started all the same, they may have other ways to find it");
    return 0;
}
