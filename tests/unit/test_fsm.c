/*
 * The state table: the ladder rung by rung, and 100,000 random event sequences
 * that must keep its promises.
 */
#include "model/fsm.h"

#include <stdlib.h>

#include "tap.h"

#define SECOND 1000000000LL
#define RANKS  8

static const struct fsm_config fanout = {.escalate = true,
                                         .sweep = true,
                                         .grace_ns = 20 * SECOND,
                                         .fail_grace_ns = 10 * SECOND,
                                         .orphan_grace_ns = 2 * SECOND,
                                         .settle_ns = 3 * SECOND};

struct bench {
    struct fsm fsm;
    struct fsm_rank ranks[RANKS];
    struct fsm_actions last;
};

static void bench_init(struct bench *bench, const struct fsm_config *config, int count)
{
    fsm_init(&bench->fsm, config, bench->ranks, count);
    bench->last.count = 0;
}

static void feed(struct bench *bench, enum fsm_event_kind kind, int rank, int64_t now)
{
    struct fsm_event event = {.kind = kind, .rank = rank, .now_ns = now};

    fsm_step(&bench->fsm, &event, &bench->last);
}

static bool did(const struct bench *bench, enum fsm_action_kind kind)
{
    for (int i = 0; i < bench->last.count; i++)
        if (bench->last.list[i].kind == kind)
            return true;
    return false;
}

static void started(struct bench *bench, int count)
{
    bench_init(bench, &fanout, count);
    feed(bench, FSM_GO, -1, 0);
    tap_ok(did(bench, FSM_SPAWN_ALL));
    tap_eq_int(bench->fsm.state, FSM_RUNNING);
}

TEST(all_ranks_end_well)
{
    struct bench b;

    started(&b, 2);
    feed(&b, FSM_RANK_OK, 0, 1);
    tap_eq_int(b.last.count, 0);
    tap_eq_int(fsm_deadline(&b.fsm), FSM_NEVER);
    feed(&b, FSM_RANK_OK, 1, 2);
    tap_eq_int(b.fsm.state, FSM_SWEEPING);
    tap_ok(did(&b, FSM_TERM_REST));
    feed(&b, FSM_EMPTY, -1, 2);
    tap_eq_int(b.fsm.state, FSM_DONE);
}

TEST(first_failure_drains_the_others)
{
    struct bench b;

    started(&b, 3);
    feed(&b, FSM_RANK_FAILED, 1, SECOND);
    tap_eq_int(b.fsm.state, FSM_DRAINING);
    tap_ok(did(&b, FSM_TERM_LEADERS));
    tap_ok(did(&b, FSM_TERM_GROUP));
    tap_ok(did(&b, FSM_PUBLISH));
    tap_eq_int(b.fsm.deadline, 11 * SECOND);
    tap_eq_int(fsm_deadline(&b.fsm), 3 * SECOND); /* the failed rank's group */
    feed(&b, FSM_DEADLINE, -1, 3 * SECOND);
    tap_ok(did(&b, FSM_KILL_GROUP));
    tap_eq_int(b.last.list[0].rank, 1);
    tap_eq_int(b.fsm.state, FSM_DRAINING);
}

TEST(whole_ladder_has_deadlines)
{
    struct bench b;

    started(&b, 2);
    feed(&b, FSM_STOP, -1, 0);
    tap_eq_int(b.fsm.state, FSM_DRAINING);
    tap_eq_int(fsm_deadline(&b.fsm), 20 * SECOND);
    feed(&b, FSM_DEADLINE, -1, 20 * SECOND);
    tap_eq_int(b.fsm.state, FSM_KILLING);
    tap_ok(did(&b, FSM_KILL_LEADERS));
    tap_eq_int(fsm_deadline(&b.fsm), 21 * SECOND);
    feed(&b, FSM_DEADLINE, -1, 21 * SECOND);
    tap_eq_int(b.fsm.state, FSM_SWEEPING);
    tap_ok(did(&b, FSM_TERM_REST));
    tap_eq_int(fsm_deadline(&b.fsm), 23 * SECOND);
    feed(&b, FSM_DEADLINE, -1, 23 * SECOND);
    tap_eq_int(b.fsm.state, FSM_REAPING);
    tap_ok(did(&b, FSM_KILL_REST));
    feed(&b, FSM_DEADLINE, -1, 25 * SECOND);
    tap_eq_int(b.fsm.state, FSM_DONE); /* grace + 5 s, though nobody was reaped */
}

TEST(leader_stopped_leaves_its_group_the_rest_of_the_grace)
{
    struct bench b;

    started(&b, 1);
    feed(&b, FSM_STOP, -1, 0);
    feed(&b, FSM_RANK_FAILED, 0, SECOND);
    tap_ok(did(&b, FSM_STOP_GROUP));
    tap_ok(did(&b, FSM_TERM_REST));
    tap_eq_int(b.fsm.state, FSM_SWEEPING);
    tap_eq_int(fsm_deadline(&b.fsm), 20 * SECOND);
}

TEST(second_stop_takes_one_rung)
{
    struct bench b;

    started(&b, 1);
    feed(&b, FSM_STOP, -1, 0);
    feed(&b, FSM_STOP_AGAIN, -1, 2 * SECOND);
    tap_eq_int(b.fsm.state, FSM_KILLING);
    feed(&b, FSM_STOP_AGAIN, -1, 2 * SECOND);
    tap_eq_int(b.fsm.state, FSM_SWEEPING);
    feed(&b, FSM_STOP_AGAIN, -1, 2 * SECOND);
    tap_eq_int(b.fsm.state, FSM_REAPING);
}

TEST(echo_waits_for_the_real_failure)
{
    struct bench b;

    started(&b, 3);
    feed(&b, FSM_RANK_ECHOED, 0, SECOND);
    tap_eq_int(b.fsm.state, FSM_RUNNING);
    tap_ok(!did(&b, FSM_TERM_LEADERS));
    tap_eq_int(b.fsm.deadline, 4 * SECOND);
    feed(&b, FSM_RANK_ECHOED, 2, 2 * SECOND); /* the last one alive is the culprit or nobody is */
    tap_eq_int(b.fsm.state, FSM_RUNNING);
    tap_eq_int(b.fsm.deadline, 4 * SECOND);
    feed(&b, FSM_CAUSE_SEEN, -1, 2 * SECOND);
    tap_eq_int(b.fsm.state, FSM_DRAINING);
    tap_ok(did(&b, FSM_TERM_LEADERS));
}

TEST(echo_without_a_cause_drains_after_settling)
{
    struct bench b;

    started(&b, 2);
    feed(&b, FSM_RANK_ECHOED, 0, SECOND);
    feed(&b, FSM_DEADLINE, -1, 3 * SECOND); /* its group */
    tap_ok(did(&b, FSM_KILL_GROUP));
    feed(&b, FSM_DEADLINE, -1, 4 * SECOND);
    tap_eq_int(b.fsm.state, FSM_DRAINING);
}

TEST(a_cause_seen_alone_ends_nothing)
{
    struct bench b;

    started(&b, 2);
    feed(&b, FSM_CAUSE_SEEN, -1, SECOND); /* a traceback may have been handled */
    tap_eq_int(b.fsm.state, FSM_RUNNING);
    tap_eq_int(b.last.count, 0);
}

TEST(init_mode_never_escalates)
{
    struct fsm_config init = fanout;
    struct bench b;

    init.escalate = false;
    bench_init(&b, &init, 1);
    feed(&b, FSM_GO, -1, 0);
    feed(&b, FSM_STOP, -1, 0);
    feed(&b, FSM_STOP_AGAIN, -1, 5 * SECOND);
    tap_eq_int(b.fsm.state, FSM_RUNNING);
    tap_eq_int(fsm_deadline(&b.fsm), FSM_NEVER);
    feed(&b, FSM_RANK_OK, 0, 60 * SECOND);
    tap_eq_int(b.fsm.state, FSM_SWEEPING);
    tap_eq_int(fsm_deadline(&b.fsm), 62 * SECOND);
}

TEST(nothing_is_swept_below_another_init)
{
    struct fsm_config init = fanout;
    struct bench b;

    init.escalate = false;
    init.sweep = false;
    bench_init(&b, &init, 1);
    feed(&b, FSM_GO, -1, 0);
    feed(&b, FSM_RANK_FAILED, 0, 1);
    tap_eq_int(b.fsm.state, FSM_DONE);
    tap_ok(!did(&b, FSM_TERM_REST));

    bench_init(&b, &init, 1);
    feed(&b, FSM_GO, -1, 0);
    feed(&b, FSM_STOP, -1, 1);
    feed(&b, FSM_RANK_FAILED, 0, 2);
    tap_eq_int(b.fsm.state, FSM_SWEEPING);
}

TEST(a_stop_before_the_start_starts_nothing)
{
    struct bench b;

    bench_init(&b, &fanout, 2);
    feed(&b, FSM_STOP, -1, 0);
    tap_eq_int(b.fsm.state, FSM_DONE);
    feed(&b, FSM_GO, -1, 0);
    tap_eq_int(b.last.count, 0);
}

TEST(ranks_that_hang_are_made_to_say_where)
{
    struct bench b;

    started(&b, 2);
    feed(&b, FSM_HUNG, -1, SECOND);
    tap_eq_int(b.fsm.state, FSM_DUMPING);
    tap_ok(did(&b, FSM_ABORT_LEADERS));
    tap_eq_int(fsm_deadline(&b.fsm), 4 * SECOND);
    tap_ok(!fsm_takes_limits(&b.fsm));
    feed(&b, FSM_RANK_FAILED, 0, 2 * SECOND);
    tap_ok(did(&b, FSM_STOP_GROUP));
    feed(&b, FSM_DEADLINE, -1, 4 * SECOND); /* the other one has not died of it */
    tap_eq_int(b.fsm.state, FSM_DRAINING);
    tap_ok(did(&b, FSM_TERM_LEADERS));
    tap_eq_int(fsm_deadline(&b.fsm), 14 * SECOND);
}

TEST(the_time_limit_is_a_stop_with_the_whole_grace)
{
    struct fsm_config init = fanout;
    struct bench b;

    init.escalate = false; /* a program that is only watched over, too */
    bench_init(&b, &init, 1);
    feed(&b, FSM_GO, -1, 0);
    tap_ok(fsm_takes_limits(&b.fsm));
    feed(&b, FSM_TIMEOUT, -1, SECOND);
    tap_eq_int(b.fsm.state, FSM_DRAINING);
    tap_ok(did(&b, FSM_STOP_LEADERS));
    tap_eq_int(fsm_deadline(&b.fsm), 21 * SECOND);
    feed(&b, FSM_HUNG, -1, 2 * SECOND);
    tap_eq_int(b.fsm.state, FSM_DRAINING);
}

TEST(no_limit_cuts_short_what_settles)
{
    struct bench b;

    started(&b, 3);
    feed(&b, FSM_RANK_ECHOED, 0, SECOND);
    tap_ok(!fsm_takes_limits(&b.fsm));
}

TEST(a_time_limit_before_the_start_starts_nothing)
{
    struct bench b;

    bench_init(&b, &fanout, 2);
    feed(&b, FSM_TIMEOUT, -1, 0);
    tap_eq_int(b.fsm.state, FSM_DONE);
}

TEST(a_restart_waits_prepares_and_starts_all)
{
    struct fsm_config config = fanout;
    struct bench b;

    config.backoff_ns = SECOND;
    bench_init(&b, &config, 2);
    feed(&b, FSM_GO, -1, 0);
    feed(&b, FSM_RANK_FAILED, 0, SECOND);
    feed(&b, FSM_RANK_FAILED, 1, SECOND);
    feed(&b, FSM_EMPTY, -1, SECOND);
    tap_eq_int(b.fsm.state, FSM_DONE);
    feed(&b, FSM_RESTART, -1, 2 * SECOND);
    tap_eq_int(b.fsm.state, FSM_RESTARTING);
    tap_eq_int(fsm_deadline(&b.fsm), 3 * SECOND);
    tap_ok(!did(&b, FSM_SPAWN_ALL));
    feed(&b, FSM_DEADLINE, -1, 3 * SECOND);
    tap_ok(did(&b, FSM_RENEW));
    feed(&b, FSM_GO, -1, 3 * SECOND);
    tap_ok(did(&b, FSM_SPAWN_ALL));
    tap_eq_int(b.fsm.state, FSM_RUNNING);
    tap_eq_int(b.fsm.alive, 2);
}

TEST(a_stop_or_a_failure_before_a_restart_ends_it)
{
    static const enum fsm_event_kind ends[] = {FSM_STOP, FSM_TIMEOUT, FSM_GIVE_UP};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct bench b;

        started(&b, 1);
        feed(&b, FSM_RANK_FAILED, 0, SECOND);
        feed(&b, FSM_EMPTY, -1, SECOND);
        feed(&b, FSM_RESTART, -1, SECOND);
        feed(&b, ends[i], -1, SECOND);
        tap_eq_int(b.fsm.state, FSM_DONE);
        tap_eq_int(fsm_deadline(&b.fsm), FSM_NEVER);
    }
}

/* What the outside world can do next: an event that is possible, at a time not before now. */
static void random_event(struct bench *b, int64_t *now)
{
    int kind = rand() % FSM__EVENTS;
    int rank = rand() % b->fsm.count;

    *now += rand() % 3 * (SECOND / 2);
    if (kind == FSM_DEADLINE && fsm_deadline(&b->fsm) != FSM_NEVER)
        *now = *now > fsm_deadline(&b->fsm) ? *now : fsm_deadline(&b->fsm);
    if (kind == FSM_EMPTY && b->fsm.alive > 0)
        return;
    /* A life is one attempt: what follows another is a life of its own. */
    if (kind == FSM_RESTART || (kind == FSM_GIVE_UP && b->fsm.state != FSM_STARTING))
        return;
    if ((kind == FSM_TIMEOUT || kind == FSM_HUNG) && !fsm_takes_limits(&b->fsm))
        return;
    if (kind >= FSM_START_FAILED && kind <= FSM_RANK_ECHOED && !b->ranks[rank].alive)
        return;
    feed(b, (enum fsm_event_kind)kind, rank, *now);
}

static void hold_invariants(const struct bench *b, bool *drained)
{
    if (b->fsm.state > FSM_RUNNING)
        *drained = true;
    if (*drained && did(b, FSM_SPAWN_ALL))
        tap_fail("spawned after a drain began");
    if (b->fsm.state >= FSM_DRAINING && b->fsm.state != FSM_DONE && b->fsm.deadline == FSM_NEVER)
        tap_fail("no deadline on the ladder");
    if (b->fsm.state == FSM_DONE && fsm_deadline(&b->fsm) != FSM_NEVER)
        tap_fail("a deadline after the end");
    if (b->fsm.state == FSM_RUNNING && b->fsm.alive == 0)
        tap_fail("running without ranks");
}

/* However it went: once all have ended, or by deadlines alone, the end is reached. */
static void reach_the_end(struct bench *b, int64_t now, bool die)
{
    feed(b, FSM_GO, -1, now);
    feed(b, FSM_STOP, -1, now);
    for (int i = 0; die && i < b->fsm.count; i++) {
        if (b->ranks[i].alive)
            feed(b, FSM_RANK_FAILED, i, now);
    }
    for (int steps = 0; b->fsm.state != FSM_DONE && steps < 3 * RANKS; steps++) {
        now = now > fsm_deadline(&b->fsm) ? now : fsm_deadline(&b->fsm);
        if (now == FSM_NEVER)
            break;
        feed(b, FSM_DEADLINE, -1, now);
    }
    if (b->fsm.state != FSM_DONE)
        tap_fail("the end is not reached");
}

TEST(a_hundred_thousand_random_lives)
{
    srand(7);
    for (int life = 0; life < 100000 && !tap_bad; life++) {
        struct fsm_config config = fanout;
        struct bench b;
        bool drained = false;
        int64_t now = 0;

        config.sweep = rand() % 4 != 0;
        config.escalate = rand() % 4 != 0;
        config.settle_ns = rand() % 2 * SECOND;
        bench_init(&b, &config, 1 + rand() % RANKS);
        for (int steps = rand() % 40; steps > 0; steps--) {
            random_event(&b, &now);
            hold_invariants(&b, &drained);
        }
        reach_the_end(&b, now, !config.escalate || rand() % 2);
    }
    tap_ok(!tap_bad);
}

TEST(states_have_the_contract_s_names)
{
    tap_eq_str(fsm_state_name(FSM_STARTING), "STARTING");
    tap_eq_str(fsm_state_name(FSM_SWEEPING), "SWEEPING");
    tap_eq_str(fsm_state_name(FSM_REAPING), "SWEEPING");
    tap_eq_str(fsm_state_name(FSM_DONE), "DONE");
}

TAP_MAIN()
