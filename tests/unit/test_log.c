#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "tap.h"

struct lines {
    size_t count;
    size_t len;
    char last[2 * LOG_LINE_MAX];
};

static void keep(void *context, const char *line, size_t len)
{
    struct lines *lines = context;

    lines->count++;
    lines->len = len;
    memcpy(lines->last, line, len);
    lines->last[len] = '\0';
    errno = EIO;
}

TEST(prefixes)
{
    struct lines lines = {.count = 0};

    log_set_sink(keep, &lines);
    log_set_level(LOG_DEBUG);
    log_error("rank %d failed", 3);
    tap_eq_str(lines.last, "rankinit: rank 3 failed\n");
    log_notice("no swap");
    tap_eq_str(lines.last, "rankinit: notice: no swap\n");
    log_info("started");
    tap_eq_str(lines.last, "rankinit: started\n");
    log_debug("%s", "");
    tap_eq_str(lines.last, "rankinit: \n");
    tap_eq_uint(lines.count, 4);
    log_set_level(LOG_NOTICE);
    log_set_sink(NULL, NULL);
}

TEST(several_notices)
{
    struct lines lines = {.count = 0};
    struct strvec texts = STRVEC_INIT;

    strvec_push(&texts, "one");
    strvec_push(&texts, "100%");
    log_set_sink(keep, &lines);
    log_notices(&texts);
    tap_eq_uint(lines.count, 2);
    tap_eq_str(lines.last, "rankinit: notice: 100%\n");
    log_set_sink(NULL, NULL);
    strvec_release(&texts);
}

TEST(levels)
{
    struct lines lines = {.count = 0};

    log_set_sink(keep, &lines);
    for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
        lines.count = 0;
        log_set_level((enum log_level)level);
        log_error("e");
        log_notice("n");
        log_info("i");
        log_debug("d");
        tap_eq_uint(lines.count, (size_t)level + 1);
    }
    log_set_level(LOG_NOTICE);
    log_set_sink(NULL, NULL);
}

TEST(starts_with_notices)
{
    struct lines lines = {.count = 0};

    log_set_sink(keep, &lines);
    log_info("i");
    log_notice("n");
    tap_eq_uint(lines.count, 1);
    log_set_sink(NULL, NULL);
}

TEST(keeps_errno)
{
    struct lines lines = {.count = 0};

    log_set_sink(keep, &lines);
    errno = EXDEV;
    log_error("x");
    tap_eq_int(errno, EXDEV);
    log_set_sink(NULL, NULL);
}

TEST(cannot_drive_a_terminal)
{
    struct lines lines = {.count = 0};

    log_set_sink(keep, &lines);
    log_error("name %s", "a\033]0;x\007\r\nrankinit: forged \xFF gr\xC3\xBCn");
    tap_eq_str(lines.last, "rankinit: name a?]0;x???rankinit: forged ? gr\xC3\xBCn\n");
    log_set_sink(NULL, NULL);
}

TEST(long_lines_are_cut)
{
    struct lines lines = {.count = 0};
    char text[3 * LOG_LINE_MAX];

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    log_set_sink(keep, &lines);
    log_error("%s", text);
    tap_eq_uint(lines.len, LOG_LINE_MAX);
    tap_eq_int(lines.last[LOG_LINE_MAX - 1], '\n');
    tap_eq_int(lines.last[LOG_LINE_MAX - 2], 'x');
    /* One byte longer than what fits, and exactly what fits. */
    text[LOG_LINE_MAX - sizeof("rankinit: ")] = '\0';
    log_error("%s", text);
    tap_eq_uint(lines.len, LOG_LINE_MAX);
    text[LOG_LINE_MAX - sizeof("rankinit: ") - 1] = '\0';
    log_error("%s", text);
    tap_eq_uint(lines.len, LOG_LINE_MAX - 1);
    log_set_sink(NULL, NULL);
}

TEST(goes_to_descriptor_2)
{
    char said[64] = "";
    int pipefd[2];
    int saved = dup(2);

    if (!tap_eq_int(pipe(pipefd), 0))
        return;
    dup2(pipefd[1], 2);
    log_error("hello");
    log_info("hidden");
    dup2(saved, 2);
    close(saved);
    close(pipefd[1]);
    tap_eq_int(read(pipefd[0], said, sizeof(said) - 1), 16);
    tap_eq_str(said, "rankinit: hello\n");
    close(pipefd[0]);
}

TEST(a_closed_descriptor_2_is_no_crash)
{
    int saved = dup(2);

    close(2);
    errno = 0;
    log_error("nobody listens");
    tap_eq_int(errno, 0);
    dup2(saved, 2);
    close(saved);
}

TAP_MAIN()
