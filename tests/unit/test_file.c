#include "sys/file.h"

#include <errno.h>

#include "tree.h"

TEST(read_takes_a_file_whole)
{
    struct tree tree;
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t len = 0;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/f", "12345");
    tap_eq_int(file_read(tree_path(&tree, "/f"), 5, &text, &len, &err), 0);
    tap_eq_str(text, "12345");
    tap_eq_uint(len, 5);
    free(text);
    text = NULL;
    tap_eq_int(file_read(tree_path(&tree, "/f"), 4, &text, &len, &err), -1);
    tap_eq_int(err.kind, ERR_SPEC);
    tap_has_str(err.message, "larger than 4 bytes");
    tap_ok(!text);
    tree_write(&tree, "/f", "");
    tap_eq_int(file_read(tree_path(&tree, "/f"), 4, &text, &len, &err), 0);
    tap_eq_str(text, "");
    free(text);
    tree_remove(&tree);
}

TEST(read_says_what_is_wrong)
{
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t len = 0;

    tap_eq_int(file_read("/nonexistent/spec", 10, &text, &len, &err), -1);
    tap_eq_int(err.kind, ERR_SPEC);
    tap_eq_str(err.message, "cannot open /nonexistent/spec: No such file or directory");
    tap_eq_int(file_read("/", 10, &text, &len, &err), -1);
    tap_eq_str(err.message, "cannot read /: Is a directory");
    tap_eq_int(file_read("/dev/zero", 10, &text, &len, &err), -1);
    tap_has_str(err.message, "larger than");
    tap_ok(!text);
}

TEST(read_takes_a_pipe)
{
    struct err err = ERR_INIT;
    char path[32], *text = NULL;
    size_t len = 0;
    int pipefd[2];

    if (!tap_eq_int(pipe2(pipefd, O_CLOEXEC), 0))
        return;
    tap_eq_int(write(pipefd[1], "a\0b", 3), 3);
    close(pipefd[1]);
    snprintf(path, sizeof(path), "/dev/fd/%d", pipefd[0]);
    tap_eq_int(file_read(path, 100, &text, &len, &err), 0);
    tap_eq_uint(len, 3);
    tap_ok(text && memcmp(text, "a\0b", 4) == 0);
    free(text);
    close(pipefd[0]);
}

TEST(peek_takes_the_head)
{
    struct tree tree;
    char room[4];

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/f", "abcdef");
    tap_eq_int(file_peek(AT_FDCWD, tree_path(&tree, "/f"), true, room, sizeof(room)), 3);
    tap_eq_str(room, "abc");
    tap_eq_int(file_peek(AT_FDCWD, "/nonexistent", true, room, sizeof(room)), -1);
    tap_eq_int(errno, ENOENT);
    tap_eq_str(room, "");
    tap_eq_int(file_peek(AT_FDCWD, "/", true, room, sizeof(room)), -1);
    tap_eq_int(errno, EISDIR);
    tree_remove(&tree);
}

TEST(peek_never_blocks_nor_follows)
{
    struct tree tree;
    char room[8];

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/f", "abc");
    tap_eq_int(symlink("f", tree_path(&tree, "/link")), 0);
    tap_eq_int(file_peek(AT_FDCWD, tree_path(&tree, "/link"), true, room, sizeof(room)), -1);
    tap_eq_int(errno, ELOOP);
    tap_eq_int(file_peek(AT_FDCWD, tree_path(&tree, "/link"), false, room, sizeof(room)), 3);
    tap_eq_int(mkfifo(tree_path(&tree, "/fifo"), 0600), 0);
    tap_eq_int(file_peek(AT_FDCWD, tree_path(&tree, "/fifo"), true, room, sizeof(room)), 0);
    tree_remove(&tree);
}

TEST(peek_is_relative_to_a_directory)
{
    struct tree tree;
    char room[8];
    int dir;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/d/f", "abc");
    dir = open(tree.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tap_eq_int(file_peek(dir, "d/f", true, room, sizeof(room)), 3);
    close(dir);
    tree_remove(&tree);
}

TEST(numbers)
{
    struct tree tree;
    int64_t number = 7;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/f", "-12\n");
    tap_ok(file_number(tree_path(&tree, "/f"), &number));
    tap_eq_int(number, -12);
    tree_write(&tree, "/f", "max\n");
    tap_ok(!file_number(tree_path(&tree, "/f"), &number));
    tree_write(&tree, "/f", "99999999999999999999\n");
    tap_ok(!file_number(tree_path(&tree, "/f"), &number));
    tap_ok(!file_number(tree_path(&tree, "/none"), &number));
    tap_eq_int(number, -12);
    tree_remove(&tree);
}

TEST(write_all)
{
    struct tree tree;
    char room[16];
    int fd;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/f", "");
    fd = open(tree_path(&tree, "/f"), O_WRONLY | O_CLOEXEC);
    tap_eq_int(file_write_all(fd, "hello", 5), 0);
    tap_eq_int(file_write_all(fd, "", 0), 0);
    close(fd);
    tap_eq_str(tree_read(&tree, "/f", room, sizeof(room)), "hello");
    fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    tap_eq_int(file_write_all(fd, "hello", 5), -1);
    tap_eq_int(errno, ENOSPC);
    close(fd);
    tree_remove(&tree);
}

TAP_MAIN()
