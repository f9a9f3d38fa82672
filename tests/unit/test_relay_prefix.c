#include "sys/relay_prefix.h"
#include "tap.h"

/* Renders for local rank 1 on node 2 of a job with 4 ranks a node. */
static const char *render(const char *template, struct relay_prefix *prefix)
{
    static struct plan plan;
    static char text[RELAY_PREFIX_MAX + 1];

    plan.job.node_rank = 2;
    plan.job.first_rank = 8;
    plan.job.nproc = 4;
    plan.job.role = "trainer";
    strcpy(plan.host, "gpu-7");
    plan.output.prefix = template ? PLAN_PREFIX_TEMPLATE : PLAN_PREFIX_NEVER;
    plan.output.prefix_template = template;
    relay_prefix_render(&plan, 1, 3, prefix);
    relay_prefix_stamp(prefix, 1709210096789);
    memcpy(text, prefix->text, prefix->len);
    text[prefix->len] = '\0';
    return text;
}

TEST(variables)
{
    static const char *const cases[][2] = {
        {"[rank ${rank}] ", "[rank 9] "},
        {"${local_rank}/${node_rank}/${attempt}", "1/2/3"},
        {"${role_name}@${host}", "trainer@gpu-7"},
        {"$rank$local_rank", "91"},
        {"${time} ", "2024-02-29T12:34:56.789Z "},
        {"${time}|${time}", "2024-02-29T12:34:56.789Z|2024-02-29T12:34:56.789Z"},
        {"${nonsense} ${} ${rank ${ $ $5 $ranks", "${nonsense} ${} ${rank ${ $ $5 $ranks"},
        {"$$ $${rank} $$$rank $", "$ ${rank} $9 $"},
        {"", ""},
        {"plain", "plain"},
    };
    struct relay_prefix prefix;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        tap_eq_str(render(cases[i][0], &prefix), cases[i][1]);
    tap_eq_str(render(NULL, &prefix), "");
}

TEST(times)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {951782399999, "2000-02-28T23:59:59.999Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {1767225599999, "2025-12-31T23:59:59.999Z"},
        {1767225600000, "2026-01-01T00:00:00.000Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"},
        {-1, "1970-01-01T00:00:00.000Z"},
    };
    struct relay_prefix prefix;

    render("${time}", &prefix);
    tap_eq_uint(prefix.len, RELAY_TIME_SIZE);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        relay_prefix_stamp(&prefix, cases[i].ms);
        tap_eq_mem(prefix.text, cases[i].text, RELAY_TIME_SIZE);
    }
    tap_ok(relay_prefix_clock() > 1700000000000);
}

TEST(too_long_is_cut)
{
    char template[1000];
    struct relay_prefix prefix;

    memset(template, 'x', sizeof(template));
    template[sizeof(template) - 1] = '\0';
    tap_eq_uint(strlen(render(template, &prefix)), RELAY_PREFIX_MAX);
    /* A time is there as a whole or as the text that asked for it. */
    strcpy(template + RELAY_PREFIX_MAX - RELAY_TIME_SIZE + 1, "${time}");
    tap_has_str(render(template, &prefix), "x${time}");
    tap_eq_int(prefix.times, 0);
    template[0] = '\0';
    for (int i = 0; i < 12; i++)
        strcat(template, "${time}");
    render(template, &prefix);
    tap_eq_int(prefix.times, RELAY_PREFIX_TIMES);
    tap_ok(prefix.len <= RELAY_PREFIX_MAX);
}

TAP_MAIN()
