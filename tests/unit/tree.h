/*
 * tree.h - a temporary folder of a test: fixture trees for --sysroot, files to deliver to.
 *
 * Layer: tests only. Recipe:
 *
 *     struct tree tree;
 *     if (!tap_ok(tree_make(&tree)))
 *         return;
 *     tree_write(&tree, "/sys/fs/cgroup/cpu.max", "200000 100000\n");
 *     facts_collect(tree.root, NULL, true, &facts);
 *     tree_remove(&tree);
 */
#ifndef TESTS_UNIT_TREE_H
#define TESTS_UNIT_TREE_H

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

struct tree {
    char root[64];
    char path[PATH_MAX]; /* the last tree_path */
};

TAP_UNUSED static bool tree_make(struct tree *tree)
{
    snprintf(tree->root, sizeof(tree->root), "/tmp/rankinit-test-XXXXXX");
    return mkdtemp(tree->root) != NULL;
}

/* The whole path of a path in the tree, "/dev/nvidia0"; good until the next call. */
TAP_UNUSED static const char *tree_path(struct tree *tree, const char *path)
{
    snprintf(tree->path, sizeof(tree->path), "%s%s", tree->root, path);
    return tree->path;
}

/* Makes the folders that a path lies in. */
TAP_UNUSED static void tree_parents(struct tree *tree, const char *path)
{
    char *end = tree->path + strlen(tree->root);

    tree_path(tree, path);
    while ((end = strchr(end + 1, '/'))) {
        *end = '\0';
        mkdir(tree->path, 0755);
        *end = '/';
    }
}

/* Writes a file, and the folders that it lies in. */
TAP_UNUSED static void tree_write(struct tree *tree, const char *path, const char *text)
{
    size_t len = strlen(text);
    int fd;

    tree_parents(tree, path);
    fd = open(tree->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    tap_ok(fd >= 0 && write(fd, text, len) == (ssize_t)len);
    close(fd);
}

/* Reads a file whole as a text; "" if it is not there. */
TAP_UNUSED static const char *tree_read(struct tree *tree, const char *path, char *room,
                                        size_t size)
{
    int fd = open(tree_path(tree, path), O_RDONLY | O_CLOEXEC);

    memset(room, 0, size);
    if (fd >= 0) {
        tap_ok(read(fd, room, size - 1) >= 0);
        close(fd);
    }
    return room;
}

static int tree_forget(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

TAP_UNUSED static void tree_remove(struct tree *tree)
{
    nftw(tree->root, tree_forget, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
