/* --hydra: what each rank's command line becomes. */
#include "fixture.h"
#include "model/rankenv.h"

static void check(const char *line, int local_rank, const char *want)
{
    struct fixture f = fixture_new();
    struct strvec argv = STRVEC_INIT;

    f.facts.now_s = 1796096999; /* 2026-12-01T03:49:59Z */
    tap_eq_int(fixture_plan(&f, "", line), 0);
    rankenv_argv(&f.plan, local_rank, &argv);
    tap_eq_str(fixture_join(&argv), want);
    strvec_release(&argv);
    fixture_free(&f);
}

#define QUIET " hydra.output_subdir=null hydra/job_logging=stdout"

TEST(all_ranks_get_one_directory_by_the_time)
{
    check("--hydra --nproc-per-node 2 train.py", 0,
          "python -u train.py hydra.run.dir=outputs/2026-12-01/03-49-59");
    check("--hydra --nproc-per-node 2 train.py", 1,
          "python -u train.py hydra.run.dir=outputs/2026-12-01/03-49-59" QUIET);
    check("--nproc-per-node 2 train.py", 1, "python -u train.py");
}

TEST(the_job_id_names_it_for_all_nodes)
{
    const char *line = "--hydra --rdzv-id ../a.${b} --nnodes 2 --node-rank 1 --master-addr m "
                       "--nproc-per-node 2 -m pkg.app";

    /* Rank 2 is the first one here, but not the first. */
    check(line, 0, "python -u -m pkg.app hydra.run.dir=outputs/_._a.__b_" QUIET);
}

TEST(overrides_stay_together)
{
    check("--hydra --rdzv-id j --nproc-per-node 2 train.py --config-name big lr=1 --info", 1,
          "python -u train.py --config-name big hydra.run.dir=outputs/j" QUIET " lr=1 --info");
    check("--hydra --rdzv-id j --nproc-per-node 2 train.py --config-name=big", 0,
          "python -u train.py --config-name=big hydra.run.dir=outputs/j");
    check("--hydra --rdzv-id j --nproc-per-node 2 train.py ~db +x=1", 0,
          "python -u train.py hydra.run.dir=outputs/j ~db +x=1");
    check("--hydra --local-rank-arg --rdzv-id j --nproc-per-node 2 python train.py a=1", 0,
          "python train.py --local-rank=0 hydra.run.dir=outputs/j a=1");
}

TEST(a_stated_directory_stays)
{
    struct fixture f = fixture_new();

    check("--hydra --nproc-per-node 2 train.py hydra.run.dir=mine", 1,
          "python -u train.py" QUIET " hydra.run.dir=mine");
    check("--hydra --nnodes 2 --node-rank 0 --master-addr m train.py hydra.run.dir=mine", 0,
          "python -u train.py hydra.run.dir=mine");
    tap_eq_int(fixture_plan(&f, "", "--hydra --nproc-per-node 2 t.py hydra.run.dir=${now:%S}"), 0);
    tap_has_str(f.plan.notices.items[0], "each rank looks at the clock by itself");
    fixture_free(&f);
}

TEST(what_cannot_work_is_refused)
{
    char message[ERR_MESSAGE_MAX];

    tap_eq_int(fixture_code("", "--hydra --nproc-per-node 2 sh -c true", message), 64);
    tap_has_str(message, "--hydra: sh is no Python script or module");
    tap_eq_int(fixture_code("", "--hydra --nproc-per-node 2 t.py -m lr=1,2", message), 64);
    tap_has_str(message, "a sweep is run once");
    tap_eq_int(fixture_code("", "--hydra --nproc-per-node 2 t.py hydra.mode=MULTIRUN", message),
               64);
    tap_eq_int(fixture_code("", "--hydra --nnodes 2 --node-rank 0 --master-addr m t.py", message),
               78);
    tap_has_str(message, "the ranks of other nodes need to know the run directory too");
}

TAP_MAIN()
