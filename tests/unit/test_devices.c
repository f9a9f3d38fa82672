#include "model/devices.h"

#include "base/buf.h"
#include "fixture.h"

/* The pool that CUDA_VISIBLE_DEVICES=text gives on a machine with n GPUs: "0 2 3", or "!" + error. */
static const char *pool(struct fixture *f, const char *text)
{
    static char room[1024];
    struct buf out = BUF_OVER(room);
    struct devices devices;
    struct strvec env = STRVEC_INIT;

    if (text)
        strvec_pushf(&env, "CUDA_VISIBLE_DEVICES=%s", text);
    if (devices_find(&f->settings, &f->facts, strvec_texts(&env), &devices, &f->err) < 0)
        buf_addf(&out, "!%d %s", exitcode_of_kind(f->err.kind), f->err.message);
    else
        buf_adds(&out, devices.hidden ? "hidden" : fixture_join(&devices.pool));
    devices_release(&devices);
    strvec_release(&env);
    return room;
}

/* Reference: what the driver makes of a list; what it would quietly drop is refused. */
TEST(lists_are_read_as_the_driver_reads_them)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"1gpu2,2ampere", "1gpu2 2ampere"},
        {" 0 , 1 ", "0 1"},
        {"2, +3, -0, 5", "2 +3 -0 5"},
        {"0,1,", "0 1"},
        {"7", "7"},
        {"0, 1, 2, -1, 3", "!78 CUDA_VISIBLE_DEVICES=0, 1, 2, -1, 3: the driver stops at \"-1\""},
        {"0,2,-1,1", "!78 CUDA_VISIBLE_DEVICES=0,2,-1,1: the driver stops at \"-1\""},
        {"0, 1, 2, 1",
         "!78 CUDA_VISIBLE_DEVICES=0, 1, 2, 1: \"1\" is a device that is named before"},
        {"1,1x", "!78 CUDA_VISIBLE_DEVICES=1,1x: \"1x\" is a device that is named before"},
        {"one,two,3,4", "!78 CUDA_VISIBLE_DEVICES=one,two,3,4: the driver stops at \"one\""},
        {"4,3,two,one", "!78 CUDA_VISIBLE_DEVICES=4,3,two,one: the driver stops at \"two\""},
        {"0,,1", "!78 CUDA_VISIBLE_DEVICES=0,,1: the driver stops at \"\""},
        {"GPU-028f1c", "GPU-028f1c"},
        {"GPU-02,GPU-03", "GPU-02 GPU-03"},
        {"GPU-02, 2", "!78 CUDA_VISIBLE_DEVICES=GPU-02, 2: the driver stops at \"2\": indices"},
        {"0,GPU-02", "!78 CUDA_VISIBLE_DEVICES=0,GPU-02: the driver stops at \"GPU-02\""},
        {"GPU-0", "!78 CUDA_VISIBLE_DEVICES=GPU-0: \"GPU-0\" fits several devices"},
        {"GPU-77", "!78 CUDA_VISIBLE_DEVICES=GPU-77: no device here has the UUID \"GPU-77\""},
        {"GPU-02,GPU-028f", "!78 CUDA_VISIBLE_DEVICES=GPU-02,GPU-028f: \"GPU-028f\" is a device"},
        {"1, 8, 0", "!78 CUDA_VISIBLE_DEVICES=1, 8, 0: there is no device \"8\", only 8"},
        {"MIG-11,MIG-GPU-028f1c/1/0", "MIG-11 MIG-GPU-028f1c/1/0"},
        {"MIG-11,MIG-11", "!78 CUDA_VISIBLE_DEVICES=MIG-11,MIG-11: \"MIG-11\" is a device"},
        {"MIG-11,GPU-02", "!78 CUDA_VISIBLE_DEVICES=MIG-11,GPU-02: the driver stops at"},
        {"99999999999999999999", "!78 CUDA_VISIBLE_DEVICES=99999999999999999999: the driver stops"},
        {"", "hidden"},
        {" ", "hidden"},
        {"-1", "hidden"},
        {"none", "hidden"},
        {"void", "hidden"},
        {"NoDevFiles", "hidden"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture f = fixture_new();
        const char *got;

        fixture_gpus(&f, 8);
        got = pool(&f, rows[i].text);
        if (rows[i].want[0] == '!')
            tap_has_str(got, rows[i].want);
        else
            tap_eq_str(got, rows[i].want);
        fixture_free(&f);
    }
}

TEST(without_device_nodes_a_list_is_taken_at_its_word)
{
    struct fixture f = fixture_new();

    tap_eq_str(pool(&f, "0,9"), "0 9");
    tap_eq_str(pool(&f, "GPU-77,GPU-78"), "GPU-77 GPU-78");
    fixture_gpus(&f, 2);
    f.facts.devices[1].uuid[0] = '\0'; /* no procfs: UUIDs are unknown */
    tap_eq_str(pool(&f, "GPU-77"), "GPU-77");
    fixture_free(&f);
}

TEST(nodes_count_from_0_whatever_their_minors_are)
{
    struct fixture f = fixture_new();

    fixture_gpus(&f, 3);
    f.facts.devices[0].minor = 6;
    tap_eq_str(pool(&f, NULL), "0 1 2");
    f.facts.devices[1].accessible = false;
    tap_eq_str(pool(&f, NULL), "0 1");
    tap_has_str(pool(&f, "0,2"), "!78");
    fixture_free(&f);
}

TEST(more_granted_than_present_is_a_shortage)
{
    struct fixture f = fixture_new();
    struct devices devices;
    const char *const env[] = {"NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b,GPU-a, GPU-c ,MIG-1,all",
                               "CUDA_VISIBLE_DEVICES=0,2", NULL};

    fixture_gpus(&f, 2);
    tap_eq_int(devices_find(&f.settings, &f.facts, env, &devices, &f.err), -1);
    tap_eq_int(f.err.kind, ERR_DEVICES);
    tap_eq_int(devices.evidence, 3);
    fixture_free(&f);
}

static const char *narrowed(int gpus, const char *inherited, const char *list)
{
    static char room[1024];
    struct fixture f = fixture_new();
    struct buf out = BUF_OVER(room);

    fixture_gpus(&f, gpus);
    settings_offer(&f.settings, OPT_DEVICES, &(struct setting){SOURCE_FLAG, list, "--devices"},
                   &f.err);
    buf_adds(&out, pool(&f, inherited));
    fixture_free(&f);
    return room;
}

TEST(devices_select_within_the_pool)
{
    tap_eq_str(narrowed(4, NULL, "2,0"), "2 0");
    tap_eq_str(narrowed(4, NULL, "1-3"), "1 2 3");
    tap_eq_str(narrowed(8, "4,5,6,7", "6,5"), "6 5");
    tap_eq_str(narrowed(8, "4,5,6,7", "4-5"), "4 5");
    tap_eq_str(narrowed(4, NULL, "GPU-02"), "GPU-02");
    tap_eq_str(narrowed(4, "GPU-028f1c-aaaa,GPU-018f1c-aaaa", "GPU-01"), "GPU-018f1c-aaaa");
    tap_eq_str(narrowed(4, "MIG-11,MIG-22", "MIG-2"), "MIG-22");
    tap_has_str(narrowed(8, "4,5,6,7", "1"), "!78 --devices=1: \"1\" is not among the devices of "
                                             "CUDA_VISIBLE_DEVICES");
    tap_has_str(narrowed(4, NULL, "4"), "!78 --devices=4: there is no device \"4\"");
    tap_has_str(narrowed(4, NULL, "1x"), "!78 --devices=1x: the driver stops at \"1x\"");
    tap_has_str(narrowed(4, NULL, "1,1"), "named before");
    tap_has_str(narrowed(4, "MIG-11,MIG-12", "MIG-1"), "is not among");
}

/* Settles `line` (options only) for nproc ranks; what ranks get, joined by ";", or "!CODE message". */
static const char *settled(struct fixture *f, const char *inherited, const char *line, int nproc)
{
    static char room[2048];
    struct buf out = BUF_OVER(room);
    const char *const *program;
    struct devices devices = {.origin = ""};

    strvec_push(&f->words, "rankinit");
    fixture_split(line, &f->words);
    if (inherited)
        strvec_pushf(&f->env, "CUDA_VISIBLE_DEVICES=%s", inherited);
    if (options_parse(strvec_texts(&f->words), &f->settings, &program, &f->err) < 0 ||
        devices_find(&f->settings, &f->facts, strvec_texts(&f->env), &devices, &f->err) < 0 ||
        devices_settle(&devices, &f->settings, nproc, &f->plan.notices, &f->err) < 0) {
        buf_addf(&out, "!%d %s", exitcode_of_kind(f->err.kind), f->err.message);
    } else {
        buf_addf(&out, "%s%s", devices.set_variable ? "set" : "left",
                 devices.set_order ? " order" : "");
        for (int i = 0; i < nproc; i++) {
            buf_adds(&out, i > 0 ? ";" : " ");
            devices_list(&devices, i, &out);
        }
    }
    devices_release(&devices);
    return room;
}

/* A spec may spell out what holds anyway. */
TEST(one_device_per_rank_in_a_spec_asks_for_none)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_spec(&f, OPT_GPUS_PER_RANK, "1"), 0);
    tap_eq_str(settled(&f, NULL, "", 2), "left ;");
    fixture_again(&f);
    tap_eq_int(fixture_spec(&f, OPT_GPUS_PER_RANK, "2"), 0);
    tap_has_str(settled(&f, NULL, "", 2), "!69 spec.yaml: devices.per_rank asks for devices");
    fixture_free(&f);
}

TEST(no_devices_leave_nothing_to_choose)
{
    struct fixture f = fixture_new();

    fixture_gpus(&f, 4);
    tap_eq_str(settled(&f, NULL, "--device-mode none --devices 0 --gpus-per-rank 2", 1), "set ");
    tap_ok(fixture_noticed(&f, "--devices=0 has no effect: --device-mode=none"));
    tap_ok(fixture_noticed(&f, "--gpus-per-rank=2 has no effect: --device-mode=none"));
    fixture_free(&f);
}

TEST(modes_give_ranks_their_devices)
{
    static const struct {
        int gpus;
        int nproc;
        const char *inherited, *line, *want;
    } rows[] = {
        {4, 4, NULL, "", "left 0,1,2,3;0,1,2,3;0,1,2,3;0,1,2,3"},
        {4, 2, "3,1", "", "left 3,1;3,1"},
        {4, 4, NULL, "--device-mode isolated", "set order 0;1;2;3"},
        {4, 2, "3,1", "--device-mode isolated", "set order 3;1"},
        {4, 2, "GPU-03,GPU-01", "--device-mode isolated", "set GPU-03;GPU-01"},
        {4, 2, NULL, "--device-mode isolated-keep-rank", "set order 0;1"},
        {4, 2, NULL, "--virtual-local-rank", "set order 0;1"},
        {4, 2, NULL, "--gpus-per-rank 2", "set order 0,1;2,3"},
        {4, 2, "MIG-1,MIG-2", "", "set MIG-1;MIG-2"},
        {4, 2, NULL, "--devices 2-3", "set order 2,3;2,3"},
        {4, 8, NULL, "--device-mode none", "set ;;;;;;;"},
        {0, 3, NULL, "", "left ;;"},
        {4, 2, "-1", "", "left ;"},
        {2, 4, NULL, "--device-share", "left 0,1;0,1;0,1;0,1"},
        {2, 4, NULL, "--device-share --device-mode isolated", "set order 0;1;0;1"},
        {2, 4, NULL, "", "!78 4 rank(s) with 1 device(s) each need 4, /dev/nvidia* shows 2"},
        {4, 2, NULL, "--gpus-per-rank 3", "!78 2 rank(s) with 3 device(s) each need 6"},
        {2, 1, NULL, "--gpus-per-rank 3 --device-share", "!78 1 rank(s) with 3"},
        {0, 2, NULL, "--device-mode isolated", "!69 --device-mode asks for devices, but there is"},
        {0, 1, NULL, "--devices 0", "!69 --devices asks for devices"},
        {0, 1, NULL, "--nproc-per-node gpu", "!69 --nproc-per-node asks for devices"},
        {0, 1, NULL, "--gpus-per-rank 1",
         "!69 --gpus-per-rank asks for devices, but there is no /dev/nvidia*: run the container "
         "with its GPUs; without --gpus-per-rank ranks run on the CPU"},
        {4, 1, "", "--virtual-local-rank",
         "!69 --virtual-local-rank asks for devices, but CUDA_VIS"},
        {4, 2, "MIG-1,MIG-2", "--device-mode shared", "!78 --device-mode shared with 2 MIG"},
        {4, 1, "MIG-1,MIG-2", "--gpus-per-rank 2", "!78 2 devices per rank are asked for"},
        {4, 1, NULL, "--virtual-local-rank --device-mode shared", "!78 --virtual-local-rank asks"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture f = fixture_new();
        const char *got;

        fixture_gpus(&f, rows[i].gpus);
        got = settled(&f, rows[i].inherited, rows[i].line, rows[i].nproc);
        if (rows[i].want[0] == '!')
            tap_has_str(got, rows[i].want);
        else
            tap_eq_str(got, rows[i].want);
        fixture_free(&f);
    }
}

TEST(device_order_is_left_alone_when_it_is_set)
{
    struct fixture f = fixture_new();

    fixture_gpus(&f, 2);
    strvec_push(&f.env, "CUDA_DEVICE_ORDER=FASTEST_FIRST");
    tap_eq_str(settled(&f, NULL, "--device-mode isolated", 2), "set 0;1");
    fixture_free(&f);
}

TEST(evidence_turns_too_few_into_a_shortage)
{
    struct fixture f = fixture_new();

    fixture_gpus(&f, 1);
    strvec_push(&f.env, "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b");
    tap_has_str(settled(&f, NULL, "", 2), "!69 2 rank(s)");
    fixture_free(&f);
}

TEST(left_over_devices_are_one_notice)
{
    struct fixture f = fixture_new();

    fixture_gpus(&f, 8);
    settled(&f, NULL, "", 4);
    tap_eq_int(f.plan.notices.count, 1);
    tap_ok(fixture_noticed(&f, "8 devices are visible (/dev/nvidia*), 4 used"));
    fixture_free(&f);
}

/* WSL has no node for each GPU. */
TEST(devices_that_cannot_be_counted_are_taken_on_ones_word)
{
    struct fixture f = fixture_new();

    f.facts.other_accelerator = "/dev/dxg";
    tap_eq_str(settled(&f, NULL, "--device-mode isolated", 2), "set order 0;1");
    tap_ok(fixture_noticed(&f, "the devices of /dev/dxg cannot be counted: 2 are taken"));
    fixture_again(&f);
    f.facts.other_accelerator = "/dev/dxg";
    tap_eq_str(settled(&f, NULL, "", 2), "left ;");
    fixture_again(&f);
    f.facts.other_accelerator = "/dev/dxg";
    tap_eq_str(settled(&f, NULL, "--devices 3,5", 2), "set order 3,5;3,5");
    fixture_free(&f);
}

TEST(ranks_that_share_devices_come_round_again_in_whole_groups)
{
    struct fixture f = fixture_new();

    fixture_gpus(&f, 5);
    tap_eq_str(settled(&f, NULL, "--device-share --gpus-per-rank 2", 3), "set order 0,1;2,3;0,1");
    tap_ok(fixture_noticed(&f, "3 ranks share 5 devices"));
    fixture_free(&f);
}

TEST(torchrun_only_notes_too_few)
{
    struct fixture f = fixture_new();
    struct devices devices;
    const char *const env[] = {NULL};

    fixture_gpus(&f, 1);
    tap_eq_int(devices_find(&f.settings, &f.facts, env, &devices, &f.err), 0);
    tap_eq_int(devices_nproc(&devices), 1);
    devices.lenient = true;
    tap_eq_int(devices_settle(&devices, &f.settings, 2, &f.plan.notices, &f.err), 0);
    tap_ok(fixture_noticed(&f, "2 ranks, but 1 devices are visible"));
    devices_release(&devices);
    fixture_free(&f);
}

TAP_MAIN()
