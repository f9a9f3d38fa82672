#include "sys/deliver.h"

#include <dirent.h>

#include "desk.h"

/* Names the summary of the plan: /d/s.json in the tree. */
static void name_summary(struct desk *desk, const char *path)
{
    snprintf(desk->summary, sizeof(desk->summary), "%s%s", desk->tree.root, path);
    desk->plan.report.summary = desk->summary;
}

/* Entries of a folder of the tree. */
static int count_entries(struct desk *desk, const char *path)
{
    DIR *dir = opendir(tree_path(&desk->tree, path));
    int count = -2;

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

TEST(summary_by_rename)
{
    struct desk desk;
    struct stat before, after;
    char room[256], moved[128];

    if (!desk_make(&desk))
        return;
    tree_write(&desk.tree, "/d/s.json",
               "an old one, longer than the new one will ever be: " DOCUMENT);
    stat(tree_path(&desk.tree, "/d/s.json"), &before);
    name_summary(&desk, "/d/s.json");
    tap_eq_int(desk_open(&desk), 0);
    /* The folder was opened at the start: it may be renamed meanwhile. */
    snprintf(moved, sizeof(moved), "%s/e", desk.tree.root);
    tap_eq_int(rename(tree_path(&desk.tree, "/d"), moved), 0);
    deliver_summary(&desk.deliver, DOCUMENT, strlen(DOCUMENT));
    tap_eq_str(tree_read(&desk.tree, "/e/s.json", room, sizeof(room)), DOCUMENT);
    stat(tree_path(&desk.tree, "/e/s.json"), &after);
    tap_ok(before.st_ino != after.st_ino);
    tap_eq_uint(after.st_mode & 0777, 0644);
    tap_eq_int(count_entries(&desk, "/e"), 1);
    tap_eq_str(said.text, "");
    desk_clear(&desk);
}

TEST(summary_over_what_a_killed_run_left)
{
    struct desk desk;
    char path[64], room[256];

    if (!desk_make(&desk))
        return;
    snprintf(path, sizeof(path), "/d/.s.json.%d.tmp", getpid());
    tree_write(&desk.tree, path, "half a docu");
    name_summary(&desk, "/d/s.json");
    tap_eq_int(desk_open(&desk), 0);
    deliver_summary(&desk.deliver, DOCUMENT, strlen(DOCUMENT));
    tap_eq_str(tree_read(&desk.tree, "/d/s.json", room, sizeof(room)), DOCUMENT);
    tap_eq_int(count_entries(&desk, "/d"), 1);
    desk_clear(&desk);
}

TEST(summary_folder_must_exist)
{
    struct desk desk;

    if (!desk_make(&desk))
        return;
    name_summary(&desk, "/none/s.json");
    tap_eq_int(desk_open(&desk), -1);
    tap_eq_int(desk.err.kind, ERR_SPEC);
    tap_has_str(desk.err.message, "/none: No such file or directory");
    tree_write(&desk.tree, "/file", "");
    name_summary(&desk, "/file/s.json");
    tap_eq_int(desk_open(&desk), -1);
    tap_has_str(desk.err.message, "Not a directory");
    desk_clear(&desk);
}

TEST(summary_of_a_bare_name)
{
    struct desk desk;
    char room[256];
    int home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (!desk_make(&desk))
        return;
    desk.plan.report.summary = "s.json";
    tap_eq_int(chdir(desk.tree.root), 0);
    tap_eq_int(desk_open(&desk), 0);
    tap_eq_int(chdir("/"), 0);
    deliver_summary(&desk.deliver, DOCUMENT, strlen(DOCUMENT));
    tap_eq_str(tree_read(&desk.tree, "/s.json", room, sizeof(room)), DOCUMENT);
    tap_eq_int(fchdir(home), 0);
    close(home);
    desk_clear(&desk);
}

TEST(summary_never_replaces_what_is_no_file)
{
    struct desk desk;
    static const char *const paths[] = {"/d/", "/d/.", "/d/link", "/d/sub"};

    if (!desk_make(&desk))
        return;
    tree_write(&desk.tree, "/d/sub/x", "");
    tap_eq_int(symlink("/dev/null", tree_path(&desk.tree, "/d/link")), 0);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        listen_to_log(LOG_NOTICE);
        name_summary(&desk, paths[i]);
        tap_eq_int(desk_open(&desk), 0);
        tap_eq_int(desk.deliver.summary_dir, -1);
        tap_has_str(said.text, "is not a regular file");
        deliver_summary(&desk.deliver, DOCUMENT, strlen(DOCUMENT));
    }
    tap_eq_int(count_entries(&desk, "/d"), 2);
    desk_clear(&desk);
}

TEST(a_summary_that_cannot_be_written_is_a_notice)
{
    struct desk desk;
    struct rlimit limit;
    char room[256];

    if (!desk_make(&desk))
        return;
    tree_write(&desk.tree, "/d/s.json", "old");
    name_summary(&desk, "/d/s.json");
    tap_eq_int(desk_open(&desk), 0);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit_files(10);
    deliver_summary(&desk.deliver, DOCUMENT, strlen(DOCUMENT));
    setrlimit(RLIMIT_FSIZE, &limit);
    tap_has_str(said.text, "cannot write summary file s.json: File too large");
    tap_eq_str(tree_read(&desk.tree, "/d/s.json", room, sizeof(room)), "old");
    tap_eq_int(count_entries(&desk, "/d"), 1);
    desk_clear(&desk);
}

TAP_MAIN()
