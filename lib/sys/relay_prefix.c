#include "sys/relay_prefix.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/calendar.h"
#include "sys/source.h"

/* Appends what fits: unlike a text of base/buf a prefix needs no byte for a NUL. */
static void add(struct relay_prefix *prefix, const char *bytes, size_t len)
{
    size_t room = RELAY_PREFIX_MAX - prefix->len;

    if (len > room)
        len = room;
    memcpy(prefix->text + prefix->len, bytes, len);
    prefix->len += len;
}

static bool add_time(struct relay_prefix *prefix)
{
    char blank[RELAY_TIME_SIZE];

    if (prefix->times == RELAY_PREFIX_TIMES || RELAY_PREFIX_MAX - prefix->len < sizeof(blank))
        return false;
    prefix->time_at[prefix->times++] = (unsigned char)prefix->len;
    memset(blank, '0', sizeof(blank));
    add(prefix, blank, sizeof(blank));
    return true;
}

/* Appends the value of a variable; false if there is none of this name. */
static bool add_value(struct relay_prefix *prefix, const struct plan *plan, const int numbers[4],
                      const char *name, size_t len)
{
    static const char *const known[] = {"rank", "local_rank", "node_rank", "attempt"};
    char room[16];
    struct buf number = BUF_OVER(room);

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strlen(known[i]) != len || memcmp(known[i], name, len) != 0)
            continue;
        buf_addf(&number, "%d", numbers[i]);
        add(prefix, number.data, number.len);
        return true;
    }
    if (len == 9 && memcmp(name, "role_name", len) == 0)
        add(prefix, plan->job.role ? plan->job.role : "",
            strlen(plan->job.role ? plan->job.role : ""));
    else if (len == 4 && memcmp(name, "host", len) == 0)
        add(prefix, plan->host, strlen(plan->host));
    else
        return len == 4 && memcmp(name, "time", len) == 0 && add_time(prefix);
    return true;
}

/* Length of the identifier at text: [A-Za-z_][A-Za-z0-9_]*. */
static size_t name_length(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

    if (strspn(text, letters) == 0)
        return 0;
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
}

void relay_prefix_render(const struct plan *plan, int local_rank, int attempt,
                         struct relay_prefix *ret)
{
    const int numbers[4] = {plan->job.first_rank + local_rank, local_rank, plan->job.node_rank,
                            attempt};
    const char *text = plan->output.prefix_template;

    memset(ret, 0, sizeof(*ret));
    if (plan->output.prefix != PLAN_PREFIX_TEMPLATE || !text)
        return;
    while (*text) {
        size_t plain = strcspn(text, "$");
        size_t brace = text[plain] && text[plain + 1] == '{';
        const char *name = text + plain + 1 + brace;
        size_t len = text[plain] ? name_length(name) : 0;

        add(ret, text, plain);
        text += plain;
        if (text[0] == '$' && text[1] == '$') {
            add(ret, "$", 1);
            text += 2;
        } else if (len > 0 && (!brace || name[len] == '}') &&
                   add_value(ret, plan, numbers, name, len)) {
            text = name + len + brace;
        } else if (*text) {
            add(ret, text++, 1);
        }
    }
}

static void format_time(int64_t unix_ms, char *out)
{
    struct calendar now = calendar_of(unix_ms / 1000);
    char room[64];
    struct buf text = BUF_OVER(room);

    buf_addf(&text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (int)(now.year % 10000), now.month,
             now.day, now.hour, now.minute, now.second, (int)(unix_ms % 1000));
    memcpy(out, room, RELAY_TIME_SIZE);
}

void relay_prefix_stamp(struct relay_prefix *prefix, int64_t unix_ms)
{
    char text[RELAY_TIME_SIZE];

    if (prefix->times == 0)
        return;
    format_time(unix_ms < 0 ? 0 : unix_ms, text);
    for (int i = 0; i < prefix->times; i++)
        memcpy(prefix->text + prefix->time_at[i], text, sizeof(text));
}

int64_t relay_prefix_clock(void)
{
    return source_realtime() / 1000000;
}
