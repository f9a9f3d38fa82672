#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "sys/loop_parts.h"

/* Why the last verdict stays, for its hints. */
static void note_refusal(struct loop *loop, enum restart_answer answer,
                         const struct verdict *verdict)
{
    struct buf why = BUF_OVER(loop->outcome.not_restarted);

    restart_explain(answer, loop->plan, verdict, &why);
}

bool loop_restart(struct loop *loop, int64_t now_ns)
{
    struct outcome *outcome = &loop->outcome;
    enum restart_answer answer;
    struct verdict verdict;

    outcome->now_ns = now_ns;
    outcome_judge(outcome, loop->plan, &verdict);
    answer = restart_decide(loop->plan, &loop->past, outcome, &verdict);
    if (answer != RESTART_YES) {
        note_refusal(loop, answer, &verdict);
        return false;
    }
    log_notice("%s; restart %d of at most %d", verdict.message, loop->past.count + 1,
               loop->plan->restart.max);
    restart_note(loop->plan, &loop->past, outcome, &verdict);
    outcome_renew(outcome, &verdict);
    loop->stop_signal = SIGTERM;
    loop->limits.begun_ns = LIMITS_NEVER;
    loop_step(loop, FSM_RESTART, -1, now_ns);
    return true;
}

/* Here is the place for all that an attempt has of its own. */
static int prepare_next(struct loop *loop, struct err *err)
{
    int attempt = loop->outcome.restarts;
    struct err no_files = ERR_INIT;

    if (device_check_again(&loop->devices, loop->plan, err) < 0 ||
        prepare_again(loop->plan, &loop->prepared, attempt, err) < 0)
        return -1;
    if (logs_open(&loop->logs, attempt, &no_files) < 0)
        log_notice("%s: the console alone has the ranks' output", no_files.message);
    relay_renew(&loop->relay, attempt);
    for (int i = 0; i < loop->outcome.count; i++) {
        struct loop_rank *rank = &loop->ranks[i];

        source_watch(loop->epoll_fd, &rank->status, 0);
        cleanup_fd(&rank->status.fd);
        rank->status.fd = -1;
        rank->group_told = rank->stopped = false;
    }
    loop_watch_ready(loop);
    loop->outcome.master_port = loop->prepared.port;
    return 0;
}

void loop_renew(struct loop *loop, int64_t now_ns)
{
    bool ready = prepare_next(loop, &loop->outcome.own) == 0;

    loop_step(loop, ready ? FSM_GO : FSM_GIVE_UP, -1, now_ns);
}
