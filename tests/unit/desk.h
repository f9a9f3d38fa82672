/*
 * desk.h - a place to deliver to: a tree, a plan that names files in it, and our own messages.
 *
 * Layer: tests only. Recipe:
 *
 *     struct desk desk;
 *     if (!desk_make(&desk))
 *         return;
 *     tap_eq_int(desk_open(&desk), 0);
 *     tap_eq_str(said.text, "");
 *     desk_clear(&desk);
 */
#ifndef TESTS_UNIT_DESK_H
#define TESTS_UNIT_DESK_H

#include <signal.h>
#include <sys/resource.h>

#include "base/log.h"
#include "sys/deliver.h"
#include "tree.h"

#define DOCUMENT "{\"schema\":\"rankinit.summary.v1\",\"verdict\":\"running\"}"

/* Our own messages of a test, to see which were said. */
static struct {
    char text[4096];
    size_t len;
} said;

static void keep(void *context, const char *line, size_t len)
{
    (void)context;
    if (said.len + len < sizeof(said.text)) {
        memcpy(said.text + said.len, line, len);
        said.len += len;
        said.text[said.len] = '\0';
    }
}

TAP_UNUSED static void listen_to_log(enum log_level level)
{
    said.len = 0;
    said.text[0] = '\0';
    log_set_level(level);
    log_set_sink(keep, NULL);
}

struct desk {
    struct tree tree;
    struct plan plan;
    struct deliver deliver;
    struct err err;
    char log[128], summary[128];
};

/* A tree and a plan that names /log in it as termination log. */
TAP_UNUSED static bool desk_make(struct desk *desk)
{
    memset(desk, 0, sizeof(*desk));
    listen_to_log(LOG_NOTICE);
    if (!tap_ok(tree_make(&desk->tree)))
        return false;
    snprintf(desk->log, sizeof(desk->log), "%s/log", desk->tree.root);
    desk->plan.report.termination_log = desk->log;
    return true;
}

TAP_UNUSED static void desk_clear(struct desk *desk)
{
    log_set_sink(NULL, NULL);
    deliver_close(&desk->deliver);
    tree_remove(&desk->tree);
}

TAP_UNUSED static int desk_open(struct desk *desk)
{
    return deliver_open(&desk->deliver, &desk->plan, &desk->err);
}

TAP_UNUSED static const char *foreign_of(const struct desk *desk)
{
    static char room[64];
    struct buf foreign = BUF_OVER(room);

    buf_adds(&foreign, "stale");
    deliver_foreign(&desk->deliver, &foreign);
    return room;
}

TAP_UNUSED static void put(struct desk *desk, const char *text)
{
    deliver_log(&desk->deliver, text, strlen(text));
}

/* A full disk as far as a process can have it: a limit on the size of its files. */
TAP_UNUSED static void limit_files(rlim_t size)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = size;
    setrlimit(RLIMIT_FSIZE, &limit);
}

#endif
