#include "sys/facts_cgroup.h"

#include "sys/facts.h"
#include "tree.h"

static const char *const no_env[] = {NULL};

TEST(cgroup_v2_takes_the_tightest_on_the_way_up)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/proc/self/cgroup", "0::/kubepods/pod1/c1\n");
    tree_write(&tree, "/sys/fs/cgroup/kubepods/pod1/c1/cpu.max", "max 100000\n");
    tree_write(&tree, "/sys/fs/cgroup/kubepods/pod1/c1/memory.max", "max\n");
    tree_write(&tree, "/sys/fs/cgroup/kubepods/pod1/c1/memory.events",
               "low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 1\n");
    tree_write(&tree, "/sys/fs/cgroup/kubepods/pod1/cpu.max", "150000 50000\n");
    tree_write(&tree, "/sys/fs/cgroup/kubepods/pod1/memory.max", "1073741824\n");
    tree_write(&tree, "/sys/fs/cgroup/kubepods/cpu.max", "800000 200000\n");
    tree_write(&tree, "/sys/fs/cgroup/kubepods/memory.max", "2147483648\n");
    tree_write(&tree, "/sys/fs/cgroup/kubepods/memory.events", "oom_kill 99\n");
    facts_collect(tree.root, no_env, true, &facts);
    tap_eq_int(facts.cpu_quota_us, 150000);
    tap_eq_int(facts.cpu_period_us, 50000);
    tap_eq_int(facts.memory_limit_bytes, 1073741824);
    tap_eq_int(facts_cgroup_oom_kills(tree.root), 2);
    tree_remove(&tree);
}

TEST(cgroup_v2_in_its_own_namespace)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/proc/self/cgroup", "0::/\n");
    tree_write(&tree, "/sys/fs/cgroup/cpu.max", "50000 100000\n");
    tree_write(&tree, "/sys/fs/cgroup/memory.max", "67108864\n");
    tree_write(&tree, "/sys/fs/cgroup/memory.events", "oom 1\noom_kill 0\n");
    facts_collect(tree.root, no_env, true, &facts);
    tap_eq_int(facts.cpu_quota_us, 50000);
    tap_eq_int(facts.memory_limit_bytes, 67108864);
    tap_eq_int(facts_cgroup_oom_kills(tree.root), 0);
    /* Moved out of the namespace: what the mount shows is all there is. */
    tree_write(&tree, "/proc/self/cgroup", "0::/../../x\n");
    tap_eq_int(facts_cgroup_oom_kills(tree.root), 0);
    unlink(tree_path(&tree, "/proc/self/cgroup"));
    tap_eq_int(facts_cgroup_oom_kills(tree.root), 0);
    tree_remove(&tree);
}

TEST(cgroup_v2_remembers_the_peak)
{
    struct tree tree;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/proc/self/cgroup", "0::/\n");
    tap_eq_int(facts_cgroup_memory_peak(tree.root), 0);
    tree_write(&tree, "/sys/fs/cgroup/memory.peak", "123456789\n");
    tap_eq_int(facts_cgroup_memory_peak(tree.root), 123456789);
    tree_remove(&tree);
}

TEST(cgroup_v1_shows_its_own_group_as_root)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/proc/self/cgroup",
               "12:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n");
    tree_write(&tree, "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
    tree_write(&tree, "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    tree_write(&tree, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
    tree_write(&tree, "/sys/fs/cgroup/memory/memory.oom_control",
               "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    facts_collect(tree.root, no_env, true, &facts);
    tap_eq_int(facts.cpu_quota_us, 250000);
    tap_eq_int(facts.cpu_period_us, 100000);
    tap_eq_int(facts.memory_limit_bytes, 536870912);
    tap_eq_int(facts_cgroup_oom_kills(tree.root), 4);
    tap_eq_int(facts_cgroup_memory_peak(tree.root), 0);
    tree_write(&tree, "/sys/fs/cgroup/memory/memory.max_usage_in_bytes", "500000\n");
    tap_eq_int(facts_cgroup_memory_peak(tree.root), 500000);
    tree_remove(&tree);
}

TEST(cgroup_v1_of_a_host)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/proc/self/cgroup", "3:cpuacct,cpu:/a/b\n2:memory:/a/b\n0::/\n");
    tree_write(&tree, "/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    tree_write(&tree, "/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
    tree_write(&tree, "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "300000\n");
    tree_write(&tree, "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    tree_write(&tree, "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    tree_write(&tree, "/sys/fs/cgroup/memory/a/b/memory.oom_control", "oom_kill 1\n");
    tree_write(&tree, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    tree_write(&tree, "/sys/fs/cgroup/memory/memory.oom_control", "oom_kill 50\n");
    facts_collect(tree.root, no_env, true, &facts);
    tap_eq_int(facts.cpu_quota_us, 300000);
    tap_eq_int(facts.memory_limit_bytes, -1);
    tap_eq_int(facts_cgroup_oom_kills(tree.root), 1);
    tree_remove(&tree);
}

TEST(cgroup_hybrid)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    /* v2 is there without controllers; v1 does the work. */
    tree_write(&tree, "/proc/self/cgroup", "2:memory:/x\n1:cpu:/x\n0::/x\n");
    tree_write(&tree, "/sys/fs/cgroup/unified/x/cgroup.procs", "1\n");
    tree_write(&tree, "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "100000\n");
    tree_write(&tree, "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    tree_write(&tree, "/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1048576\n");
    tree_write(&tree, "/sys/fs/cgroup/memory/x/memory.oom_control", "oom_kill 3\n");
    facts_collect(tree.root, no_env, true, &facts);
    tap_eq_int(facts.cpu_quota_us, 100000);
    tap_eq_int(facts.memory_limit_bytes, 1048576);
    tap_eq_int(facts_cgroup_oom_kills(tree.root), 3);
    /* And one whose memory is in v2. */
    tree_write(&tree, "/sys/fs/cgroup/unified/x/memory.events", "oom_kill 8\n");
    tree_write(&tree, "/sys/fs/cgroup/unified/x/memory.max", "524288\n");
    facts_collect(tree.root, no_env, true, &facts);
    tap_eq_int(facts.memory_limit_bytes, 524288);
    tap_eq_int(facts_cgroup_oom_kills(tree.root), 8);
    tree_remove(&tree);
}

TEST(old_kernels_have_no_oom_counter)
{
    struct tree tree;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/sys/fs/cgroup/memory/memory.oom_control",
               "oom_kill_disable 0\nunder_oom 0\n");
    tap_eq_int(facts_cgroup_oom_kills(tree.root), -1);
    tree_remove(&tree);
}

TEST(the_real_counter_never_goes_back)
{
    int64_t first = facts_oom_kills();

    tap_ok(first >= -1);
    tap_ok(facts_oom_kills() >= first);
}

TAP_MAIN()
