#include "sys/users.h"

#include "tree.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
                             "# a comment\n"
                             "bad line\n"
                             "ada:x:1000:1001:Ada:/home/ada:/bin/bash\n"
                             "1002:x:3:3::/three:/bin/sh\n";
static const char group[] = "root:x:0:\nvideo:x:44:ada,bob\nrender:x:105:bob,ada\nada:x:1001:\n";

struct sample {
    struct tree tree;
    struct facts_user user;
    struct err err;
};

static int find(struct sample *sample, const char *text)
{
    sample->err = (struct err)ERR_INIT;
    return users_find(sample->tree.root, "--user", text, &sample->user, &sample->err);
}

static void begin(struct sample *sample, bool files)
{
    tree_make(&sample->tree);
    if (!files)
        return;
    tree_write(&sample->tree, "/etc/passwd", passwd);
    tree_write(&sample->tree, "/etc/group", group);
}

TEST(a_name_brings_its_groups)
{
    struct sample sample;

    begin(&sample, true);
    tap_eq_int(find(&sample, "ada"), 0);
    tap_eq_uint(sample.user.uid, 1000);
    tap_eq_uint(sample.user.gid, 1001);
    tap_eq_str(sample.user.home, "/home/ada");
    tap_eq_str(sample.user.name, "ada");
    tap_eq_int(sample.user.group_count, 2);
    tap_eq_uint(sample.user.groups[0], 44);
    tap_eq_uint(sample.user.groups[1], 105);
    tree_remove(&sample.tree);
}

TEST(a_stated_group_is_the_only_one)
{
    struct sample sample;

    begin(&sample, true);
    tap_eq_int(find(&sample, "ada:video"), 0);
    tap_eq_uint(sample.user.gid, 44);
    tap_eq_int(sample.user.group_count, 0);
    tap_eq_int(find(&sample, "ada:77"), 0);
    tap_eq_uint(sample.user.gid, 77);
    tree_remove(&sample.tree);
}

TEST(a_number_has_its_entry_if_there_is_one)
{
    struct sample sample;

    begin(&sample, true);
    tap_eq_int(find(&sample, "1000"), 0);
    tap_eq_str(sample.user.name, "ada");
    tap_eq_uint(sample.user.gid, 1001);
    tap_eq_int(sample.user.group_count, 2);
    /* A name of digits alone is a number. */
    tap_eq_int(find(&sample, "1002"), 0);
    tap_eq_uint(sample.user.uid, 1002);
    tap_ok(!sample.user.known);
    tap_ok(!sample.user.group_known);
    tap_eq_int(find(&sample, "4294967294:0"), 0);
    tap_eq_uint(sample.user.uid, 4294967294U);
    tap_ok(sample.user.group_known);
    tree_remove(&sample.tree);
}

TEST(without_files_numbers_will_do)
{
    struct sample sample;

    begin(&sample, false);
    tap_eq_int(find(&sample, "1000:1000"), 0);
    tap_eq_uint(sample.user.gid, 1000);
    tap_eq_int(find(&sample, "ada"), -1);
    tap_eq_str(sample.err.message, "--user: no user \"ada\" in /etc/passwd: state its number");
    tap_eq_int(find(&sample, "1000:video"), -1);
    tap_eq_str(sample.err.message, "--user: no group \"video\" in /etc/group: state its number");
    tree_remove(&sample.tree);
}

TEST(a_fifo_for_a_file_is_no_file)
{
    struct sample sample;
    char path[256];

    begin(&sample, false);
    tree_write(&sample.tree, "/etc/group", "");
    snprintf(path, sizeof(path), "%s/etc/passwd", sample.tree.root);
    tap_eq_int(mkfifo(path, 0600), 0);
    tap_eq_int(find(&sample, "ada"), -1);
    tree_remove(&sample.tree);
}

TEST(bad_texts)
{
    static const char *const texts[] = {"",   ":",          "1000:", ":5",  "1:2:3",  "-1",
                                        "1 ", "4294967295", "1.5",   "0x1", "1000:-1"};
    struct sample sample;

    begin(&sample, true);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        tap_eq_int(find(&sample, texts[i]), -1);
        tap_eq_int(sample.err.kind, ERR_SPEC);
    }
    tree_remove(&sample.tree);
}

TAP_MAIN()
