#include "model/platform.h"

#include "fixture.h"

/* One reading of an environment by itself, without a plan around it. */
struct reading {
    struct fixture f;
    struct platform platform;
};

static struct reading reading_new(const char *env)
{
    struct reading r = {.f = fixture_new()};

    fixture_split(env, &r.f.env);
    r.platform = (struct platform){.envp = strvec_texts(&r.f.env), .hostname = "host"};
    return r;
}

static int reading_read(struct reading *r)
{
    return platform_read(&r->platform, &r->f.settings, &r->f.plan.notices, &r->f.err);
}

static void reading_free(struct reading *r)
{
    fixture_free(&r->f);
}

/* "nnodes/node_rank platform" of an environment with nproc ranks per node, or "!CODE message". */
static const char *placed(const char *env, const char *flags, int nproc)
{
    static char room[ERR_MESSAGE_MAX + 16];
    struct buf out = BUF_OVER(room);
    struct reading r = reading_new(env);
    struct settings *settings = &r.f.settings;
    const char *const *program;

    strvec_push(&r.f.words, "rankinit");
    fixture_split(flags, &r.f.words);
    r.platform.hostname = "job-worker-3";
    if (options_parse(strvec_texts(&r.f.words), settings, &program, &r.f.err) < 0 ||
        reading_read(&r) < 0 || platform_find_place(&r.platform, nproc, settings, &r.f.err) < 0 ||
        platform_check(&r.platform, settings, r.platform.task.one ? 1 : nproc, &r.f.err) < 0)
        buf_addf(&out, "!%d %s", exitcode_of_kind(r.f.err.kind), r.f.err.message);
    else
        buf_addf(&out, "%ld/%ld %s", settings_int(settings, OPT_NNODES),
                 settings_int(settings, OPT_NODE_RANK), r.platform.name ? r.platform.name : "none");
    reading_free(&r);
    return room;
}

static void check_placed(const char *env, const char *flags, int nproc, const char *want)
{
    const char *got = placed(env, flags, nproc);

    if (want[0] == '!' ? !tap_has_str(got, want) : !tap_eq_str(got, want))
        printf("# with: %s | %s\n", env, flags);
}

static bool shaped(const char *env)
{
    struct reading r = reading_new(env);
    bool shape = platform_states_shape(r.platform.envp);

    reading_free(&r);
    return shape;
}

TEST(only_some_variables_state_a_shape)
{
    tap_ok(shaped("PET_NPROC_PER_NODE=auto"));
    tap_ok(shaped("PET_N_PROC_PER_NODE=2"));
    tap_ok(shaped("PET_NNODES=2"));
    tap_ok(shaped("PET_STANDALONE="));
    tap_ok(shaped("RANK=0 WORLD_SIZE=2"));
    tap_ok(!shaped(""));
    tap_ok(!shaped("PET_NNODES="));
    tap_ok(!shaped("PET_STANDALONE=0"));
    tap_ok(!shaped("RANK=0"));
    tap_ok(!shaped("RANK= WORLD_SIZE=2"));
    tap_ok(!shaped("PET_MASTER_PORT=tcp://10.0.0.1:80"));
    tap_ok(!shaped("MASTER_PORT=29500 JOB_COMPLETION_INDEX=1 LWS_GROUP_SIZE=2 SLURM_PROCID=0"));
    tap_ok(!shaped("PET_LOG_DIR=/logs"));
    tap_ok(!shaped("PET_NNODES=2 RANK=0 WORLD_SIZE=2 RANKINIT_THIS_RANK=0"));
}

TEST(pet_variables_become_settings)
{
    struct reading r = reading_new("PET_NNODES=2:2 PET_NPROC_PER_NODE=4 PET_NODE_RANK=1 "
                                   "PET_MASTER_ADDR=m PET_MASTER_PORT=1234 PET_RDZV_ID=job "
                                   "PET_NO_PYTHON=1 PET_ROLE=trainer");

    tap_eq_int(reading_read(&r), 0);
    tap_eq_int(settings_int(&r.f.settings, OPT_NNODES), 2);
    tap_eq_str(settings_text(&r.f.settings, OPT_NPROC_PER_NODE), "4");
    tap_eq_int(settings_int(&r.f.settings, OPT_NODE_RANK), 1);
    tap_eq_str(settings_text(&r.f.settings, OPT_MASTER_ADDR), "m");
    tap_eq_int(settings_int(&r.f.settings, OPT_MASTER_PORT), 1234);
    tap_eq_str(settings_text(&r.f.settings, OPT_RDZV_ID), "job");
    tap_eq_str(settings_text(&r.f.settings, OPT_ROLE), "trainer");
    tap_ok(settings_flag(&r.f.settings, OPT_NO_PYTHON));
    tap_eq_str(r.f.settings.rows[OPT_NNODES].origin, "PET_NNODES");
    tap_eq_int(r.f.settings.rows[OPT_NNODES].source, SOURCE_PLATFORM);
    tap_eq_int(r.f.plan.notices.count, 0);
    reading_free(&r);
}

TEST(what_says_nothing_is_noted)
{
    struct reading r = reading_new("PET_NNODES= MASTER_PORT=tcp://10.0.0.1:80 MASTER_ADDR= "
                                   "PET_MAX_RESTARTS=3 PET_REDIRECTS=3 PET_WHAT=1 "
                                   "PET_SERVICE_HOST=10.0.0.2 PET_LOCAL_RANKS_FILTER=0 RANK=3");

    tap_eq_int(reading_read(&r), 0);
    tap_ok(!settings_stated(&r.f.settings, OPT_NNODES));
    tap_ok(!settings_stated(&r.f.settings, OPT_MASTER_PORT));
    tap_ok(fixture_noticed(&r.f, "PET_NNODES is empty: taken as unset"));
    tap_ok(fixture_noticed(&r.f, "MASTER_PORT=tcp://10.0.0.1:80 is a link to a Kubernetes"));
    tap_ok(fixture_noticed(&r.f, "MASTER_ADDR is empty"));
    tap_eq_int(settings_int(&r.f.settings, OPT_MAX_RESTARTS), 3);
    tap_ok(fixture_noticed(&r.f, "PET_WHAT has no effect"));
    tap_ok(fixture_noticed(&r.f, "RANK is set without WORLD_SIZE: not read"));
    tap_ok(settings_stated(&r.f.settings, OPT_REDIRECTS));
    tap_eq_int(r.f.plan.notices.count, 5);
    reading_free(&r);
}

TEST(a_name_that_is_nearly_right_is_told_so)
{
    struct reading r = reading_new("PET_NNODE=2 PET_MASTER_ADRR=m PET_GRACE=5s");

    tap_eq_int(reading_read(&r), 0);
    tap_ok(fixture_noticed(&r.f, "PET_NNODE has no effect: no setting of that name is read; did "
                                 "you mean PET_NNODES?"));
    tap_ok(fixture_noticed(&r.f, "did you mean PET_MASTER_ADDR?"));
    tap_ok(fixture_noticed(&r.f, "PET_GRACE has no effect: no setting of that name is read"));
    reading_free(&r);
}

TEST(the_misspelt_name_is_an_alias)
{
    struct reading r = reading_new("PET_N_PROC_PER_NODE=4");

    tap_eq_int(reading_read(&r), 0);
    tap_eq_str(settings_text(&r.f.settings, OPT_NPROC_PER_NODE), "4");
    tap_eq_str(r.f.settings.rows[OPT_NPROC_PER_NODE].origin, "PET_N_PROC_PER_NODE");
    reading_free(&r);
    r = reading_new("PET_N_PROC_PER_NODE=4 PET_NPROC_PER_NODE=2");
    tap_eq_int(reading_read(&r), 0);
    tap_eq_str(settings_text(&r.f.settings, OPT_NPROC_PER_NODE), "2");
    reading_free(&r);
}

TEST(an_empty_standalone_means_yes)
{
    struct reading r = reading_new("PET_STANDALONE=");

    tap_eq_int(reading_read(&r), 0);
    tap_ok(settings_flag(&r.f.settings, OPT_STANDALONE));
    tap_eq_int(r.f.plan.notices.count, 0);
    reading_free(&r);
}

TEST(pet_names_of_the_master_beat_the_bare_ones)
{
    struct reading r = reading_new("PET_MASTER_ADDR=a MASTER_ADDR=b MASTER_PORT=1");

    tap_eq_int(reading_read(&r), 0);
    tap_eq_str(settings_text(&r.f.settings, OPT_MASTER_ADDR), "a");
    tap_eq_int(settings_int(&r.f.settings, OPT_MASTER_PORT), 1);
    reading_free(&r);
    r = reading_new("PET_RDZV_ENDPOINT=a:2 MASTER_ADDR=b MASTER_PORT=1");
    tap_eq_int(reading_read(&r), 0);
    tap_ok(!settings_stated(&r.f.settings, OPT_MASTER_ADDR));
    tap_ok(!settings_stated(&r.f.settings, OPT_MASTER_PORT));
    reading_free(&r);
}

TEST(torchrun_reads_only_pet_names)
{
    struct reading r = reading_new("MASTER_ADDR=b MASTER_PORT=1 RANK=1 WORLD_SIZE=2 PET_ROLE=r");

    r.platform.torchrun = true;
    tap_eq_int(reading_read(&r), 0);
    tap_eq_int(platform_find_place(&r.platform, 4, &r.f.settings, &r.f.err), 0);
    tap_eq_int(platform_check(&r.platform, &r.f.settings, 4, &r.f.err), 0);
    tap_ok(!settings_stated(&r.f.settings, OPT_MASTER_ADDR));
    tap_ok(!settings_stated(&r.f.settings, OPT_NNODES));
    tap_eq_str(settings_text(&r.f.settings, OPT_ROLE), "r");
    reading_free(&r);
}

TEST(inside_a_rank_nothing_is_read)
{
    struct reading r = reading_new("RANKINIT_THIS_RANK=0 PET_NNODES=2 MASTER_ADDR=b RANK=1 "
                                   "WORLD_SIZE=2 SLURM_PROCID=0");

    tap_eq_int(reading_read(&r), 0);
    tap_eq_int(platform_find_place(&r.platform, 4, &r.f.settings, &r.f.err), 0);
    tap_ok(!settings_stated(&r.f.settings, OPT_NNODES));
    tap_ok(!settings_stated(&r.f.settings, OPT_MASTER_ADDR));
    tap_eq_int(r.f.plan.notices.count, 0);
    reading_free(&r);
}

/* Issue threads: kubeflow/trainer 1790, 1836, 1840. */
TEST(pytorchjob_counts_pods_in_rank)
{
    check_placed("RANK=1 WORLD_SIZE=2 PET_NNODES=2 PET_NODE_RANK=1 PET_NPROC_PER_NODE=auto", "", 4,
                 "2/1 PyTorchJob");
    check_placed("RANK=1 WORLD_SIZE=8 PET_NNODES=2 PET_NODE_RANK=1 PET_NPROC_PER_NODE=4", "", 4,
                 "2/1 PyTorchJob");
    check_placed("RANK=1 WORLD_SIZE=2 PET_NNODES=2", "", 4, "2/1 PyTorchJob");
    check_placed("RANK=1 WORLD_SIZE=2 PET_NPROC_PER_NODE=4", "", 4, "2/1 PyTorchJob");
    check_placed("RANK=1 WORLD_SIZE=16 PET_NNODES=2 PET_NODE_RANK=1 PET_NPROC_PER_NODE=8",
                 "--nproc-per-node 4", 4, "2/1 PyTorchJob");
}

TEST(workers_without_a_master_are_told_by_their_hostname)
{
    const char *env = "PET_RDZV_ENDPOINT=job-worker-0:23456 PET_NNODES=4:4 PET_RDZV_BACKEND=c10d";

    check_placed(env, "", 1, "4/3 PyTorchJob");
    check_placed("PET_NNODES=4 MASTER_ADDR=job-worker-0.job.ns.svc", "", 1, "4/3 PyTorchJob");
    check_placed("PET_NNODES=4 MASTER_ADDR=bob-worker-0", "", 1, "!78 PET_NNODES says 4 nodes");
    check_placed("PET_NNODES=4 MASTER_ADDR=job-worker-1", "", 1, "!78 PET_NNODES says 4 nodes");
    check_placed("PET_NNODES=4 MASTER_ADDR=job-master-0", "", 1, "!78 PET_NNODES says 4 nodes");
}

TEST(trainjob_and_indexed_job_have_an_index)
{
    check_placed("PET_NNODES=2 PET_NODE_RANK=1 JOB_COMPLETION_INDEX=1 PET_MASTER_ADDR=m", "", 8,
                 "2/1 TrainJob");
    check_placed("JOB_COMPLETION_INDEX=1", "--nnodes 2", 8, "2/1 Indexed Job");
    check_placed("JOB_COMPLETION_INDEX=1", "--nnodes 2 --node-rank 0", 8, "2/0 none");
    check_placed("JOB_COMPLETION_INDEX=1", "", 8, "0/0 none");
    check_placed("JOB_COMPLETION_INDEX=1", "--nnodes 1", 8, "1/0 none");
    check_placed("JOB_COMPLETION_INDEX=x", "--nnodes 2", 8, "!78 JOB_COMPLETION_INDEX");
}

TEST(several_nodes_never_get_a_silent_rank_0)
{
    check_placed("", "--nnodes 2", 1,
                 "!78 --nnodes says 2 nodes, but nothing says which one this is (looked at "
                 "--node-rank, PET_NODE_RANK, JOB_COMPLETION_INDEX");
    check_placed("", "--nnodes 2 --node-rank 0", 1, "2/0 none");
}

TEST(bare_rank_and_world_size_are_taken_only_when_their_meaning_is_certain)
{
    check_placed("RANK=1 WORLD_SIZE=2", "--rank-means node", 4, "2/1 RANK and WORLD_SIZE");
    check_placed("RANK=1 WORLD_SIZE=2", "", 4, "2/1 RANK and WORLD_SIZE");
    check_placed("RANK=1 WORLD_SIZE=2", "", 1, "2/1 RANK and WORLD_SIZE");
    check_placed("RANK=1 WORLD_SIZE=3", "", 2, "3/1 RANK and WORLD_SIZE");
    check_placed("RANK=1 WORLD_SIZE=8", "", 4,
                 "!78 RANK=1 and WORLD_SIZE=8 may count nodes or "
                 "processes: state --rank-means node");
    check_placed("RANK=1 WORLD_SIZE=8", "--rank-means process", 4, "8/1 RANK and WORLD_SIZE");
    check_placed("RANK=1 WORLD_SIZE=8", "--rank-means process --nproc-per-node 4", 4,
                 "!78 --nproc-per-node asks for 4 ranks here, but RANK=1 says that this process is "
                 "one rank of 8 (WORLD_SIZE): leave it out, start one process on each node, or "
                 "state --rank-means node");
    check_placed("RANK=1 WORLD_SIZE=8 LOCAL_RANK=1", "", 4, "8/1 RANK and WORLD_SIZE");
    check_placed("RANK=0 WORLD_SIZE=2 PET_NNODES=2 PET_NODE_RANK=0", "--rank-means process", 4,
                 "!78 WORLD_SIZE=2 contradicts PET_NNODES=2 and the ranks of each");
    check_placed("RANK=1 WORLD_SIZE=8", "--nnodes 1", 4, "1/0 none");
    check_placed("RANK=1 WORLD_SIZE=8", "--nnodes 2 --node-rank 0", 4, "2/0 none");
    check_placed("RANK=1 WORLD_SIZE=2", "--nnodes 2", 2, "2/1 RANK and WORLD_SIZE");
    check_placed("RANK=1 WORLD_SIZE=4", "--nnodes 2", 2, "!78 --nnodes says 2 nodes, but nothing");
    check_placed("RANK=1 WORLD_SIZE=4 JOB_COMPLETION_INDEX=0", "--nnodes 2", 2, "2/0 Indexed Job");
    check_placed("RANK=1 WORLD_SIZE=4", "--nnodes 2 --rank-means node", 2,
                 "!78 WORLD_SIZE=4 contradicts --nnodes=2, as --rank-means is node");
    check_placed("RANK=1 WORLD_SIZE=x", "", 2, "!78 WORLD_SIZE=x is no number from 1");
    check_placed("RANK=x WORLD_SIZE=2", "", 4, "!78 RANK=x is no number from 0");
    check_placed("RANK=auto WORLD_SIZE=2", "--rank-means node", 4,
                 "!78 RANK=auto is no number from 0");
}

TEST(a_shared_file_must_not_contradict_the_pod)
{
    struct reading r = reading_new("PET_NNODES=2");

    tap_eq_int(fixture_spec(&r.f, OPT_NNODES, "3"), 0);
    tap_eq_int(reading_read(&r), -1);
    tap_eq_int(r.f.err.kind, ERR_SPEC);
    tap_has_str(r.f.err.message, "PET_NNODES says 2 but spec.yaml: job.nnodes says 3");
    reading_free(&r);

    r = reading_new("JOB_COMPLETION_INDEX=1");
    fixture_spec(&r.f, OPT_NNODES, "2");
    fixture_spec(&r.f, OPT_NODE_RANK, "0");
    tap_eq_int(platform_find_place(&r.platform, 4, &r.f.settings, &r.f.err), -1);
    tap_has_str(r.f.err.message, "JOB_COMPLETION_INDEX says 1 but spec.yaml: job.node_rank says 0");
    reading_free(&r);

    r = reading_new("RANK=1 WORLD_SIZE=3");
    fixture_spec(&r.f, OPT_NNODES, "2");
    tap_eq_int(platform_find_place(&r.platform, 4, &r.f.settings, &r.f.err), -1);
    tap_has_str(r.f.err.message, "WORLD_SIZE says 3 but spec.yaml: job.nnodes says 2");
    reading_free(&r);
}

TEST(bad_values_are_refused_unless_overruled)
{
    check_placed("PET_NNODES=1:4", "", 1, "!78 PET_NNODES: 1:4 is a range");
    check_placed("PET_NNODES=1:4", "--nnodes 1", 1, "1/0 PET_*");
    check_placed("PET_NNODES=two", "", 1, "!78 PET_NNODES");
    check_placed("PET_NPROC_PER_NODE=xpu", "", 1, "!78 PET_NPROC_PER_NODE");
    check_placed("PET_RDZV_BACKEND=etcd-v2", "", 1, "!78 PET_RDZV_BACKEND");
    check_placed("MASTER_PORT=99999", "", 1, "!78 MASTER_PORT");
    check_placed("PET_RUN_PATH=1", "", 1, "!78 PET_RUN_PATH: cannot work here");
}

TEST(what_cannot_all_hold_is_refused)
{
    check_placed("RANK=0 WORLD_SIZE=6 PET_NNODES=2 PET_NODE_RANK=0 PET_NPROC_PER_NODE=4", "", 4,
                 "!78 WORLD_SIZE=6 is neither 2 nodes (PET_NNODES) nor 2 x 4 ranks "
                 "(PET_NPROC_PER_NODE)");
    check_placed("RANK=0 WORLD_SIZE=16 PET_NNODES=2 PET_NODE_RANK=0 PET_NPROC_PER_NODE=auto", "", 4,
                 "!69 WORLD_SIZE=16");
    check_placed("RANK=5 WORLD_SIZE=2 PET_NNODES=2 PET_NODE_RANK=0", "", 4,
                 "!78 RANK=5 contradicts PET_NODE_RANK, which says that this is node 0");
    check_placed("RANK=5 WORLD_SIZE=8 PET_NNODES=2 PET_NODE_RANK=1", "", 4, "2/1 PyTorchJob");
}

TAP_MAIN()
