#include "model/preflight.h"

#include <errno.h>

#include "fixture.h"

TEST(little_locked_memory_matters_with_infiniband)
{
    static const struct {
        bool infiniband, ipc_lock;
        int64_t memlock;
        bool said;
    } rows[] = {
        {true, false, 8 << 20, true}, {true, false, 0, true},
        {true, false, -1, false},     {true, false, INT64_C(1) << 34, false},
        {true, true, 8 << 20, false}, {false, false, 8 << 20, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture f = fixture_new();

        f.facts.infiniband = rows[i].infiniband;
        f.facts.ipc_lock = rows[i].ipc_lock;
        f.facts.memlock_bytes = rows[i].memlock;
        tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 train.py"), 0);
        tap_eq_int(fixture_noticed(&f, "InfiniBand is here"), rows[i].said);
        fixture_free(&f);
    }
}

TEST(nodes_that_the_ranks_user_may_not_open_are_said)
{
    static const struct {
        uid_t uid;
        gid_t gid, extra;
        mode_t mode;
        bool said;
    } rows[] = {
        {1000, 1000, 5, 0666, false},  {1000, 1000, 5, 0660, true}, {1000, 44, 5, 0660, false},
        {1000, 1000, 44, 0660, false}, {1000, 44, 5, 0600, true},   {1000, 44, 5, 0646, true},
        {0, 0, 5, 0600, false},        {7, 7, 5, 0600, false},      {7, 44, 5, 0066, true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture f = fixture_new();

        fixture_gpus(&f, 2);
        for (int n = 0; n < 2; n++) {
            f.facts.devices[n].uid = 7;
            f.facts.devices[n].gid = 44;
            f.facts.devices[n].mode = rows[i].mode;
        }
        f.facts.caps.effective = ~UINT64_C(0);
        f.facts.user = (struct facts_user){.uid = rows[i].uid,
                                           .gid = rows[i].gid,
                                           .group_known = true,
                                           .group_count = 1,
                                           .groups = {rows[i].extra}};
        tap_eq_int(fixture_plan(&f, "", "--user u train.py"), 0);
        if (!tap_eq_int(fixture_noticed(&f, "may not open 2 of /dev/nvidia*"), rows[i].said))
            printf("# row %zu\n", i);
        fixture_free(&f);
    }
}

TEST(nodes_that_may_not_be_opened_are_refused_with_the_reason)
{
    static const struct {
        const char *line, *want; /* NULL: a plan */
        int denied, why;
    } rows[] = {
        {"train.py", "4 of /dev/nvidia* may not be opened (by their mode", 4, EACCES},
        {"train.py", "4 of /dev/nvidia* may not be opened (the container was not granted", 4,
         EPERM},
        {"train.py", "1 of /dev/nvidia* may not be opened", 1, EACCES},
        {"--nproc-per-node 4 train.py", "1 of /dev/nvidia* may not be opened", 1, EACCES},
        {"--nproc-per-node 2 train.py", "4 of /dev/nvidia* may not be opened", 4, EACCES},
        {"--nproc-per-node 3 train.py", NULL, 1, EACCES},
        {"--nproc-per-node 2 --device-mode none train.py", NULL, 4, EACCES},
        {"sh", NULL, 4, EACCES},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture f = fixture_new();
        int rc;

        fixture_gpus(&f, 4);
        for (int j = 0; j < rows[i].denied; j++) {
            f.facts.devices[j].accessible = false;
            f.facts.devices[j].denied = rows[i].why;
        }
        rc = fixture_plan(&f, "", rows[i].line);
        tap_eq_int(rc, rows[i].want ? -1 : 0);
        if (rows[i].want && tap_eq_int(f.err.kind, ERR_DEVICES))
            tap_has_str(f.err.message, rows[i].want);
        if (!rows[i].want && rows[i].denied == 1)
            tap_ok(fixture_noticed(&f, "may not be opened"));
        fixture_free(&f);
    }
}

/* Under that name a script that only counts what it finds must start as it does elsewhere. */
TEST(torchrun_only_notes_them)
{
    struct fixture f = fixture_new();

    f.argv0 = "torchrun";
    fixture_gpus(&f, 1);
    f.facts.devices[0].accessible = false;
    tap_eq_int(fixture_plan(&f, "", "train.py"), 0);
    tap_ok(fixture_noticed(&f, "may not be opened"));
    fixture_free(&f);
}

TAP_MAIN()
