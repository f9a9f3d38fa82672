#include "model/rlimit.h"

#include <sys/resource.h>

#include "tap.h"

TEST(reads_soft_and_hard)
{
    struct rlimit_value limit;

    tap_ok(rlimit_read("core=0", &limit));
    tap_eq_int(limit.resource, RLIMIT_CORE);
    tap_eq_uint(limit.soft, 0);
    tap_eq_uint(limit.hard, 0);
    tap_ok(rlimit_read("stack=8Mi:unlimited", &limit));
    tap_eq_int(limit.resource, RLIMIT_STACK);
    tap_eq_uint(limit.soft, 8 << 20);
    tap_eq_uint(limit.hard, RLIMIT_UNLIMITED);
    tap_ok(rlimit_read("memlock=unlimited", &limit));
    tap_eq_uint(limit.soft, RLIMIT_UNLIMITED);
}

TEST(every_resource_has_a_name)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        char text[64];
        struct rlimit_value limit;

        snprintf(text, sizeof(text), "%s=1:2", rlimit_name(i));
        tap_ok(rlimit_read(text, &limit));
        tap_eq_int(limit.resource, i);
    }
    tap_eq_str(rlimit_name(RLIM_NLIMITS), "?");
}

TEST(what_is_bad_changes_nothing)
{
    static const char *const texts[] = {"",         "core",         "core=",   "=0",
                                        "cor=0",    "core=0:",      "core=:0", "core=2:1",
                                        "core=0x1", "core=0:0:0",   "core= 0", "core=unlimited:1",
                                        "CORE=0",   "core=0,cpu=1", "core=1e3"};
    struct rlimit_value limit = {.resource = 77};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        tap_ok(!rlimit_read(texts[i], &limit));
    tap_eq_int(limit.resource, 77);
}

TAP_MAIN()
