#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/console.h"
#include "tap.h"

static ssize_t put(struct console *console, const char *text)
{
    return console_write(console, text, strlen(text));
}

static const char *get(int fd)
{
    static char room[65536];
    ssize_t len = read(fd, room, sizeof(room) - 1);

    room[len < 0 ? 0 : len] = '\0';
    return room;
}

static void make_pipe(int ends[2])
{
    tap_ok(pipe2(ends, O_CLOEXEC) == 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

/* Writes until it would block; the bytes. */
static size_t fill(struct console *console)
{
    static char zeros[30000];
    size_t sum = 0;
    ssize_t taken;

    while ((taken = console_write(console, zeros, sizeof(zeros))) > 0 && sum < (8 << 20))
        sum += (size_t)taken;
    tap_eq_int(taken, 0);
    return sum;
}

TEST(pipe_keeps_its_nature)
{
    struct console console;
    int ends[2];

    make_pipe(ends);
    console_open(&console, ends[1]);
    tap_eq_int(console.kind, CONSOLE_OWN_OPEN);
    tap_ok(console.source.fd != ends[1]);
    tap_ok(!console.terminal);
    tap_ok(!(fcntl(ends[1], F_GETFL) & O_NONBLOCK));
    tap_ok(fcntl(console.source.fd, F_GETFD) & FD_CLOEXEC);
    tap_eq_int(put(&console, "hello"), 5);
    tap_eq_str(get(ends[0]), "hello");
    tap_ok(fill(&console) >= 60000);
    tap_ok(!console_wait(&console, 0));
    while (*get(ends[0]) || read(ends[0], &(char){0}, 1) > 0)
        ;
    tap_ok(console_wait(&console, 0));
    close(ends[0]);
    tap_eq_int(put(&console, "x"), -1);
    tap_ok(console.gone);
    tap_eq_int(put(&console, "dropped"), 7);
    console_close(&console);
    tap_ok(fcntl(ends[1], F_GETFD) >= 0);
    close(ends[1]);
}

/* Where it cannot be reopened: at most PIPE_BUF at a time, and only if there is room for that. */
TEST(polled_pipe)
{
    struct console console;
    int ends[2];
    size_t filled;

    make_pipe(ends);
    console_open(&console, ends[1]);
    console_close(&console);
    console.kind = CONSOLE_POLLED;
    console.source.fd = ends[1];
    filled = fill(&console);
    tap_ok(filled >= 60000 && filled % PIPE_BUF == 0);
    tap_ok(!console_wait(&console, 0));
    close(ends[0]);
    tap_eq_int(put(&console, "x"), -1);
    console_close(&console);
    tap_eq_int(close(ends[1]), 0);
}

TEST(sockets)
{
    struct console console;
    int ends[2];

    tap_ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    console_open(&console, ends[1]);
    tap_eq_int(console.kind, CONSOLE_SOCKET);
    tap_eq_int(put(&console, "hello"), 5);
    tap_eq_str(get(ends[0]), "hello");
    tap_ok(fill(&console) > 0);
    tap_ok(!(fcntl(ends[1], F_GETFL) & O_NONBLOCK));
    close(ends[0]);
    tap_eq_int(put(&console, "x"), -1);
    console_close(&console);
    tap_eq_int(close(ends[1]), 0);
}

/* Siblings write to the same file: the place in it is shared. */
TEST(files)
{
    struct console console, other;
    char path[] = "/tmp/test_console.XXXXXX";
    int fd = mkstemp(path);
    int again = open(path, O_WRONLY | O_CLOEXEC);

    console_open(&console, fd);
    tap_eq_int(console.kind, CONSOLE_FILE);
    tap_eq_int(write(fd, "one ", 4), 4);
    tap_eq_int(put(&console, "two "), 4);
    tap_eq_int(write(fd, "three", 5), 5);
    lseek(fd, 0, SEEK_SET);
    tap_eq_str(get(fd), "one two three");
    tap_ok(console_wait(&console, 0));
    console_open(&other, again);
    tap_ok(console_same(&console, &other));
    console_open(&other, STDIN_FILENO);
    tap_ok(!console_same(&console, &other));
    console_close(&console);
    close(fd);
    close(again);
    unlink(path);
}

TEST(full_disk_holds_nobody_up)
{
    struct console console;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    console_open(&console, fd);
    tap_eq_int(put(&console, "lost"), 4);
    tap_eq_int(console.failed, ENOSPC);
    tap_ok(!console.gone);
    console_close(&console);
    close(fd);
}

TEST(closed_takes_everything)
{
    struct console console, other;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    close(fd);
    console_open(&console, fd);
    tap_eq_int(console.kind, CONSOLE_CLOSED);
    tap_eq_int(put(&console, "dropped"), 7);
    console_say(&console, "dropped\n", 8);
    tap_eq_uint(console.own_len, 0);
    tap_ok(console_wait(&console, 0));
    console_open(&other, fd);
    tap_ok(!console_same(&console, &other));
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    console_open(&console, fd);
    tap_eq_int(console.kind, CONSOLE_CLOSED);
    close(fd);
    console_close(&console);
}

TEST(terminals)
{
    struct console console, other;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    int terminal;

    if (!tap_ok(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0))
        return;
    terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    fcntl(master, F_SETFL, O_NONBLOCK);
    console_open(&console, terminal);
    tap_eq_int(console.kind, CONSOLE_OWN_OPEN);
    tap_ok(console.terminal);
    tap_eq_int(put(&console, "hello"), 5);
    tap_eq_str(get(master), "hello");
    /* A master that is opened anew would be another terminal. */
    console_open(&other, master);
    tap_eq_int(other.kind, CONSOLE_POLLED);
    tap_ok(!console_same(&console, &other));
    tap_ok(fill(&console) > 0);
    close(master);
    tap_eq_int(put(&console, "x"), -1);
    tap_ok(console.gone);
    console_close(&console);
    console_close(&other);
    close(terminal);
}

/* Stopped with ^S, and without a description of our own. */
TEST(polled_terminal)
{
    struct console console;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    int terminal;

    if (!tap_ok(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0))
        return;
    terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    console_open(&console, terminal);
    console_close(&console);
    console.kind = CONSOLE_POLLED;
    console.source.fd = terminal;
    tap_ok(fill(&console) > 0);
    close(master);
    close(terminal);
}

TEST(own_lines)
{
    struct console console;
    char text[2000];
    int ends[2], owner = 0;

    make_pipe(ends);
    console_open(&console, ends[1]);
    console_say(&console, "one", 3);
    tap_eq_str(get(ends[0]), "one\n");
    console.line_owner = &owner;
    console_say(&console, "two\n", 4);
    tap_eq_str(get(ends[0]), "");
    tap_ok(!console_flush_own(&console));
    console.line_owner = NULL;
    tap_ok(console_flush_own(&console));
    tap_eq_str(get(ends[0]), "two\n");
    fill(&console);
    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 10; i++)
        console_say(&console, text, sizeof(text));
    tap_eq_uint(console.own_lost, 6);
    while (*get(ends[0]) || read(ends[0], &(char){0}, 1) > 0)
        ;
    tap_ok(console_flush_own(&console));
    tap_has_str(get(ends[0]), "xx\nrankinit: notice: 6 messages were lost: nobody read them\n");
    console_close(&console);
    close(ends[0]);
    close(ends[1]);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    return tap_run(argc, argv);
}
