/* What becomes of the exit code. */
#include "model/exit_policy.h"

#include "fixture.h"

TEST(nothing_asked_nothing_changes)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", "train.py"), 0);
    for (int code = 0; code < EXIT_CODES; code++) {
        tap_eq_int(exit_policy_map(&f.plan.exit, true, code), code);
        tap_eq_int(exit_policy_map(&f.plan.exit, false, code), code);
    }
    tap_eq_int(exit_policy_map(&f.plan.exit, false, -1), -1);
    tap_ok(!f.plan.exit.stop_rank && !f.plan.exit.oom_fails);
    fixture_free(&f);
}

TEST(a_map_renames_codes_of_ranks_and_ours)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", "--exit-map 3:0,69:200 --exit-map 0:7 x.py"), 0);
    tap_eq_int(exit_policy_map(&f.plan.exit, true, 3), 0);
    tap_eq_int(exit_policy_map(&f.plan.exit, false, 69), 200);
    tap_eq_int(exit_policy_map(&f.plan.exit, true, 69), 200);
    tap_eq_int(exit_policy_map(&f.plan.exit, true, 0), 7);
    tap_eq_int(exit_policy_map(&f.plan.exit, true, 200), 200);
    fixture_free(&f);
}

TEST(the_preset_is_for_our_own_codes)
{
    static const int retried[] = {69, 75, 76};
    struct fixture f = fixture_new();
    int changed = 0;

    tap_eq_int(fixture_plan(&f, "", "--exit-preset kubeflow-v1 --exit-map 75:9 x.py"), 0);
    for (int code = 0; code < EXIT_CODES; code++) {
        tap_eq_int(exit_policy_map(&f.plan.exit, true, code), code == 75 ? 9 : code);
        changed += exit_policy_map(&f.plan.exit, false, code) != code;
    }
    tap_eq_int(changed, 3);
    for (size_t i = 0; i < 3; i++)
        tap_eq_int(exit_policy_map(&f.plan.exit, false, retried[i]),
                   retried[i] == 75 ? 9 : 128 + retried[i]);
    fixture_free(&f);
}

TEST(stops_and_oom)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "RANKINIT_OOM=fail", "--stop-exit rank x.py"), 0);
    tap_ok(f.plan.exit.stop_rank && f.plan.exit.oom_fails);
    fixture_free(&f);
}

TEST(it_holds_for_a_plan_that_fails)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "",
                            "--exit-preset kubeflow-v1 --devices 0 "
                            "--gpus-per-rank 2 --nproc-per-node 2 x.py"),
               -1);
    tap_eq_int(exit_policy_map(&f.plan.exit, false, 69), 197);
    fixture_free(&f);
}

TAP_MAIN()
