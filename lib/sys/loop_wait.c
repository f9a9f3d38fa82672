#include "base/log.h"
#include "sys/loop_parts.h"

static void go(struct loop *loop, int64_t now)
{
    loop->outcome.waiting[0] = '\0';
    if (loop->waiting)
        wait_master_end(&loop->wait);
    loop->waiting = false;
    loop_step(loop, FSM_GO, -1, now);
}

/* Where a start hangs is worth a look at the termination log, too. */
static void tell(struct loop *loop, const char *progress)
{
    struct buf waiting = BUF_OVER(loop->outcome.waiting);

    if (progress[0])
        log_notice("%s", progress);
    waiting_sentence(loop->plan, loop->wait.cause, &waiting);
    publish_now(&loop->publish);
}

void loop_start(struct loop *loop, int64_t now_ns)
{
    if (!wait_master_wanted(loop->plan)) {
        go(loop, now_ns);
        return;
    }
    loop->waiting = true;
    wait_master_begin(&loop->wait, loop->plan, loop->epoll_fd, now_ns);
    loop_check_wait(loop, now_ns);
    if (loop->waiting)
        tell(loop, "");
}

void loop_check_wait(struct loop *loop, int64_t now_ns)
{
    char room[256];
    struct buf progress = BUF_OVER(room);

    if (!loop->waiting || loop->fsm.state != FSM_STARTING)
        return;
    switch (wait_master_tick(&loop->wait, now_ns, &progress, &loop->outcome.own)) {
    case WAIT_READY: go(loop, now_ns); break;
    case WAIT_FAILED: loop_step(loop, FSM_GIVE_UP, -1, now_ns); break;
    case WAIT_PENDING:
        if (progress.len > 0)
            tell(loop, room);
        break;
    }
}

int64_t loop_wait_deadline(const struct loop *loop)
{
    return loop->waiting && loop->fsm.state == FSM_STARTING
               ? wait_master_deadline(&loop->wait, loop_now(loop))
               : INT64_MAX;
}
