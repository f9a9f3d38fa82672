/* Whole machines, from files to what each rank gets: one row each. */
#include <stdarg.h>

#include "fixture.h"
#include "machine.h"
#include "model/cpus.h"
#include "model/rankenv.h"
#include "sys/facts.h"

struct row {
    const char *machine; /* machine.h */
    const char *env, *line;
    const char *want; /* as outcome() writes it; "!CODE part of the message"; "~notice" after it */
};

/* "4 shared left 0,1,2,3 t2": ranks, mode, mask (each rank's if they differ), threads, CPUs. */
static void write_plan(const struct plan *plan, struct buf *out)
{
    int masks = plan->devices.set_variable && plan->devices.mode != DEVICE_SHARED ? plan->job.nproc
                                                                                  : 1;
    bool bound = plan->job.nproc > 0 && plan->places[0].bound;

    buf_addf(out, "%d %s %s", plan->job.nproc, devices_mode_word(plan->devices.mode),
             plan->devices.set_variable ? plan->devices.variable : "left");
    for (int i = 0; i < masks; i++) {
        buf_addc(out, ' ');
        devices_list(&plan->devices, i, out);
    }
    buf_addf(out, " t%d", plan->omp_threads);
    for (int i = 0; bound && i < plan->job.nproc; i++) {
        buf_adds(out, i > 0 ? " | " : " @ ");
        cpuset_write(&plan->places[i].cpus, out);
        if (plan->places[i].memory_node >= 0)
            buf_addf(out, " m%d", plan->places[i].memory_node);
    }
}

static const char *outcome(struct fixture *f, const struct row *row)
{
    static char room[4096];
    static struct facts_cpu topology[CPUSET_MAX];
    struct buf out = BUF_OVER(room);
    struct tree tree;
    char line[512];

    if (!tap_ok(tree_make(&tree)))
        return "";
    machine_build(&tree, row->machine);
    fixture_split(row->env, &f->env);
    facts_collect(tree.root, strvec_texts(&f->env), true, &f->facts);
    facts_collect_topology(tree.root, topology, &f->facts);
    f->facts.python = "python";
    snprintf(line, sizeof(line), "%s%strain.py", row->line, row->line[0] ? " " : "");
    if (fixture_plan(f, "", line) < 0)
        buf_addf(&out, "!%d %s", exitcode_of_kind(f->err.kind), f->err.message);
    else
        write_plan(&f->plan, &out);
    tree_remove(&tree);
    return room;
}

static void check_row(const struct row *row)
{
    struct fixture f = fixture_new();
    const char *notice = strchr(row->want, '~'), *got = outcome(&f, row);
    char want[512];
    bool ok;

    snprintf(want, sizeof(want), "%.*s",
             (int)(notice ? (size_t)(notice - row->want) : strlen(row->want)), row->want);
    ok = want[0] == '!' ? tap_has_str(got, want) : tap_eq_str(got, want);
    if (notice && !tap_ok(fixture_noticed(&f, notice + 1))) {
        ok = false;
        for (size_t i = 0; i < f.plan.notices.count; i++)
            printf("#   notice: %s\n", f.plan.notices.items[i]);
    }
    if (!ok)
        printf("# with: %s | %s | %s\n", row->machine, row->env, row->line);
    fixture_free(&f);
}

#define CHECK(rows)                                             \
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) \
    check_row(&rows[i])

/* Reference 3.4, row by row, on four GPUs: refused where the driver would quietly drop something. */
TEST(the_driver_s_grammar)
{
    static const struct row rows[] = {
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=1gpu2,2ampere", "", "2 shared left 1gpu2,2ampere t4"},
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=0-3", "",
         "!78 CUDA_VISIBLE_DEVICES=0-3: of \"0-3\" the driver reads only the number that it"},
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=0;1", "",
         "!78 CUDA_VISIBLE_DEVICES=0;1: of \"0;1\" the driver reads only the number"},
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=2,0:1", "",
         "!78 CUDA_VISIBLE_DEVICES=2,0:1: of \"0:1\" the driver reads only the number"},
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=0,1,2,-1,3", "",
         "!78 CUDA_VISIBLE_DEVICES=0,1,2,-1,3: the driver stops at \"-1\""},
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=0,1,2,1", "",
         "!78 CUDA_VISIBLE_DEVICES=0,1,2,1: \"1\" is a device that is named before"},
        {"gpu:0-5", "CUDA_VISIBLE_DEVICES=2,+3,-0,5", "", "4 shared left 2,+3,-0,5 t2"},
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=one,two,3,4", "",
         "!78 CUDA_VISIBLE_DEVICES=one,two,3,4: the driver stops at \"one\""},
        {"gpu:0-4", "CUDA_VISIBLE_DEVICES=4,3,two,one", "",
         "!78 CUDA_VISIBLE_DEVICES=4,3,two,one: the driver stops at \"two\""},
        {"gpu:0-3 info:0-3", "CUDA_VISIBLE_DEVICES=GPU-00000002", "",
         "1 shared left GPU-00000002 t8"},
        {"gpu:0-3 info:0-3", "CUDA_VISIBLE_DEVICES=GPU-00000002,2", "",
         "!78 CUDA_VISIBLE_DEVICES=GPU-00000002,2: the driver stops at \"2\": indices"},
        {"gpu:0-3 info:0-3", "CUDA_VISIBLE_DEVICES=GPU-9", "",
         "!78 CUDA_VISIBLE_DEVICES=GPU-9: no device here has the UUID"},
        {"gpu:0-3 info:0-3", "CUDA_VISIBLE_DEVICES=GPU-0", "",
         "!78 CUDA_VISIBLE_DEVICES=GPU-0: \"GPU-0\" fits several"},
        {"gpu:0-3 info:0-3", "CUDA_VISIBLE_DEVICES=GPU-00000002,GPU-00000002-0", "",
         "!78 CUDA_VISIBLE_DEVICES=GPU-00000002,GPU-00000002-0: \"GPU-00000002-0\" is a device"},
        {"gpu:0-1", "CUDA_VISIBLE_DEVICES=1,5,0", "",
         "!78 CUDA_VISIBLE_DEVICES=1,5,0: there is no device \"5\", only 2"},
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=3,1", "--device-mode isolated",
         "2 isolated CUDA_VISIBLE_DEVICES 3 1 t4"},
        {"gpu:0-3 info:0-3", "CUDA_VISIBLE_DEVICES=GPU-00000002-0000,GPU-00000000-0000",
         "--virtual-local-rank",
         "2 isolated CUDA_VISIBLE_DEVICES GPU-00000002-0000 GPU-00000000-0000 t4"},
    };

    CHECK(rows);
}

TEST(what_hides_all_devices)
{
    static const struct row rows[] = {
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=", "", "1 shared left  t8"},
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=-1", "", "1 shared left  t8"},
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=none", "", "1 shared left  t8"},
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=void", "", "1 shared left  t8"},
        {"gpu:0-3", "CUDA_VISIBLE_DEVICES=NoDevFiles", "--nproc-per-node gpu",
         "!69 --nproc-per-node asks for devices, but CUDA_VISIBLE_DEVICES hides all"},
        {"gpu:0-3", "", "--device-mode none --nproc-per-node 2",
         "2 none CUDA_VISIBLE_DEVICES   t4"},
    };

    CHECK(rows);
}

TEST(nodes_decide_what_is_there)
{
    static const struct row rows[] = {
        {"", "", "", "1 shared left  t8"},
        {"gpu:0-3", "", "", "4 shared left 0,1,2,3 t2"},
        {"gpu:1", "", "", "1 shared left 0 t8"}, /* sparse minors */
        {"gpu:6", "", "--device-mode isolated", "1 isolated CUDA_VISIBLE_DEVICES 0 t8"},
        {"gpu:6 info:0-7", "", "",
         "1 shared left 0 t8~device 0, GPU-00000006-0000, 0000:16:00.0"}, /* CDI */
        {"gpu:0,5 info:0,5", "", "", "2 shared left 0,1 t4~rank 1: device 1, GPU-00000005-0000"},
        {"gpu:0-1 unused:0-1", "", "", "2 shared left 0,1 t4~rank 0: device 0, 0000:10:00.0"},
        {"gpu:0-1 info:0 excluded:1", "", "", "1 shared left 0 t8"},
        {"gpu:0-1 driver", "", "", "2 shared left 0,1 t4"},
        {"driver", "", "",
         "1 shared left  t8~no device can be used, although the NVIDIA driver is here"},
        {"gpu:0-1", "NVIDIA_VISIBLE_DEVICES=all", "", "2 shared left 0,1 t4"},
        {"gpu:0-1", "NVIDIA_VISIBLE_DEVICES=void", "", "2 shared left 0,1 t4"}, /* CDI says so */
        {"gpu:0-1", "NVIDIA_VISIBLE_DEVICES=none", "", "2 shared left 0,1 t4"},
        {"", "NVIDIA_VISIBLE_DEVICES=all", "", "1 shared left  t8"},           /* baked in */
        {"gpu:0-1", "NVIDIA_VISIBLE_DEVICES=6,7", "", "2 shared left 0,1 t4"}, /* host's numbers */
        {"gpu:0", "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b", "",
         "1 shared left 0 t8~NVIDIA_VISIBLE_DEVICES names 2 GPUs, but only 1 are here"},
    };

    CHECK(rows);
}

TEST(enough_for_what_is_asked)
{
    static const struct row rows[] = {
        {"gpu:0-7", "", "--nproc-per-node 4",
         "4 shared left 0,1,2,3,4,5,6,7 t2~8 devices are visible (/dev/nvidia*), 4 used"},
        {"gpu:0-7", "", "--gpus-per-rank 2", "4 isolated CUDA_VISIBLE_DEVICES 0,1 2,3 4,5 6,7 t2"},
        {"gpu:0-7", "", "--gpus-per-rank 3",
         "2 isolated CUDA_VISIBLE_DEVICES 0,1,2 3,4,5 t4~8 devices are visible"},
        {"gpu:0-1", "", "--nproc-per-node 4",
         "!78 4 rank(s) with 1 device(s) each need 4, /dev/nvidia* shows 2"},
        {"gpu:0-1", "", "--nproc-per-node 4 --device-share",
         "4 shared left 0,1 t2~4 ranks share 2 devices"},
        {"gpu:0", "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b", "--nproc-per-node 2",
         "!69 2 rank(s) with 1 device(s) each need 2"},
        {"gpu:0", "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-a,GPU-a,GPU-a", "--nproc-per-node 4",
         "!78 4 rank(s) with 1 device(s) each need 4, /dev/nvidia* shows 1: NVIDIA_VISIBLE_DEVICES names 4 replicas of 1 (time-slicing)"},
        {"", "", "--nproc-per-node gpu",
         "!69 --nproc-per-node asks for devices, but there is no /dev/nvidia*"},
        {"gpu:0-3", "", "--devices 2-3 --device-mode isolated-keep-rank",
         "2 isolated-keep-rank CUDA_VISIBLE_DEVICES 2 3 t4"},
        {"gpu:0-3 info:0-3", "", "--devices GPU-00000003",
         "1 shared CUDA_VISIBLE_DEVICES GPU-00000003 t8"},
        {"gpu:0-3", "", "--devices 4", "!78 --devices=4: there is no device \"4\""},
        /* Several nodes: a count that may differ elsewhere is refused. */
        {"driver", "", "--nnodes 2 --node-rank 0 --master-addr m --nproc-per-node auto",
         "!69 the NVIDIA driver is here"},
        {"gpu:0", "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b", "--nnodes 2 --node-rank 0 --master-addr m",
         "!69 NVIDIA_VISIBLE_DEVICES names 2 GPUs"},
        {"gpu:0-1", "", "--nnodes 2 --node-rank 0 --master-addr m",
         "2 shared left 0,1 t4~assuming 2 ranks on every node"},
        {"", "", "--nnodes 2 --node-rank 0 --master-addr m",
         "1 shared left  t8~no device and no sign of any"},
    };

    CHECK(rows);
}

TEST(mig_and_mps)
{
    static const struct row rows[] = {
        {"gpu:0 info:0", "CUDA_VISIBLE_DEVICES=MIG-11,MIG-22", "",
         "2 isolated CUDA_VISIBLE_DEVICES MIG-11 MIG-22 t4"},
        {"gpu:0 info:0", "CUDA_VISIBLE_DEVICES=MIG-GPU-00000000-0000/1/0", "",
         "1 isolated CUDA_VISIBLE_DEVICES MIG-GPU-00000000-0000/1/0 t8~0000:10:00.0"},
        {"gpu:0 info:0 mig:2", "NVIDIA_VISIBLE_DEVICES=MIG-aa,MIG-bb", "",
         "2 isolated CUDA_VISIBLE_DEVICES MIG-aa MIG-bb t4"},
        {"gpu:0 info:0 mig:2", "NVIDIA_VISIBLE_DEVICES=all", "",
         "2 isolated CUDA_VISIBLE_DEVICES MIG-GPU-00000000-0000/1/0 MIG-GPU-00000000-0000/2/0 t4"},
        {"gpu:0 mig:1", "", "", "1 shared left 0 t8"},
        {"gpu:0 mig:2", "", "", "!78 there are 2 MIG instances, but nothing tells their names"},
        {"gpu:0 info:0 mig:2", "NVIDIA_VISIBLE_DEVICES=MIG-aa,MIG-bb", "--devices 1",
         "1 isolated CUDA_VISIBLE_DEVICES MIG-bb t8"},
        {"gpu:0 info:0 mig:2", "NVIDIA_VISIBLE_DEVICES=MIG-aa,MIG-bb", "--device-mode shared",
         "!78 --device-mode shared with 2 MIG instances"},
        {"gpu:0 info:0", "CUDA_VISIBLE_DEVICES=MIG-11,MIG-22", "--gpus-per-rank 2",
         "!78 2 devices per rank"},
        {"gpu:0-1 info:0-1", "CUDA_MPS_PIPE_DIRECTORY=/mps", "--device-mode isolated",
         "2 isolated CUDA_VISIBLE_DEVICES GPU-00000000-0000 GPU-00000001-0000 t4"},
        {"gpu:0-1", "CUDA_MPS_PIPE_DIRECTORY=/mps", "--device-mode isolated",
         "2 isolated CUDA_VISIBLE_DEVICES 0 1 t4~name them by UUID"},
        {"gpu:0 info:0", "CUDA_MPS_PIPE_DIRECTORY=/mps",
         "--nproc-per-node 2 --device-share --device-mode isolated",
         "2 isolated CUDA_VISIBLE_DEVICES GPU-00000000-0000 GPU-00000000-0000 t4"},
    };

    CHECK(rows);
}

TEST(other_vendors)
{
    static const struct row rows[] = {
        {"kfd:0-3", "", "", "4 shared left 0,1,2,3 t2"},
        {"kfd:0-1", "", "--device-mode isolated", "2 isolated ROCR_VISIBLE_DEVICES 0 1 t4"},
        {"kfd:0-3", "HIP_VISIBLE_DEVICES=2,3", "--device-mode isolated",
         "2 isolated HIP_VISIBLE_DEVICES 2 3 t4"},
        {"kfd:0-3", "ROCR_VISIBLE_DEVICES=2,3", "--device-mode isolated",
         "2 isolated ROCR_VISIBLE_DEVICES 2 3 t4"},
        /* An index of the inner variable counts in what the outer one leaves over. */
        {"kfd:0-3", "ROCR_VISIBLE_DEVICES=2,3 HIP_VISIBLE_DEVICES=1,0", "--device-mode isolated",
         "2 isolated HIP_VISIBLE_DEVICES 1 0 t4"},
        {"kfd:0-3", "ROCR_VISIBLE_DEVICES=2,3 HIP_VISIBLE_DEVICES=3", "",
         "!78 HIP_VISIBLE_DEVICES=3: there is no device \"3\", only 2 of those that the outer"},
        {"kfd:0-3", "ROCR_VISIBLE_DEVICES=0,1x", "",
         "!78 ROCR_VISIBLE_DEVICES=0,1x: ROCm stops at \"1x\""},
        {"kfd:0-1", "", "--device-mode none", "1 none ROCR_VISIBLE_DEVICES -1 t8"},
        {"davinci:4-5", "", "--device-mode isolated",
         "2 isolated ASCEND_RT_VISIBLE_DEVICES 0 1 t4"},
        {"davinci:0-3", "ASCEND_RT_VISIBLE_DEVICES=1,3", "--device-mode isolated",
         "2 isolated ASCEND_RT_VISIBLE_DEVICES 1 3 t4"},
        {"davinci:0-3", "ASCEND_RT_VISIBLE_DEVICES=3,1", "",
         "!78 ASCEND_RT_VISIBLE_DEVICES=3,1: the Ascend runtime stops at \"1\": its numbers have to ascend"},
        {"accel:0-1", "", "--device-mode isolated", "2 isolated HABANA_VISIBLE_MODULES 7 6 t4"},
        {"render:0-1", "", "", "1 shared left  t8"}, /* every desktop has it */
        {"render:0-1", "", "--vendor intel --device-mode isolated",
         "2 isolated ZE_AFFINITY_MASK 0 1 t4"},
        {"render:0-1", "ZE_AFFINITY_MASK=0.0,0.1", "--device-mode isolated",
         "2 isolated ZE_AFFINITY_MASK 0.0 0.1 t4"},
        {"render:0-1", "ZE_AFFINITY_MASK=0..1", "",
         "!78 ZE_AFFINITY_MASK=0..1: Level Zero stops at"},
        {"gpu:0-1 kfd:0-3", "", "", "2 shared left 0,1 t4"},
        {"gpu:0-1 kfd:0-3", "", "--vendor amd", "4 shared left 0,1,2,3 t2"},
        {"dxg", "", "", "!78 the devices of /dev/dxg cannot be counted: state --nproc-per-node N"},
        {"dxg", "", "--nproc-per-node 1", "1 shared left  t8"},
        {"dxg", "", "--nproc-per-node 2 --device-mode isolated",
         "2 isolated CUDA_VISIBLE_DEVICES 0 1 t4~2 are taken on your word"},
        {"", "", "--vendor ascend --nproc-per-node 2 --device-mode isolated",
         "2 isolated ASCEND_RT_VISIBLE_DEVICES 0 1 t4~cannot be counted"},
        {"", "ASCEND_RT_VISIBLE_DEVICES=0,1", "--device-mode isolated",
         "2 isolated ASCEND_RT_VISIBLE_DEVICES 0 1 t4"},
    };

    CHECK(rows);
}

TEST(quotas_and_sets_of_cpus)
{
    static const struct row rows[] = {
        {"cpus:0-15 v2:50000/100000", "", "--nproc-per-node 2", "2 shared left  t1"},
        {"cpus:0-15 v2:150000/100000", "", "--nproc-per-node 1", "1 shared left  t1"},
        {"cpus:0-15 v2:765000/100000", "", "--nproc-per-node 1", "1 shared left  t7"},
        {"cpus:0-15 v2:765000/100000", "", "--nproc-per-node cpu", "7 shared left  t1"},
        {"cpus:0-15 v2:max/100000", "", "--nproc-per-node cpu", "16 shared left  t1"},
        {"cpus:0-15 v2:max/100000 parent:400000/100000", "", "--nproc-per-node 2",
         "2 shared left  t2"},
        {"cpus:0-15 v1:400000/100000", "", "--nproc-per-node 2", "2 shared left  t2"},
        {"cpus:0-15 v1:-1/100000", "", "--nproc-per-node 2", "2 shared left  t8"},
        {"cpus:0-15 hybrid:300000/100000", "", "--nproc-per-node cpu", "3 shared left  t1"},
        {"cpus:0-3 v2:800000/100000", "", "--nproc-per-node 2", "2 shared left  t2"},
        {"cpus:0-15", "", "--nproc-per-node 2 --threads torchrun", "2 shared left  t1"},
        {"cpus:0-15", "", "--nproc-per-node 1 --threads torchrun", "1 shared left  t0"},
        {"cpus:0-15", "", "--nproc-per-node 2 --threads keep", "2 shared left  t0"},
        {"pids:10/3", "", "--nproc-per-node 8",
         "!78 the pids limit of the container leaves room for 7"},
        {"pids:200/3", "", "--nproc-per-node 8",
         "8 shared left  t1~leaves room for 197 processes and threads"},
        {"pids:9999/3", "", "--nproc-per-node 8", "8 shared left  t1"},
    };

    CHECK(rows);
}

#define HOST "numa:4 gpu:0-7 info:0-7 cores:16 smt cpus:0-31"

TEST(ranks_on_their_cpus)
{
    static const struct row rows[] = {
        {HOST, "", "--nproc-per-node 4 --cpu-bind numa",
         "4 shared left 0,1,2,3,4,5,6,7 t4 @ 0-7,16-23 m0 | 0-7,16-23 m0 | 0-7,16-23 m0 | 0-7,16-23 m0"},
        {HOST, "", "--cpu-bind numa --device-mode isolated --devices 3,4",
         "2 isolated CUDA_VISIBLE_DEVICES 3 4 t8 @ 0-7,16-23 m0 | 8-15,24-31 m1"},
        {HOST, "", "--cpu-bind cores --nproc-per-node 4",
         "4 shared left 0,1,2,3,4,5,6,7 t8 @ 0-3,16-19 m0 | 4-7,20-23 m0 | 8-11,24-27 m1 | 12-15,28-31 m1"},
        {HOST, "", "--cpu-bind cores --nproc-per-node 3",
         "3 shared left 0,1,2,3,4,5,6,7 t8 @ 0-5,16-21 m0 | 6-10,22-26 | 11-15,27-31 m1"},
        {HOST, "", "--numa-binding node --nproc-per-node 2",
         "2 shared left 0,1,2,3,4,5,6,7 t8 @ 0-7,16-23 m0 | 0-7,16-23 m0"},
        {HOST, "", "--numa-binding exclusive",
         "8 shared left 0,1,2,3,4,5,6,7 t4 @ 0-1,16-17 m0 | 2-3,18-19 m0 | 4-5,20-21 m0 | 6-7,22-23 m0 | 8-9,24-25 m1 | 10-11,26-27 m1 | 12-13,28-29 m1 | 14-15,30-31 m1"},
        {HOST, "", "--numa-binding socket --device-mode isolated --devices 0,7",
         "2 isolated CUDA_VISIBLE_DEVICES 0 7 t8 @ 0-7,16-23 m0 | 8-15,24-31 m1"},
        {"numa:2 gpu:0-1 info:0-1 cores:16 l3:4 cpus:0-15", "", "--numa-binding core-complex",
         "2 shared left 0,1 t4 @ 0-3 m0 | 4-7 m0"},
        /* Only within what is allowed. */
        {"numa:4 gpu:0-7 info:0-7 cores:16 smt cpus:2-9", "",
         "--cpu-bind numa --device-mode isolated --devices 3,4",
         "2 isolated CUDA_VISIBLE_DEVICES 3 4 t2 @ 2-7 m0 | 8-9 m1"},
        {"numa:4 gpu:0-7 info:0-7 cores:16 cpus:0-3", "",
         "--cpu-bind numa --device-mode isolated --devices 0,4",
         "2 isolated CUDA_VISIBLE_DEVICES 0 4 t2 @ 0-3 m0 | ~none of the allowed CPUs is at NUMA node 1"},
        {"nonuma gpu:0-1 info:0-1 cores:16 cpus:0-15", "", "--cpu-bind numa",
         "2 shared left 0,1 t8~the NUMA node of its device is unknown"},
        {"nonuma gpu:0-1 info:0-1 cores:16 cpus:0-7", "", "--cpu-bind numa",
         "2 shared left 0,1 t4 @ 0-7 m0 | 0-7 m0"},
        /* Without devices. */
        {"cores:16 smt cpus:0-31", "", "--cpu-bind numa --nproc-per-node 4",
         "4 shared left  t8 @ 0-7,16-23 m0 | 0-7,16-23 m0 | 8-15,24-31 m1 | 8-15,24-31 m1"},
        {"cpus:0-1", "", "--cpu-bind cores --nproc-per-node 4",
         "4 shared left  t1 @ 0 | 0 | 1 | 1~4 ranks share 2 cores"},
        {"cpus:0-7 v2:200000/100000", "", "--cpu-bind cores --nproc-per-node 2",
         "2 shared left  t1 @ 0-3 | 4-7"},
        {"cpus:0-7", "", "--cpu-bind numa --nproc-per-node 2", "2 shared left  t4 @ 0-7 | 0-7"},
        {HOST, "", "--cpu-bind cores --numa-binding node",
         "!78 --cpu-bind=cores and --numa-binding=node both say"},
        {HOST, "RANKINIT_CPU_BIND=cores", "--numa-binding node --nproc-per-node 1",
         "1 shared left 0,1,2,3,4,5,6,7 t8 @ 0-7,16-23 m0"},
        {HOST, "", "--nproc-per-node 16", "!78 16 rank(s) with 1 device(s) each need 16"},
        {HOST, "", "--nproc-per-node 16 --device-share --cpu-bind numa",
         "16 shared left 0,1,2,3,4,5,6,7 t2 @ 0-7,16-23 m0 | 0-7,16-23 m0 | 0-7,16-23 m0 | 0-7,16-23 m0 | 8-15,24-31 m1 | 8-15,24-31 m1 | 8-15,24-31 m1 | 8-15,24-31 m1 | 0-7,16-23 m0 | 0-7,16-23 m0 | 0-7,16-23 m0 | 0-7,16-23 m0 | 8-15,24-31 m1 | 8-15,24-31 m1 | 8-15,24-31 m1 | 8-15,24-31 m1"},
    };

    CHECK(rows);
}

/* What a rank finds in its environment. */
TEST(ranks_know_their_place)
{
    static const struct row row = {HOST, "", "--cpu-bind numa --gpus-per-rank 2", ""};
    static const char *const want[] = {
        "CUDA_VISIBLE_DEVICES=4,5",
        "LOCAL_RANK=0",
        "RANKINIT_THIS_LOCAL_RANK=2",
        "RANKINIT_THIS_DEVICES=4,5",
        "RANKINIT_THIS_DEVICE_MODE=isolated",
        "RANKINIT_THIS_UUIDS=GPU-00000004-0000,GPU-00000005-0000",
        "RANKINIT_THIS_BUS_IDS=0000:14:00.0,0000:15:00.0",
        "RANKINIT_THIS_NUMA_NODE=1",
        "RANKINIT_THIS_CPUS=8-15,24-31",
    };
    struct fixture f = fixture_new();
    struct strvec env = STRVEC_INIT;
    const struct rankenv_late late = {.master_port = 1};

    outcome(&f, &row);
    rankenv_build(&f.plan, 2, &late, &env);
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        bool found = false;

        for (size_t j = 0; j < env.count; j++)
            found = found || strcmp(env.items[j], want[i]) == 0;
        if (!tap_ok(found))
            printf("# %s\n", want[i]);
    }
    tap_ok(fixture_noticed(&f, "devices isolated: rank 0: device 0,1, GPU-00000000-0000,"));
    tap_ok(fixture_noticed(&f, "NUMA node 1, CPUs 8-15,24-31"));
    strvec_release(&env);
    fixture_free(&f);
}

TAP_MAIN()
