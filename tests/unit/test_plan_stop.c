/* What plan_stop.c makes of a command line. */
#include <signal.h>

#include "fixture.h"
#include "model/plan.h"

#define SECOND 1000000000LL

TEST(init_mode_escalates_only_when_a_grace_is_stated)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", "-g --rewrite TERM:INT bash"), 0);
    tap_ok(!f.plan.stop.escalate);
    tap_ok(f.plan.stop.group);
    fixture_again(&f);
    f.facts.is_init = false;
    tap_eq_int(fixture_plan(&f, "", "--grace 5s bash"), 0);
    tap_ok(f.plan.stop.escalate);
    tap_ok(!f.plan.stop.sweep);
    tap_eq_int(f.plan.stop.grace_ns, 5 * SECOND);
    fixture_again(&f);
    tap_eq_int(fixture_plan(&f, "RANKINIT_SHUTDOWN_TIMEOUT=7", "bash"), 0);
    tap_ok(f.plan.stop.escalate);
    tap_eq_int(f.plan.stop.grace_ns, 7 * SECOND);
    fixture_again(&f);
    fixture_spec(&f, OPT_STOP_SCOPE, "group");
    tap_eq_int(fixture_plan(&f, "", "bash"), 0);
    tap_ok(f.plan.stop.escalate);
    fixture_free(&f);
}

TEST(stopping_ranks)
{
    struct fixture f = fixture_new();

    f.facts.is_init = false;
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 --rewrite TERM:USR1,15:10,INT:0 x"), 0);
    tap_ok(f.plan.stop.escalate);
    tap_ok(f.plan.stop.sweep);
    tap_eq_int(f.plan.stop.grace_ns, 20 * SECOND);
    tap_eq_int(f.plan.stop.fail_grace_ns, 10 * SECOND);
    tap_eq_int(f.plan.stop.orphan_grace_ns, 2 * SECOND);
    tap_eq_int(f.plan.stop.settle_ns, 3 * SECOND);
    tap_eq_int(f.plan.stop.rewrite[SIGTERM], SIGUSR1);
    tap_eq_int(f.plan.stop.rewrite[SIGINT], 0);
    tap_eq_int(f.plan.stop.rewrite[SIGHUP], SIGHUP);
    tap_ok(f.plan.stop.stops[SIGINT] && f.plan.stop.stops[SIGQUIT] && f.plan.stop.stops[SIGHUP]);
    tap_ok(!f.plan.stop.stops[SIGUSR1]);
    fixture_again(&f);
    f.facts.tty_in = true;
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 1 x"), 0);
    tap_ok(f.plan.stop.stops[SIGTERM] && !f.plan.stop.stops[SIGINT]);
    fixture_free(&f);
}

TEST(signals_to_handle_stop_too)
{
    struct fixture f = fixture_new();
    const bool *stops = f.plan.stop.stops;

    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 --signals-to-handle USR1,SIGTERM x"), 0);
    tap_ok(stops[SIGUSR1] && stops[SIGTERM] && stops[SIGINT] && stops[SIGHUP]);
    tap_ok(!stops[SIGUSR2]);
    fixture_again(&f);
    tap_eq_int(fixture_plan(&f, "PET_SIGNALS_TO_HANDLE=SIGUSR2", "--nproc-per-node 2 x"), 0);
    tap_ok(stops[SIGUSR2] && !stops[SIGUSR1]);
    fixture_again(&f);
    tap_eq_int(fixture_plan(&f, "", "--signals-to-handle SIGUSR2 sh"), 0);
    tap_ok(stops[SIGUSR2] && stops[SIGTERM] && !stops[SIGINT]);
    fixture_free(&f);
}

TEST(torchrun_has_its_own_grace)
{
    struct fixture f = fixture_new();

    f.argv0 = "torchrun";
    tap_eq_int(fixture_plan(&f, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=45", "x"), 0);
    tap_eq_int(f.plan.stop.grace_ns, 45 * SECOND);
    fixture_again(&f);
    f.argv0 = "torchrun";
    tap_eq_int(fixture_plan(&f, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=45", "--grace 4s x"), 0);
    tap_eq_int(f.plan.stop.grace_ns, 4 * SECOND);
    fixture_again(&f);
    f.argv0 = "torchrun";
    tap_eq_int(fixture_plan(&f, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=x", "x"), 0);
    tap_eq_int(f.plan.stop.grace_ns, 20 * SECOND);
    tap_ok(fixture_noticed(&f, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=x is no number"));
    fixture_again(&f);
    tap_eq_int(fixture_plan(&f, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=45", "train.py"), 0);
    tap_eq_int(f.plan.stop.grace_ns, 20 * SECOND);
    fixture_free(&f);
}

TEST(tini_s_options)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", "-gw -p KILL -e 143 -e 7 -s bash"), 0);
    tap_ok(f.plan.stop.group);
    tap_ok(f.plan.warn_reaped);
    tap_eq_int(f.plan.parent_death_signal, SIGKILL);
    tap_ok(f.plan.exit.zero[143] && f.plan.exit.zero[7] && !f.plan.exit.zero[0]);
    fixture_free(&f);
}

TAP_MAIN()
