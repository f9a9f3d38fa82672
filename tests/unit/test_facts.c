#include "sys/facts.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "sys/facts_cgroup.h"
#include "tree.h"

static const char *const no_env[] = {NULL};

/* A procfs entry as the driver writes it. */
static void add_gpu(struct tree *tree, int minor, const char *bus_id, const char *uuid)
{
    char path[128], text[512];

    snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", bus_id);
    snprintf(text, sizeof(text),
             "Model: \t\t NVIDIA H200\nIRQ:   \t\t 45\nGPU UUID: \t %s\nVideo BIOS: \t ??.??\n"
             "Bus Type: \t PCIe\nDMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\n"
             "Bus Location: \t %s\nDevice Minor: \t %d\nGPU Firmware: \t 550.90\n"
             "GPU Excluded:\t No\n",
             uuid, bus_id, minor);
    tree_write(tree, path, text);
}

static void add_node(struct tree *tree, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/dev/%s", name);
    tree_write(tree, path, "");
}

TEST(nothing_there_is_unknown)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    facts_collect(tree.root, no_env, true, &facts);
    tap_eq_int(facts.device_count, 0);
    tap_ok(!facts.nvidia_driver);
    tap_eq_str(facts.other_accelerator, NULL);
    tap_ok(facts.cpus_allowed >= 1);
    tap_eq_int(facts.cpu_quota_us, -1);
    tap_eq_int(facts.memory_limit_bytes, -1);
    tap_eq_int(facts.shm_bytes, -1);
    tap_eq_int(facts.ephemeral_port_min, 32768);
    tap_eq_int(facts.ephemeral_port_max, 60999);
    tap_ok(!facts.default_spec && !facts.termination_log);
    tap_eq_str(facts.resource_config, "");
    tap_eq_int(facts_cgroup_oom_kills(tree.root), -1);
    tree_remove(&tree);
}

TEST(nodes_decide_and_sparse_minors_count)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    add_node(&tree, "nvidia3");
    add_node(&tree, "nvidia1");
    add_node(&tree, "nvidia10");
    add_node(&tree, "nvidiactl");
    add_node(&tree, "nvidia-uvm");
    add_node(&tree, "nvidia-modeset");
    add_node(&tree, "nvidia01");
    add_node(&tree, "nvidia254");
    add_node(&tree, "nvidia255");
    tree_write(&tree, "/dev/nvidia-caps/nvidia-cap1", "");
    facts_collect(tree.root, no_env, true, &facts);
    if (tap_eq_int(facts.device_count, 3)) {
        tap_eq_int(facts.devices[0].minor, 1);
        tap_eq_int(facts.devices[1].minor, 3);
        tap_eq_int(facts.devices[2].minor, 10);
        tap_eq_str(facts.devices[0].uuid, "");
        tap_eq_str(facts.devices[0].bus_id, "");
        tap_eq_int(facts.devices[0].numa_node, -1);
        tap_ok(facts.devices[0].accessible);
    }
    tap_ok(!facts.nvidia_driver);
    tree_remove(&tree);
}

TEST(other_character_devices_do_not_count)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/dev/x", "");
    tap_eq_int(symlink("/dev/null", tree_path(&tree, "/dev/nvidia0")), 0);
    tap_eq_int(symlink("nowhere", tree_path(&tree, "/dev/nvidia1")), 0);
    tap_eq_int(mkdir(tree_path(&tree, "/dev/nvidia2"), 0755), 0);
    facts_collect_devices(tree.root, &facts);
    tap_eq_int(facts.device_count, 0);
    /* The right one, where this user may make it; one with another's minor is not. */
    if (mknod(tree_path(&tree, "/dev/nvidia4"), S_IFCHR | 0666, makedev(195, 4)) == 0) {
        mknod(tree_path(&tree, "/dev/nvidia5"), S_IFCHR | 0666, makedev(195, 4));
        facts_collect_devices(tree.root, &facts);
        tap_eq_int(facts.device_count, 1);
        tap_eq_int(facts.devices[0].minor, 4);
    }
    tree_remove(&tree);
}

TEST(procfs_adds_uuid_bus_id_and_numa_node)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    /* Minor order and bus order differ. */
    add_node(&tree, "nvidia0");
    add_node(&tree, "nvidia1");
    add_gpu(&tree, 0, "0000:ab:00.0", "GPU-11111111-2222-3333-4444-555555555555");
    add_gpu(&tree, 1, "0000:3b:00.0", "GPU-????????");
    tree_write(&tree, "/sys/bus/pci/devices/0000:ab:00.0/numa_node", "1\n");
    tree_write(&tree, "/sys/bus/pci/devices/0000:3b:00.0/numa_node", "-1\n");
    facts_collect(tree.root, no_env, true, &facts);
    tap_ok(facts.nvidia_driver);
    if (tap_eq_int(facts.device_count, 2)) {
        tap_eq_int(facts.devices[0].minor, 1);
        tap_eq_str(facts.devices[0].bus_id, "0000:3b:00.0");
        tap_eq_str(facts.devices[0].uuid, "");
        tap_eq_int(facts.devices[0].numa_node, -1);
        tap_eq_int(facts.devices[1].minor, 0);
        tap_eq_str(facts.devices[1].uuid, "GPU-11111111-2222-3333-4444-555555555555");
        tap_eq_int(facts.devices[1].numa_node, 1);
    }
    tree_remove(&tree);
}

TEST(cdi_shows_all_gpus_of_the_host)
{
    struct tree tree;
    struct facts facts;
    char bus_id[24], uuid[64];

    if (!tap_ok(tree_make(&tree)))
        return;
    add_node(&tree, "nvidia6");
    for (int i = 0; i < 8; i++) {
        snprintf(bus_id, sizeof(bus_id), "0000:%02x:00.0", 0x10u + (unsigned)i);
        snprintf(uuid, sizeof(uuid), "GPU-0000000%d-0000-0000-0000-000000000000", i);
        add_gpu(&tree, i, bus_id, uuid);
    }
    facts_collect(tree.root, no_env, true, &facts);
    if (tap_eq_int(facts.device_count, 1)) {
        tap_eq_int(facts.devices[0].minor, 6);
        tap_eq_str(facts.devices[0].bus_id, "0000:16:00.0");
        tap_eq_str(facts.devices[0].uuid, "GPU-00000006-0000-0000-0000-000000000000");
    }
    tree_remove(&tree);
}

TEST(one_unknown_bus_id_means_minor_order)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    for (int i = 0; i < 3; i++) {
        char name[24];

        snprintf(name, sizeof(name), "nvidia%d", i);
        add_node(&tree, name);
    }
    add_gpu(&tree, 0, "0000:cc:00.0", "GPU-0");
    add_gpu(&tree, 2, "0000:aa:00.0", "GPU-2");
    facts_collect_devices(tree.root, &facts);
    for (int i = 0; i < 3; i++)
        tap_eq_int(facts.devices[i].minor, i);
    tap_eq_str(facts.devices[2].uuid, "GPU-2");
    tree_remove(&tree);
}

TEST(odd_driver_texts_are_harmless)
{
    struct tree tree;
    struct facts facts;
    char line[200];

    if (!tap_ok(tree_make(&tree)))
        return;
    add_node(&tree, "nvidia0");
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    tree_write(&tree, "/proc/driver/nvidia/gpus/0/information", "no colon\n:\n\nDevice Minor:");
    tree_write(&tree, "/proc/driver/nvidia/gpus/1/information",
               "Bus Location: ../../etc\nDevice Minor: 0\r\nGPU UUID:GPU-1");
    tree_write(&tree, "/proc/driver/nvidia/gpus/2/information", line);
    facts_collect_devices(tree.root, &facts);
    tap_eq_int(facts.device_count, 1);
    tap_eq_str(facts.devices[0].uuid, "GPU-1");
    tap_eq_str(facts.devices[0].bus_id, "1"); /* the directory's name */
    tree_remove(&tree);
}

TEST(other_accelerators)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    facts_collect_devices(tree.root, &facts);
    tap_eq_str(facts.other_accelerator, NULL);
    add_node(&tree, "dxg");
    facts_collect_devices(tree.root, &facts);
    tap_eq_str(facts.other_accelerator, "/dev/dxg");
    tap_eq_int(facts.other_vendor, VENDOR_NVIDIA);
    add_node(&tree, "nvidia0");
    facts_collect_devices(tree.root, &facts);
    tap_eq_str(facts.other_accelerator, NULL);
    tree_remove(&tree);
}

/* A render node and what sysfs says of its PCI device. */
static void add_render(struct tree *tree, const char *name, const char *vendor, const char *bus_id)
{
    char path[128], target[128];

    snprintf(path, sizeof(path), "/dev/dri/%s", name);
    tree_write(tree, path, "");
    snprintf(path, sizeof(path), "/sys/devices/pci/%s/vendor", bus_id);
    tree_write(tree, path, vendor);
    snprintf(path, sizeof(path), "/sys/devices/pci/%s/numa_node", bus_id);
    tree_write(tree, path, "1\n");
    snprintf(path, sizeof(path), "/sys/devices/pci/%s/unique_id", bus_id);
    tree_write(tree, path, "1f2e3d4c5b6a7988\n");
    snprintf(path, sizeof(path), "/sys/class/drm/%s/device", name);
    tree_parents(tree, path);
    snprintf(target, sizeof(target), "../../../devices/pci/%s", bus_id);
    tap_eq_int(symlink(target, tree_path(tree, path)), 0);
}

TEST(amd_devices_are_render_nodes_beside_kfd)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    add_render(&tree, "renderD129", "0x1002\n", "0000:0a:00.0");
    add_render(&tree, "renderD128", "0x8086\n", "0000:00:02.0");
    facts_collect_devices(tree.root, &facts);
    /* Without kfd only Intel's, which ranks use when it is stated. */
    if (tap_eq_int(facts.device_count, 1))
        tap_eq_int(facts.devices[0].vendor, VENDOR_INTEL);
    add_node(&tree, "kfd");
    facts_collect_devices(tree.root, &facts);
    if (tap_eq_int(facts.device_count, 2)) {
        tap_eq_int(facts.devices[0].vendor, VENDOR_AMD);
        tap_eq_int(facts.devices[0].minor, 129);
        tap_eq_str(facts.devices[0].bus_id, "0000:0a:00.0");
        tap_eq_str(facts.devices[0].uuid, "GPU-1f2e3d4c5b6a7988");
        tap_eq_int(facts.devices[0].numa_node, 1);
        tap_eq_int(facts.devices[1].vendor, VENDOR_INTEL);
    }
    tap_eq_str(facts.other_accelerator, NULL);
    unlink(tree_path(&tree, "/dev/dri/renderD129"));
    facts_collect_devices(tree.root, &facts);
    tap_eq_str(facts.other_accelerator, "/dev/kfd");
    tap_eq_int(facts.other_vendor, VENDOR_AMD);
    tree_remove(&tree);
}

TEST(ascend_and_habana_nodes)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    add_node(&tree, "davinci3");
    add_node(&tree, "davinci_manager");
    add_node(&tree, "accel/accel1");
    tree_write(&tree, "/sys/class/accel/accel1/device/module_id", "6\n");
    add_node(&tree, "accel/accel0"); /* a desktop's neural unit */
    tree_write(&tree, "/sys/class/accel/accel0/device/vendor", "0x8086\n");
    facts_collect_devices(tree.root, &facts);
    if (tap_eq_int(facts.device_count, 2)) {
        tap_eq_int(facts.devices[0].vendor, VENDOR_ASCEND);
        tap_eq_int(facts.devices[0].minor, 3);
        tap_eq_int(facts.devices[1].vendor, VENDOR_HABANA);
        tap_ok(facts.devices[1].numbered);
        tap_eq_int(facts.devices[1].index, 6);
    }
    tree_remove(&tree);
}

TEST(mig_instances_are_the_capabilities_that_may_be_opened)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    add_node(&tree, "nvidia0");
    add_node(&tree, "nvidia-caps/nvidia-cap12");
    add_node(&tree, "nvidia-caps/nvidia-cap13");
    add_node(&tree, "nvidia-caps/nvidia-cap22");
    tree_write(&tree, "/proc/driver/nvidia-caps/mig-minors",
               "config 1\nmonitor 2\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\n"
               "gpu0/gi2/access 21\ngpu0/gi2/ci0/access 23\ngpu1/gi1/ci0/access 22\n");
    facts_collect_devices(tree.root, &facts);
    if (tap_eq_int(facts.mig_count, 1)) {
        tap_eq_int(facts.migs[0].minor, 0);
        tap_eq_int(facts.migs[0].gpu_instance, 1);
        tap_eq_int(facts.migs[0].compute_instance, 0);
    }
    tree_remove(&tree);
}

TEST(an_unknown_numa_node_is_found_by_the_cpus_that_are_near)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    add_node(&tree, "nvidia0");
    add_gpu(&tree, 0, "0000:3b:00.0", "GPU-0");
    tree_write(&tree, "/sys/bus/pci/devices/0000:3b:00.0/numa_node", "-1\n");
    tree_write(&tree, "/sys/bus/pci/devices/0000:3b:00.0/local_cpulist", "4-7\n");
    tree_write(&tree, "/sys/devices/system/node/node0/cpulist", "0-3\n");
    tree_write(&tree, "/sys/devices/system/node/node1/cpulist", "4-7\n");
    facts_collect_devices(tree.root, &facts);
    tap_eq_int(facts.devices[0].numa_node, 1);
    tree_write(&tree, "/sys/bus/pci/devices/0000:3b:00.0/local_cpulist", "0-7\n");
    facts_collect_devices(tree.root, &facts);
    tap_eq_int(facts.devices[0].numa_node, -1);
    tree_remove(&tree);
}

TEST(an_excluded_gpu_is_marked)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    add_node(&tree, "nvidia0");
    tree_write(&tree, "/proc/driver/nvidia/gpus/0000:01:00.0/information",
               "Device Minor: 0\nGPU Excluded: Yes\n");
    facts_collect_devices(tree.root, &facts);
    tap_ok(facts.devices[0].accessible && facts.devices[0].excluded);
    tree_remove(&tree);
}

TEST(topology_of_the_allowed_cpus)
{
    struct tree tree;
    struct facts facts;
    struct facts_cpu cpus[CPUSET_MAX];

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0,4-5\n");
    tree_write(&tree, "/sys/devices/system/node/node0/cpulist", "0-3\n");
    tree_write(&tree, "/sys/devices/system/node/node1/cpulist", "4-7\n");
    tree_write(&tree, "/sys/devices/system/node/node2/cpulist", "\n"); /* memory only */
    tree_write(&tree, "/sys/devices/system/cpu/cpu4/topology/thread_siblings_list", "4-5\n");
    tree_write(&tree, "/sys/devices/system/cpu/cpu4/topology/core_siblings_list", "4-7\n");
    tree_write(&tree, "/sys/devices/system/cpu/cpu4/cache/index3/shared_cpu_list", "0-7\n");
    facts_collect(tree.root, no_env, true, &facts);
    facts_collect_topology(tree.root, cpus, &facts);
    tap_eq_int(facts.topology[0].node, 0);
    tap_eq_int(facts.topology[0].core, -1);
    tap_eq_int(facts.topology[5].node, 1);
    tap_eq_int(facts.topology[5].core, 4);
    tap_eq_int(facts.topology[5].socket, 4);
    tap_eq_int(facts.topology[5].cache, 0);
    tree_remove(&tree);
}

TEST(limits_that_ranks_may_meet)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\n");
    add_node(&tree, "infiniband/uverbs0");
    tree_write(&tree, "/proc/self/cgroup", "3:pids:/a/b\n");
    tree_write(&tree, "/sys/fs/cgroup/pids/a/b/pids.max", "max\n");
    tree_write(&tree, "/sys/fs/cgroup/pids/a/b/pids.current", "3\n");
    tree_write(&tree, "/sys/fs/cgroup/pids/a/pids.max", "100\n");
    tree_write(&tree, "/sys/fs/cgroup/pids/a/pids.current", "40\n");
    facts_collect(tree.root, no_env, true, &facts);
    tap_ok(facts.infiniband && facts.ipc_lock);
    tap_eq_int(facts.pids_room, 60);
    tree_write(&tree, "/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
    tree_write(&tree, "/proc/self/cgroup", "0::/c\n");
    tree_write(&tree, "/sys/fs/cgroup/c/pids.max", "7\n");
    tree_write(&tree, "/sys/fs/cgroup/c/pids.current", "9\n");
    facts_collect(tree.root, no_env, true, &facts);
    tap_ok(!facts.ipc_lock);
    tap_eq_int(facts.pids_room, 0);
    tree_remove(&tree);
}

TEST(cpus_of_a_fixture)
{
    struct tree tree;
    struct facts facts;
    cpu_set_t own;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/proc/self/status",
               "Name:\tx\nCpus_allowed_list:\t0-3,8,2000-2001\nx:\t1\n");
    facts_collect(tree.root, no_env, true, &facts);
    tap_eq_int(facts.cpus_allowed, 7);
    tree_write(&tree, "/proc/self/status", "Name:\tx\nCpus_allowed_list:\tmany\n");
    facts_collect(tree.root, no_env, true, &facts);
    if (sched_getaffinity(0, sizeof(own), &own) == 0)
        tap_eq_int(facts.cpus_allowed, CPU_COUNT(&own));
    tree_remove(&tree);
}

TEST(files_and_ports_below_sysroot)
{
    struct tree tree;
    struct facts facts;

    if (!tap_ok(tree_make(&tree)))
        return;
    tree_write(&tree, "/proc/sys/net/ipv4/ip_local_port_range", "1024\t60000\n");
    tree_write(&tree, "/etc/rankinit/spec.yaml", "");
    tree_write(&tree, "/dev/termination-log", "");
    tree_write(&tree, "/dev/shm/x", "");
    tree_write(&tree, "/opt/ml/input/config/resourceconfig.json", "{\"hosts\": []}");
    facts_collect(tree.root, no_env, true, &facts);
    tap_eq_str(facts.resource_config, "{\"hosts\": []}");
    tap_eq_int(facts.ephemeral_port_min, 1024);
    tap_eq_int(facts.ephemeral_port_max, 60000);
    tap_ok(facts.default_spec && facts.termination_log);
    tap_ok(facts.shm_bytes > 0);
    tree_write(&tree, "/proc/sys/net/ipv4/ip_local_port_range", "60000\t5\n");
    unlink(tree_path(&tree, "/dev/termination-log"));
    tap_eq_int(symlink("shm/x", tree_path(&tree, "/dev/termination-log")), 0);
    facts_collect(tree.root, no_env, true, &facts);
    tap_eq_int(facts.ephemeral_port_min, 32768);
    tap_ok(!facts.termination_log);
    tree_remove(&tree);
}

TEST(python_from_path)
{
    struct tree tree;
    struct facts facts;
    char path[512];
    const char *env[] = {"PATHX=/no", path, NULL};

    if (!tap_ok(tree_make(&tree)))
        return;
    snprintf(path, sizeof(path), "PATH=%s/none:%s/a:%s/b", tree.root, tree.root, tree.root);
    tree_write(&tree, "/a/python3", "");
    facts_collect("", env, false, &facts);
    tap_eq_str(facts.python, NULL); /* not executable */
    chmod(tree_path(&tree, "/a/python3"), 0755);
    tree_parents(&tree, "/b/python/x"); /* a folder */
    facts_collect("", env, false, &facts);
    tap_eq_str(facts.python, "python3");
    rmdir(tree_path(&tree, "/b/python"));
    tree_write(&tree, "/b/python", "");
    chmod(tree_path(&tree, "/b/python"), 0755);
    facts_collect("", env, false, &facts);
    tap_eq_str(facts.python, "python");
    tree_remove(&tree);
}

TEST(scratch_dir)
{
    struct tree tree;
    struct facts facts;
    char tmpdir[512];
    const char *env[] = {tmpdir, NULL};

    if (!tap_ok(tree_make(&tree)))
        return;
    snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", tree.root);
    facts_collect("", env, false, &facts);
    tap_eq_str(facts.scratch_dir, tree.root);
    snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s/none", tree.root);
    facts_collect("", env, false, &facts);
    tap_eq_str(facts.scratch_dir, "/tmp");
    snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=.");
    facts_collect("", env, false, &facts);
    tap_eq_str(facts.scratch_dir, "/tmp");
    tree_remove(&tree);
}

TEST(our_own_process)
{
    struct tree tree;
    struct facts facts;
    char cwd[PATH_MAX];
    int home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (!tap_ok(tree_make(&tree)))
        return;
    facts_collect("", no_env, true, &facts);
    tap_eq_int(facts.pid, getpid());
    tap_eq_int(facts.uid, getuid());
    tap_eq_int(facts.is_init, getpid() == 1);
    tap_eq_str(facts.cwd, getcwd(cwd, sizeof(cwd)));
    tap_ok(facts.hostname[0] != '\0');
    tap_ok(facts.stdin_open);
    tap_ok(facts.cpus_allowed >= 1);
    /* The working directory may have gone. */
    tap_ok(chdir(tree.root) == 0 && rmdir(tree.root) == 0);
    facts_collect("", no_env, false, &facts);
    tap_eq_str(facts.cwd, "");
    tap_eq_int(facts.device_count, 0);
    tap_eq_int(facts.cpu_quota_us, -1);
    tap_eq_int(fchdir(home), 0);
    close(home);
}

TAP_MAIN()
