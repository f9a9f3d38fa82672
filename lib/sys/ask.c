#include "sys/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/scan.h"
#include "report/status.h"
#include "sys/file.h"
#include "sys/install.h"
#include "sys/numbered.h"
#include "sys/source.h"
#include "sys/status.h"

#define TRIES      1000 /* to read a page that is not being written */
#define ASKED_MAX  64   /* rankinits that are looked at */
#define LINK_START "/memfd:" STATUS_MEMFD

/* The running rankinit that was found, and its page. */
struct found {
    pid_t pid, parent;
    struct status_page *page;
};

struct search {
    struct stat self; /* our own file */
    pid_t wanted;     /* 0: any */
    int denied;       /* a process that may be it but must not be looked at; 0: none */
    int count;
    struct found list[ASKED_MAX];
};

/* What the kernel says of a process: state, parent, CPU time, resident memory. */
struct process {
    char state;
    pid_t parent;
    uint64_t ticks;
    int64_t rss_bytes;
};

/* Number N of proc(5) stat counted from the state, which is 0, in the text after the name. */
static uint64_t number_at(const char *text, int index)
{
    for (; index > 0 && *text != '\0'; index--) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    return strtoull(text, NULL, 10);
}

static bool read_process(pid_t pid, struct process *ret)
{
    char path[32], text[1024];
    const char *close;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (file_peek(AT_FDCWD, path, true, text, sizeof(text)) <= 0)
        return false;
    /* The name is the process's own choice: it may hold blanks and parentheses. */
    close = strrchr(text, ')');
    if (!close || strncmp(close, ") ", 2) != 0)
        return false;
    ret->state = close[2];
    ret->parent = (pid_t)number_at(close + 2, 1);
    ret->ticks = number_at(close + 2, 11) + number_at(close + 2, 12);
    ret->rss_bytes = (int64_t)number_at(close + 2, 21) * sysconf(_SC_PAGESIZE);
    return true;
}

/* Reads a page that is not being written: between two equal even numbers. */
static bool read_whole(int fd, struct status_page *page, size_t size)
{
    const off_t at = offsetof(struct status_page, sequence);
    uint32_t before, after;

    for (int i = 0; i < TRIES; i++) {
        if (pread(fd, &before, sizeof(before), at) != (ssize_t)sizeof(before) ||
            pread(fd, page, size, 0) != (ssize_t)size ||
            pread(fd, &after, sizeof(after), at) != (ssize_t)sizeof(after))
            return false;
        if (before == after && before % 2 == 0)
            return status_check(page, size);
        sched_yield();
    }
    return false;
}

/* The page behind a descriptor, freshly allocated; NULL if there is none. */
static struct status_page *read_page(int fd)
{
    struct status_page *page;
    struct stat info;

    /* Sealed, it cannot be cut while we read; only a memfd has seals at all. */
    if (fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &info) < 0 || info.st_size <= 0 ||
        (size_t)info.st_size > status_size(PLAN_RANKS_MAX))
        return NULL;
    page = malloc((size_t)info.st_size);
    if (page && read_whole(fd, page, (size_t)info.st_size))
        return page;
    free(page);
    return NULL;
}

static void look_at_descriptor(void *context, int dir_fd, int number)
{
    struct found *found = context;
    char name[16], target[64];
    CLEANUP_FD int fd = -1;
    ssize_t len;

    snprintf(name, sizeof(name), "%d", number);
    len = readlinkat(dir_fd, name, target, sizeof(target) - 1);
    if (len < (ssize_t)strlen(LINK_START) || memcmp(target, LINK_START, strlen(LINK_START)) != 0 ||
        found->page)
        return;
    fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        found->page = read_page(fd);
    /* A fork of it that has not reached its program yet, or one of an inner PID namespace. */
    if (found->page && found->page->pid != found->pid) {
        free(found->page);
        found->page = NULL;
    }
}

static void look_at_process(void *context, int proc_fd, int pid)
{
    struct search *search = context;
    struct found found = {.pid = pid};
    struct process process;
    struct stat info;
    char path[32];
    CLEANUP_FD int dir = -1;

    if (pid == getpid() || search->count == ASKED_MAX || (search->wanted && pid != search->wanted))
        return;
    snprintf(path, sizeof(path), "%d/exe", pid);
    if (fstatat(proc_fd, path, &info, 0) < 0) {
        if (errno == EACCES && (pid == 1 || search->wanted))
            search->denied = pid;
        return;
    }
    if (info.st_dev != search->self.st_dev || info.st_ino != search->self.st_ino)
        return;
    snprintf(path, sizeof(path), "%d/fd", pid);
    dir = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        search->denied = pid;
    else
        numbered_each(dir, look_at_descriptor, &found);
    if (!found.page)
        return;
    found.parent = read_process(pid, &process) ? process.parent : 0;
    search->list[search->count++] = found;
}

/* True if it is somewhere below another one that was found. */
static bool is_inner(const struct search *search, const struct found *found)
{
    struct process process = {.parent = found->parent};

    for (int depth = 0; depth < ASKED_MAX && process.parent > 0; depth++) {
        for (int i = 0; i < search->count; i++) {
            if (search->list[i].pid == process.parent)
                return true;
        }
        if (!read_process(process.parent, &process))
            return false;
    }
    return false;
}

/* PID 1, else the only outermost one; NULL with a line in *why. */
static const struct found *choose(const struct search *search, struct buf *why)
{
    const struct found *chosen = NULL;
    int outer = 0;

    for (int i = 0; i < search->count; i++) {
        if (search->list[i].pid == 1)
            return &search->list[i];
        if (!is_inner(search, &search->list[i])) {
            chosen = &search->list[i];
            buf_addf(why, "%s%d",
                     outer++ ? ", " : "several run here; give the pid of one: ", chosen->pid);
        }
    }
    if (outer == 1)
        return chosen;
    if (outer == 0 && search->denied)
        buf_addf(why, "none found; pid %d may not be looked at: ask as its user", search->denied);
    else if (outer == 0 && search->wanted)
        buf_addf(why, "pid %d is no running rankinit of this program file", search->wanted);
    else if (outer == 0)
        buf_addf(why, "no rankinit of this program file runs here");
    return NULL;
}

static void search_release(const struct search *search)
{
    for (int i = 0; i < search->count; i++)
        free(search->list[i].page);
}

static void find(struct search *search)
{
    CLEANUP_FD int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (proc >= 0 && stat("/proc/self/exe", &search->self) == 0)
        numbered_each(proc, look_at_process, search);
}

static void measure(const struct status_page *page, struct status_usage *usage)
{
    int64_t per_tick = 1000000000LL / sysconf(_SC_CLK_TCK);
    int64_t now = source_clock() - page->start_ns;

    for (int i = 0; i < page->count; i++) {
        int64_t lived = now - page->ranks[i].started_ns;
        struct process process;

        if (page->ranks[i].state != RANK_ALIVE || lived <= 0 ||
            !read_process(page->ranks[i].pid, &process))
            continue;
        usage[i].known = true;
        usage[i].rss_bytes = process.rss_bytes;
        usage[i].cpu_percent = (int)((int64_t)process.ticks * per_tick * 100 / lived);
    }
}

static int print(const char *text, size_t len)
{
    return file_write_all(STDOUT_FILENO, text, len) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int print_probe(const struct status_view *view, int probe, const char *word)
{
    char line[256], words[160];
    struct buf out = BUF_OVER(line), why = BUF_OVER(words);
    bool holds = status_probe(view, (enum status_probe)probe, &why);

    buf_addf(&out, "%s%s: %s\n", holds ? "" : "not ", word, words);
    print(out.data, out.len);
    return holds ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Writes the document into text; its length, 0 if it does not fit in memory. */
static size_t write_json(const struct status_view *view, struct json_arena *arena, char *text)
{
    struct json *document = status_json(view, arena);
    size_t len = document ? json_write(document, text, status_text_size(view->page->count) - 1) : 0;

    if (len > 0)
        text[len++] = '\n';
    return len;
}

static int print_status(const struct status_view *view, bool as_json)
{
    size_t arena_size = status_arena_size(view->page->count);
    size_t text_size = status_text_size(view->page->count), len;
    char *memory = malloc(arena_size + text_size);
    char *text = memory + arena_size;
    struct json_arena arena;
    struct buf out;
    int code;

    if (!memory)
        return EXIT_FAILURE;
    if (as_json) {
        json_setup(&arena, memory, arena_size, 0);
        len = write_json(view, &arena, text);
        json_end();
    } else {
        buf_init(&out, text, text_size);
        status_text(view, &out);
        len = out.len;
    }
    code = len > 0 ? print(text, len) : EXIT_FAILURE;
    free(memory);
    return code;
}

static int answer_from(const struct settings *settings, const struct found *found,
                       struct status_usage *usage)
{
    const char *probe = settings_text(settings, OPT_PROBE);
    struct status_view view = {.page = found->page, .usage = usage};
    struct process process;

    measure(found->page, usage);
    view.now_ns = source_clock() - found->page->start_ns;
    view.process_state = read_process(found->pid, &process) ? process.state : 'X';
    if (probe)
        return print_probe(&view, settings_word(settings, OPT_PROBE), probe);
    return print_status(&view, strcmp(settings_text(settings, OPT_STATUS), "json") == 0);
}

static int answer(const struct settings *settings, const struct found *found)
{
    struct status_usage *usage = calloc((size_t)found->page->count, sizeof(*usage));
    int code = usage ? answer_from(settings, found, usage) : EXIT_FAILURE;

    free(usage);
    return code;
}

/* The pid that may follow; 0: none. */
static int read_pid(const char *const *words, pid_t *ret, struct err *err)
{
    long pid = 0;

    if (words[0] && (words[1] || !scan_int(words[0], 1, INT32_MAX, &pid)))
        return err_set(err, ERR_USAGE,
                       "nothing but a pid may follow --status and --probe, not %.80s", words[0]);
    *ret = (pid_t)pid;
    return 0;
}

int ask_answer(const struct settings *settings, const char *const *words, struct err *err)
{
    CLEANUP(search_release) struct search search = {.count = 0};
    const char *path = settings_text(settings, OPT_INSTALL);
    const char *probe = settings_text(settings, OPT_PROBE);
    const char *status = settings_text(settings, OPT_STATUS);
    const struct found *found;
    char room[256];
    struct buf why = BUF_OVER(room);

    if (!!path + !!probe + !!status > 1)
        return err_set(err, ERR_USAGE, "only one of --status, --probe and --install can be asked");
    if (path && words[0])
        return err_set(err, ERR_USAGE, "--install runs nothing: what is %.80s for?", words[0]);
    if (path)
        return install_self(path, err);
    if (read_pid(words, &search.wanted, err) < 0)
        return -1;
    find(&search);
    found = choose(&search, &why);
    if (found)
        return answer(settings, found);
    log_error("%s: %s", probe ? probe : "status", room);
    return EXIT_FAILURE;
}
