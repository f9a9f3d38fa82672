#include "sys/deliver.h"

#include <signal.h>
#include <sys/wait.h>

#include "desk.h"

TEST(a_plan_without_documents)
{
    struct desk desk;
    struct plan plan;

    if (!desk_make(&desk))
        return;
    memset(&plan, 0, sizeof(plan));
    tap_eq_int(deliver_open(&desk.deliver, &plan, &desk.err), 0);
    tap_eq_int(desk.deliver.log_fd, -1);
    tap_eq_int(desk.deliver.summary_dir, -1);
    put(&desk, DOCUMENT);
    deliver_summary(&desk.deliver, DOCUMENT, strlen(DOCUMENT));
    tap_eq_str(foreign_of(&desk), "");
    tap_eq_str(said.text, "");
    desk_clear(&desk);
}

TEST(writes_in_place)
{
    struct desk desk;
    struct stat before, after;
    char room[256];

    if (!desk_make(&desk))
        return;
    tree_write(&desk.tree, "/log", "");
    chmod(desk.log, 0666);
    stat(desk.log, &before);
    tap_eq_int(desk_open(&desk), 0);
    put(&desk, DOCUMENT "long");
    tap_eq_str(tree_read(&desk.tree, "/log", room, sizeof(room)), DOCUMENT "long");
    put(&desk, DOCUMENT);
    tap_eq_str(tree_read(&desk.tree, "/log", room, sizeof(room)), DOCUMENT);
    stat(desk.log, &after);
    tap_eq_uint(before.st_ino, after.st_ino);
    tap_eq_uint(after.st_mode & 07777, 0666);
    tap_eq_str(foreign_of(&desk), "");
    tap_eq_str(said.text, "");
    tap_ok(fcntl(desk.deliver.log_fd, F_GETFD) & FD_CLOEXEC);
    desk_clear(&desk);
}

TEST(a_missing_log_is_made_only_when_stated)
{
    struct desk desk;

    if (!desk_make(&desk))
        return;
    tap_eq_int(desk_open(&desk), 0);
    tap_eq_int(desk.deliver.log_fd, -1);
    tap_eq_int(access(desk.log, F_OK), -1);
    tap_eq_str(said.text, "");
    desk.plan.report.termination_log_stated = true;
    tap_eq_int(desk_open(&desk), 0);
    tap_ok(desk.deliver.log_fd >= 0);
    tap_eq_int(access(desk.log, F_OK), 0);
    tap_eq_str(said.text, "");
    desk_clear(&desk);
}

TEST(a_missing_folder_is_a_notice_when_stated)
{
    struct desk desk;

    if (!desk_make(&desk))
        return;
    desk.plan.report.termination_log = "/nonexistent/log";
    tap_eq_int(desk_open(&desk), 0);
    tap_eq_str(said.text, "");
    desk.plan.report.termination_log_stated = true;
    tap_eq_int(desk_open(&desk), 0);
    tap_has_str(said.text, "notice: termination log /nonexistent/log cannot be used: No such file");
    desk_clear(&desk);
}

TEST(only_a_regular_file_will_do)
{
    struct desk desk;

    if (!desk_make(&desk))
        return;
    mkdir(desk.log, 0755);
    tap_eq_int(desk_open(&desk), 0);
    tap_eq_int(desk.deliver.log_fd, -1);
    tap_has_str(said.text, "Is a directory");
    rmdir(desk.log);
    listen_to_log(LOG_NOTICE);
    mkfifo(desk.log, 0666);
    tap_eq_int(desk_open(&desk), 0);
    tap_eq_int(desk.deliver.log_fd, -1);
    tap_has_str(said.text, "is not a regular file");
    unlink(desk.log);
    listen_to_log(LOG_NOTICE);
    tree_write(&desk.tree, "/target", "");
    tap_eq_int(symlink("target", desk.log), 0);
    tap_eq_int(desk_open(&desk), 0);
    tap_eq_int(desk.deliver.log_fd, -1);
    tap_has_str(said.text, "is a symbolic link");
    desk_clear(&desk);
}

TEST(a_read_only_log_is_a_notice)
{
    struct desk desk;

    if (!desk_make(&desk))
        return;
    tree_write(&desk.tree, "/log", "");
    chmod(desk.log, 0400);
    tap_eq_int(desk_open(&desk), 0);
    if (getuid() != 0) {
        tap_eq_int(desk.deliver.log_fd, -1);
        tap_has_str(said.text, "Permission denied");
    }
    desk_clear(&desk);
}

/* Opens the log in another process, as a nested run does; true if it may write. */
static bool nested_opens(struct desk *desk)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        struct deliver nested;
        int result = deliver_open(&nested, &desk->plan, &desk->err);

        _exit(result < 0 ? 2 : nested.log_fd >= 0);
    }
    waitpid(child, &status, 0);
    tap_ok(WIFEXITED(status) && WEXITSTATUS(status) != 2);
    return status != 0;
}

TEST(a_nested_run_leaves_it_alone)
{
    struct desk desk;
    struct deliver second;

    if (!desk_make(&desk))
        return;
    tree_write(&desk.tree, "/log", "");
    tap_eq_int(desk_open(&desk), 0);
    tap_ok(!nested_opens(&desk));
    listen_to_log(LOG_INFO);
    tap_eq_int(deliver_open(&second, &desk.plan, &desk.err), 0);
    tap_eq_int(second.log_fd, -1);
    tap_has_str(said.text, "belongs to another rankinit");
    deliver_close(&desk.deliver);
    tap_ok(nested_opens(&desk));
    desk_clear(&desk);
}

TEST(somebody_elses_words)
{
    struct desk desk;
    char room[256];

    if (!desk_make(&desk))
        return;
    tree_write(&desk.tree, "/log", "written by an entrypoint\x1b[1m\n");
    tap_eq_int(desk_open(&desk), 0);
    tap_eq_str(foreign_of(&desk), "written by an entrypoint?[1m");
    put(&desk, DOCUMENT);
    tap_eq_str(foreign_of(&desk), "");
    /* Replaced, then appended to, then emptied. */
    tree_write(&desk.tree, "/log", "CUDA out of memory\n");
    tap_eq_str(foreign_of(&desk), "CUDA out of memory");
    tree_write(&desk.tree, "/log", DOCUMENT "\nappended");
    tap_eq_str(foreign_of(&desk), "appended");
    tree_write(&desk.tree, "/log", "");
    tap_eq_str(foreign_of(&desk), "");
    tree_write(&desk.tree, "/log", " \n");
    tap_eq_str(foreign_of(&desk), "");
    put(&desk, DOCUMENT);
    tap_eq_str(tree_read(&desk.tree, "/log", room, sizeof(room)), DOCUMENT);
    tap_eq_str(foreign_of(&desk), "");
    desk_clear(&desk);
}

TEST(words_behind_a_hole)
{
    struct desk desk;
    int fd;

    if (!desk_make(&desk))
        return;
    tree_write(&desk.tree, "/log", "");
    tap_eq_int(desk_open(&desk), 0);
    put(&desk, DOCUMENT);
    fd = open(desk.log, O_WRONLY | O_CLOEXEC);
    tap_eq_int(pwrite(fd, "late", 4, 200), 4);
    close(fd);
    tap_eq_str(foreign_of(&desk), "late");
    desk_clear(&desk);
}

TEST(a_stale_document_of_ours_is_nobodys)
{
    struct desk desk;

    if (!desk_make(&desk))
        return;
    tree_write(&desk.tree, "/log", "{\"schema\":\"rankinit.summary.v1\",\"verdict\":\"failed\"}");
    tap_eq_int(desk_open(&desk), 0);
    tap_eq_str(foreign_of(&desk), "");
    put(&desk, DOCUMENT);
    tree_write(&desk.tree, "/log", "{\"schema\":\"other\"}");
    tap_eq_str(foreign_of(&desk), "{\"schema\":\"other\"}");
    desk_clear(&desk);
}

TEST(too_long_for_the_log)
{
    struct desk desk;
    char room[256], text[DELIVER_LOG_MAX + 2];

    if (!desk_make(&desk))
        return;
    memset(text, 'x', sizeof(text));
    tree_write(&desk.tree, "/log", "");
    tap_eq_int(desk_open(&desk), 0);
    put(&desk, DOCUMENT);
    deliver_log(&desk.deliver, text, DELIVER_LOG_MAX + 1);
    tap_has_str(said.text, "too large");
    tap_eq_str(tree_read(&desk.tree, "/log", room, sizeof(room)), DOCUMENT);
    deliver_log(&desk.deliver, text, DELIVER_LOG_MAX);
    tap_eq_str(foreign_of(&desk), "");
    put(&desk, DOCUMENT);
    tap_eq_str(tree_read(&desk.tree, "/log", room, sizeof(room)), DOCUMENT);
    desk_clear(&desk);
}

TEST(a_log_that_cannot_be_written_is_a_notice)
{
    struct desk desk;
    struct rlimit limit;

    if (!desk_make(&desk))
        return;
    tree_write(&desk.tree, "/log", "");
    tap_eq_int(desk_open(&desk), 0);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit_files(10);
    put(&desk, DOCUMENT);
    setrlimit(RLIMIT_FSIZE, &limit);
    tap_has_str(said.text, "cannot write the termination log: File too large");
    tap_eq_str(foreign_of(&desk), ""); /* the part that was written is ours */
    desk_clear(&desk);
}

TEST(ranks_do_not_inherit_the_lock)
{
    struct desk desk;
    struct deliver again;
    int stay[2];
    pid_t child;
    char started;

    if (!desk_make(&desk) || !tap_eq_int(pipe(stay), 0))
        return;
    tree_write(&desk.tree, "/log", "");
    tap_eq_int(desk_open(&desk), 0);
    child = fork();
    if (child == 0) {
        dup2(stay[1], 1);
        execl("/bin/sh", "sh", "-c", "echo; read x", (char *)NULL);
        _exit(127);
    }
    tap_eq_int(read(stay[0], &started, 1), 1);
    deliver_close(&desk.deliver);
    tap_eq_int(deliver_open(&again, &desk.plan, &desk.err), 0);
    tap_ok(again.log_fd >= 0);
    deliver_close(&again);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(stay[0]);
    close(stay[1]);
    desk_clear(&desk);
}

TAP_MAIN()
