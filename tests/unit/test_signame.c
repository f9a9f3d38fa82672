#include <ctype.h>
#include <signal.h>

#include "base/signame.h"
#include "tap.h"

TEST(every_number_round_trips)
{
    for (int number = 1; number <= 64; number++) {
        char room[SIGNAME_MAX] = "";
        char lower[SIGNAME_MAX];
        const char *name = signame_text(number, room);

        tap_ok(name == room);
        tap_ok(strncmp(name, "SIG", 3) == 0);
        tap_eq_int(signame_number(name), number);
        tap_eq_int(signame_number(name + 3), number);
        for (size_t i = 0; i < sizeof(lower); i++)
            lower[i] = (char)tolower((unsigned char)name[i]);
        tap_eq_int(signame_number(lower), number);
        snprintf(lower, sizeof(lower), "%d", number);
        tap_eq_int(signame_number(lower), number);
        if (number <= 31 && number != SIGIO) /* "POLL" there */
            tap_eq_str(name + 3, sigabbrev_np(number));
    }
}

TEST(names)
{
    char room[SIGNAME_MAX];

    tap_eq_str(signame_text(SIGTERM, room), "SIGTERM");
    tap_eq_str(signame_text(SIGKILL, room), "SIGKILL");
    tap_eq_str(signame_text(32, room), "SIG32");
    tap_eq_str(signame_text(33, room), "SIG33");
    tap_eq_str(signame_text(34, room), "SIGRTMIN");
    tap_eq_str(signame_text(37, room), "SIGRTMIN+3");
    tap_eq_str(signame_text(64, room), "SIGRTMIN+30");
    tap_eq_str(signame_text(65, room), "SIG65");
    tap_eq_str(signame_text(99, room), "SIG99");
    tap_eq_str(signame_text(0, room), "SIG0");
    tap_eq_str(signame_text(-2147483647 - 1, room), "SIG-2147483648");
}

TEST(aliases)
{
    tap_eq_int(signame_number("IOT"), SIGABRT);
    tap_eq_int(signame_number("SIGIOT"), SIGABRT);
    tap_eq_int(signame_number("poll"), SIGIO);
    tap_eq_int(signame_number("CLD"), SIGCHLD);
    tap_eq_int(signame_number("sigChld"), SIGCHLD);
}

TEST(realtime)
{
    tap_eq_int(SIGRTMIN, 34);
    tap_eq_int(SIGRTMAX, 64);
    tap_eq_int(signame_number("RTMIN"), 34);
    tap_eq_int(signame_number("SIGRTMIN+0"), 34);
    tap_eq_int(signame_number("rtmin+3"), 37);
    tap_eq_int(signame_number("RTMIN+30"), 64);
    tap_eq_int(signame_number("RTMAX"), 64);
    tap_eq_int(signame_number("SIGRTMAX-1"), 63);
    tap_eq_int(signame_number("RTMAX-30"), 34);
    tap_eq_int(signame_number("RTMIN+31"), -1);
    tap_eq_int(signame_number("RTMAX-31"), -1);
    tap_eq_int(signame_number("RTMIN-1"), -1);
    tap_eq_int(signame_number("RTMAX+1"), -1);
    tap_eq_int(signame_number("RTMIN+"), -1);
    tap_eq_int(signame_number("RTMIN+-1"), -1);
    tap_eq_int(signame_number("RTMIN3"), -1);
    tap_eq_int(signame_number("RTMIN+99999999999999999999"), -1);
}

TEST(no_signals)
{
    static const char *const bad[] = {
        "",     "SIG",   "0",          "65",    "-1",        "015",
        "+15",  "15 ",   " TERM",      "TERM ", "TERMINATE", "TER",
        "SIG0", "SIG65", "SIGSIGTERM", "EXIT",  "SIG-1",     "99999999999999999999"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (!tap_eq_int(signame_number(bad[i]), -1))
            printf("# text \"%s\"\n", bad[i]);
    }
}

TAP_MAIN()
