/* What waiting for the master comes to. */
#include "model/waiting.h"

#include <errno.h>

#include "tap.h"

#define MS 1000000LL

static struct plan plan = {.job = {.master_addr = "job-0.train", .master_port = 29500},
                           .wait = {.length_ns = 900000 * MS}};

TEST(pauses_grow_to_five_seconds_and_differ)
{
    tap_eq_int(waiting_pause(1, 0), 80 * MS);
    tap_eq_int(waiting_pause(1, 20), 100 * MS);
    tap_eq_int(waiting_pause(1, 40), 120 * MS);
    tap_eq_int(waiting_pause(2, 20), 150 * MS);
    tap_eq_int(waiting_pause(1000, 20), 5000 * MS);
    tap_eq_int(waiting_pause(1000, 40), 6000 * MS);
}

TEST(only_what_is_sure_ends_the_job)
{
    static const struct {
        enum waiting_cause cause;
        bool sure;
    } rows[] = {
        {WAITING_UNKNOWN, false}, {WAITING_NO_NAME, true},     {WAITING_NO_SERVER, false},
        {WAITING_SERVER, false},  {WAITING_REFUSED, true},     {WAITING_SILENT, true},
        {WAITING_OTHER, true},    {WAITING_UNREACHABLE, true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = ERR_INIT;
        char room[400];
        struct buf notice = BUF_OVER(room);

        tap_eq_int(waiting_give_up(&plan, rows[i].cause, &notice, &err), rows[i].sure ? -1 : 0);
        tap_eq_int(err.kind, rows[i].sure ? ERR_MASTER : ERR_NONE);
        tap_eq_int(notice.len == 0, rows[i].sure);
        tap_has_str(rows[i].sure ? err.message : room, waiting_word(rows[i].cause));
        tap_has_str(rows[i].sure ? err.message : room, "job-0.train");
    }
}

TEST(sentences)
{
    struct err err = ERR_INIT;
    char room[400];
    struct buf text = BUF_OVER(room);

    waiting_sentence(&plan, WAITING_NO_NAME, &text);
    tap_eq_str(room, "waiting for the master job-0.train: no such name");
    waiting_give_up(&plan, WAITING_NO_NAME, &text, &err);
    tap_eq_str(err.message, "the master job-0.train cannot be reached: no such name, after 900.0 s "
                            "(--wait-master)");
    plan.wait.tcp = true;
    buf_reset(&text);
    waiting_sentence(&plan, WAITING_REFUSED, &text);
    tap_eq_str(room, "waiting for the master job-0.train, port 29500: connection refused");
}

TEST(errors_of_connect)
{
    tap_eq_int(waiting_of_errno(ECONNREFUSED), WAITING_REFUSED);
    tap_eq_int(waiting_of_errno(ETIMEDOUT), WAITING_SILENT);
    tap_eq_int(waiting_of_errno(EHOSTUNREACH), WAITING_UNREACHABLE);
    tap_eq_int(waiting_of_errno(ENETUNREACH), WAITING_UNREACHABLE);
    tap_eq_int(waiting_of_errno(EIO), WAITING_OTHER);
}

TEST(modules_of_nsswitch)
{
    tap_ok(!waiting_knows_other_modules(""));
    tap_ok(!waiting_knows_other_modules("hosts: files dns\n"));
    tap_ok(!waiting_knows_other_modules("passwd: sss\nhosts:\tfiles  dns myhostname # ldap\n"));
    tap_ok(!waiting_knows_other_modules("hosts: files [NOTFOUND=return] dns"));
    tap_ok(!waiting_knows_other_modules("hosts:"));
    tap_ok(!waiting_knows_other_modules("#hosts: ldap\nhosts: files [!UNAVAIL=return]"));
    tap_ok(waiting_knows_other_modules("hosts: files resolve [!UNAVAIL=return] dns\n"));
    tap_ok(waiting_knows_other_modules("hosts: files mdns4_minimal [NOTFOUND=return] dns\n"));
    tap_ok(waiting_knows_other_modules("hosts: dnsx\n"));
}

TAP_MAIN()
