#include "sys/caps.h"

#include <linux/capability.h>

#include "tree.h"

struct reading {
    uint64_t set;
    struct strvec notices;
    struct err err;
};

static int read_list(struct reading *reading, const char *list, int last)
{
    *reading = (struct reading){.set = 77};
    return caps_read(&(struct setting){SOURCE_FLAG, list, "--cap-drop"}, last, &reading->set,
                     &reading->notices, &reading->err);
}

TEST(names_with_and_without_prefix)
{
    struct reading reading;

    tap_eq_int(read_list(&reading, "NET_RAW,cap_sys_admin,CAP_KILL,Net_Raw", 40), 0);
    tap_eq_uint(reading.set,
                SECURITY_CAP(CAP_NET_RAW) | SECURITY_CAP(CAP_SYS_ADMIN) | SECURITY_CAP(CAP_KILL));
    tap_eq_int(read_list(&reading, "checkpoint_restore", 40), 0);
    tap_eq_uint(reading.set, SECURITY_CAP(40));
}

TEST(all_are_those_of_this_kernel)
{
    struct reading reading;

    tap_eq_int(read_list(&reading, "ALL", 40), 0);
    tap_eq_uint(reading.set, (UINT64_C(1) << 41) - 1);
    tap_eq_int(read_list(&reading, "KILL,all", 37), 0);
    tap_eq_uint(reading.set, (UINT64_C(1) << 38) - 1);
}

TEST(a_name_newer_than_the_kernel_is_a_notice)
{
    struct reading reading;

    tap_eq_int(read_list(&reading, "KILL,CHECKPOINT_RESTORE", 37), 0);
    tap_eq_uint(reading.set, SECURITY_CAP(CAP_KILL));
    tap_eq_uint(reading.notices.count, 1);
    tap_eq_str(reading.notices.items[0],
               "--cap-drop: this kernel has no CHECKPOINT_RESTORE: left out");
    strvec_release(&reading.notices);
}

TEST(any_other_name_is_refused)
{
    static const char *const lists[] = {"NET_ROW", "KILL,foo", "cap_", "cap_cap_kill",
                                        "5",       "cap_5",    "ALLES"};
    struct reading reading;

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        tap_eq_int(read_list(&reading, lists[i], 40), -1);
        tap_eq_int(reading.err.kind, ERR_SPEC);
        tap_eq_uint(reading.set, 77);
    }
    tap_eq_int(read_list(&reading, "KILL,foo", 40), -1);
    tap_eq_str(reading.err.message, "--cap-drop: \"foo\" is no capability: see capabilities(7)");
}

TEST(what_we_hold_is_what_proc_says)
{
    struct facts_caps own, told;

    caps_collect("", &own);
    /* Below a root that is spelt otherwise, it is read from the text. */
    caps_collect("/.", &told);
    tap_eq_uint(own.permitted, told.permitted);
    tap_eq_uint(own.effective, told.effective);
    tap_eq_uint(own.inheritable, told.inheritable);
    tap_eq_uint(own.bounding, told.bounding);
    tap_eq_uint(own.ambient, told.ambient);
    tap_eq_int(own.no_new_privs, told.no_new_privs);
    tap_ok(own.last >= 37 && own.last < 63);
}

TEST(a_status_of_nonsense_holds_nothing_strange)
{
    struct facts_caps caps;
    struct tree tree;

    tree_make(&tree);
    tree_write(&tree, "/proc/self/status",
               "Name:\tx\nCapEff:\tzz\nCapBnd:\t00000000000000ff\nCapPrm:");
    caps_collect(tree.root, &caps);
    tap_eq_uint(caps.effective, 0);
    tap_eq_uint(caps.permitted, 0);
    tap_eq_uint(caps.bounding, 0xff);
    tree_remove(&tree);
}

TAP_MAIN()
