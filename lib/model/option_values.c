#include "model/option_values.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/scan.h"
#include "base/signame.h"
#include "model/rlimit.h"

#define NNODES_MAX 1000000
#define NPROC_MAX  4096
#define PORT_MAX   65535
#define SIGNAL_MAX 64
#define ITEM_MAX   64 /* bytes of one item of a list, its NUL included */
#define HOST_MAX   253
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"
#define RANK_MAX   4095
#define STREAMS    3 /* 1: stdout, 2: stderr */

typedef bool value_check(const struct option_row *row, const char *text);

static bool is_word(const struct option_row *row, const char *text)
{
    return row->words && scan_word(text, row->words) >= 0;
}

static bool is_int(const struct option_row *row, const char *text)
{
    long number;

    return scan_int(text, row->min, row->max, &number);
}

static bool is_word_or_int(const struct option_row *row, const char *text)
{
    return is_word(row, text) || is_int(row, text);
}

static bool is_flag(const struct option_row *row, const char *text)
{
    bool flag;

    (void)row;
    return scan_bool(text, &flag);
}

static bool is_count(const struct option_row *row, const char *text)
{
    long number;

    (void)row;
    return scan_int(text, 0, 100, &number);
}

static bool is_nproc(const struct option_row *row, const char *text)
{
    long number;

    return is_word(row, text) || scan_int(text, 1, NPROC_MAX, &number);
}

long option_value_nnodes(const char *text)
{
    char first[ITEM_MAX];
    const char *colon = strchr(text, ':');
    long min, max;

    if (!colon)
        return scan_int(text, 1, NNODES_MAX, &min) ? min : 0;
    if ((size_t)(colon - text) >= sizeof(first))
        return 0;
    memcpy(first, text, (size_t)(colon - text));
    first[colon - text] = '\0';
    if (!scan_int(first, 1, NNODES_MAX, &min) || !scan_int(colon + 1, min, NNODES_MAX, &max))
        return 0;
    return min == max ? min : -1;
}

static bool is_nnodes(const struct option_row *row, const char *text)
{
    (void)row;
    return option_value_nnodes(text) > 0;
}

static bool is_port(const struct option_row *row, const char *text)
{
    long number;

    return is_word(row, text) || scan_int(text, 1, PORT_MAX, &number);
}

static bool is_decimal(const struct option_row *row, const char *text)
{
    size_t whole = strspn(text, "0123456789");
    size_t part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;

    (void)row;
    return whole + part > 0 && text[whole + (text[whole] == '.') + part] == '\0';
}

static bool is_duration(const struct option_row *row, const char *text)
{
    int64_t ns;

    (void)row;
    return scan_duration(text, &ns);
}

static bool is_size(const struct option_row *row, const char *text)
{
    uint64_t bytes;

    (void)row;
    return scan_size(text, &bytes);
}

static bool is_signal(const struct option_row *row, const char *text)
{
    int number = signame_number(text);

    (void)row;
    return number >= 1 && number <= SIGNAL_MAX;
}

/* Checks every item of a list with commas; an empty item is none, nor is one that is too long. */
static bool all_items(const char *text, bool (*check)(char *item))
{
    for (const char *at = text; *at != '\0';) {
        char item[ITEM_MAX];
        const char *from = at;

        if (!scan_item(&at, item, sizeof(item)) || strlen(item) < strcspn(from, ",") ||
            !check(item))
            return false;
    }
    return *text != '\0' && text[strlen(text) - 1] != ',';
}

/* Not those that never reach us, nor the one that we never pass on. */
static bool is_caught(int signal)
{
    return signal >= 1 && signal <= SIGNAL_MAX && signal != SIGKILL && signal != SIGSTOP &&
           signal != SIGCHLD;
}

static bool signal_item(char *item)
{
    return is_caught(signame_number(item));
}

static bool is_signals(const struct option_row *row, const char *text)
{
    (void)row;
    return all_items(text, signal_item);
}

static bool rewrite_item(char *item)
{
    char *colon = strchr(item, ':');
    int from, to;

    if (!colon)
        return false;
    *colon = '\0';
    from = signame_number(item);
    to = strcmp(colon + 1, "0") == 0 ? 0 : signame_number(colon + 1);
    return is_caught(from) && to >= 0 && to <= SIGNAL_MAX;
}

static bool is_rewrite(const struct option_row *row, const char *text)
{
    (void)row;
    return all_items(text, rewrite_item);
}

static bool code_item(char *item)
{
    long number;

    return scan_int(item, 0, 255, &number);
}

static bool is_codes(const struct option_row *row, const char *text)
{
    (void)row;
    return all_items(text, code_item);
}

static bool code_map_item(char *item)
{
    char *colon = strchr(item, ':');

    if (!colon)
        return false;
    *colon = '\0';
    return code_item(item) && code_item(colon + 1);
}

static bool is_code_map(const struct option_row *row, const char *text)
{
    (void)row;
    return all_items(text, code_map_item);
}

static bool name_item(char *item)
{
    return !strchr("0123456789", item[0]) && item[strspn(item, NAME_CHARS)] == '\0';
}

static bool is_names(const struct option_row *row, const char *text)
{
    (void)row;
    return all_items(text, name_item);
}

static bool is_rlimits(const struct option_row *row, const char *text)
{
    (void)row;
    return all_items(text, rlimit_is_one);
}

static bool is_umask(const struct option_row *row, const char *text)
{
    size_t len = strspn(text, "01234567");

    (void)row;
    return len > 0 && text[len] == '\0' && (len <= 3 || (len == 4 && text[0] == '0'));
}

/*
 * A host name or an address, of text[len]: no port, no brackets, no reference that somebody forgot to
 * expand, such as $(POD_IP).
 */
static bool is_host_part(const char *text, size_t len)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t address = strspn(text, "0123456789abcdefABCDEF:."), zone = 0;
    int colons = 0;

    if (len == 0 || len > HOST_MAX || text[0] == '-')
        return false;
    if (strspn(text, name) >= len)
        return true;
    for (size_t i = 0; i < address && i < len; i++)
        colons += text[i] == ':';
    if (address < len && text[address] == '%')
        zone = 1 + strspn(text + address + 1, name);
    return colons > 1 && zone != 1 && address + zone >= len;
}

static bool is_host(const struct option_row *row, const char *text)
{
    (void)row;
    return is_host_part(text, strlen(text));
}

/* HOST, HOST:PORT, [IPV6]:PORT; an address with more than one colon needs the brackets. */
static bool is_endpoint(const struct option_row *row, const char *text)
{
    bool brackets = text[0] == '[';
    const char *host = text + brackets;
    size_t len = strcspn(host, brackets ? "]" : ":");
    const char *rest = host + len + (brackets && host[len] == ']');
    long port;

    (void)row;
    if ((brackets && host[len] != ']') || !is_host_part(host, len))
        return false;
    return *rest == '\0' || (*rest == ':' && scan_int(rest + 1, 0, PORT_MAX, &port));
}

bool option_value_streams(const char *text,
                          void (*add)(void *context, long local_rank, int streams), void *context)
{
    char item[ITEM_MAX];
    long rank, streams;

    if (scan_int(text, 0, STREAMS, &streams)) {
        add(context, -1, (int)streams);
        return true;
    }
    for (;; text++) {
        size_t len = strcspn(text, ",");
        char *colon;

        if (len == 0 || len >= sizeof(item))
            return false;
        memcpy(item, text, len);
        item[len] = '\0';
        colon = strchr(item, ':');
        if (!colon || !scan_int(colon + 1, 0, STREAMS, &streams))
            return false;
        *colon = '\0';
        if (!scan_int(item, 0, RANK_MAX, &rank))
            return false;
        add(context, rank, (int)streams);
        text += len;
        if (*text == '\0')
            return true;
    }
}

static void no_streams(void *context, long local_rank, int streams)
{
    (void)context, (void)local_rank, (void)streams;
}

static bool is_streams(const struct option_row *row, const char *text)
{
    (void)row;
    return option_value_streams(text, no_streams, NULL);
}

static void no_rank(void *context, long number)
{
    (void)context, (void)number;
}

static bool is_ranks(const struct option_row *row, const char *text)
{
    (void)row;
    return scan_list(text, RANK_MAX, no_rank, NULL);
}

static bool is_text(const struct option_row *row, const char *text)
{
    (void)row;
    return text[0] != '\0';
}

static value_check *const checks[] = {
    [OPTION_FLAG] = is_flag,         [OPTION_COUNT] = is_count,
    [OPTION_INT] = is_int,           [OPTION_NPROC] = is_nproc,
    [OPTION_NNODES] = is_nnodes,     [OPTION_PORT] = is_port,
    [OPTION_DURATION] = is_duration, [OPTION_SIZE] = is_size,
    [OPTION_SIGNAL] = is_signal,     [OPTION_REWRITE] = is_rewrite,
    [OPTION_CODES] = is_codes,       [OPTION_WORD] = is_word,
    [OPTION_TEXT] = is_text,         [OPTION_WORD_OR_INT] = is_word_or_int,
    [OPTION_ENDPOINT] = is_endpoint, [OPTION_SIGNALS] = is_signals,
    [OPTION_CODE_MAP] = is_code_map, [OPTION_NAMES] = is_names,
    [OPTION_RLIMITS] = is_rlimits,   [OPTION_UMASK] = is_umask,
    [OPTION_HOST] = is_host,         [OPTION_DECIMAL] = is_decimal,
    [OPTION_STREAMS] = is_streams,   [OPTION_RANKS] = is_ranks,
};

bool option_value_ok(const struct option_row *row, const char *text)
{
    return checks[row->type](row, text);
}

static bool same_flag(const char *a, const char *b)
{
    bool one = false, two = false;

    return (!a || scan_bool(a, &one)) && (!b || scan_bool(b, &two)) && one == two;
}

static bool same_duration(const char *a, const char *b)
{
    int64_t one, two;

    return scan_duration(a, &one) && scan_duration(b, &two) && one == two;
}

static bool same_size(const char *a, const char *b)
{
    uint64_t one, two;

    return scan_size(a, &one) && scan_size(b, &two) && one == two;
}

bool option_value_same(const struct option_row *row, const char *a, const char *b)
{
    if (row->type == OPTION_FLAG)
        return same_flag(a, b);
    if (!a || !b)
        return a == b;
    switch (row->type) {
    case OPTION_DURATION: return same_duration(a, b);
    case OPTION_SIZE: return same_size(a, b);
    case OPTION_NNODES: return option_value_nnodes(a) == option_value_nnodes(b);
    default: return strcasecmp(a, b) == 0;
    }
}

/* "one, two, three": the words of a row that are not refused. */
static void add_words(const struct option_row *row, struct buf *out)
{
    const char *separator = "";

    for (const char *word = row->words; *word != '\0';) {
        size_t len = strcspn(word, "|");
        char name[ITEM_MAX] = "";

        if (len < sizeof(name))
            memcpy(name, word, len);
        if (!row->refused_words || scan_word(name, row->refused_words) < 0) {
            buf_adds(out, separator);
            buf_add(out, word, len);
            separator = ", ";
        }
        word += len + (word[len] == '|');
    }
}

void option_value_wanted(const struct option_row *row, struct buf *out)
{
    static const char *const wanted[] = {
        [OPTION_FLAG] = "true or false",
        [OPTION_COUNT] = "a number from 0 to 100",
        [OPTION_NNODES] = "a number of nodes",
        [OPTION_DECIMAL] = "a number of seconds such as 0.1",
        [OPTION_DURATION] = "a duration such as 300ms, 25s, 5m or 1h30m",
        [OPTION_SIZE] = "a size such as 4096, 64Ki or 1Gi",
        [OPTION_SIGNAL] = "a signal such as TERM or 15",
        [OPTION_SIGNALS] = "signals such as SIGTERM,SIGUSR1, none of KILL, STOP and CHLD",
        [OPTION_REWRITE] = "FROM:TO such as TERM:USR1 or INT:0, FROM not KILL, STOP or CHLD",
        [OPTION_CODES] = "an exit code from 0 to 255",
        [OPTION_CODE_MAP] = "FROM:TO such as 3:0 or 69:197, each from 0 to 255",
        [OPTION_NAMES] = "a list of names such as NET_RAW,SYS_ADMIN",
        [OPTION_RLIMITS] = "NAME=SOFT[:HARD] such as core=0, nofile=4096:8192 or memlock=unlimited",
        [OPTION_UMASK] = "an octal mask such as 022",
        [OPTION_ENDPOINT] = "HOST, HOST:PORT or [IPV6]:PORT",
        [OPTION_HOST] = "a host name or an address, without a port",
        [OPTION_TEXT] = "a text that is not empty",
        [OPTION_STREAMS] =
            "0 (none), 1 (stdout), 2 (stderr), 3 (both), or such by local rank, 0:3,1:1",
        [OPTION_RANKS] = "local ranks such as 0,1 or 0-3,6",
        [OPTION_WORD_OR_INT] = NULL,
    };
    bool numbers = true;
    long min = row->min, max = row->max;

    if (wanted[row->type]) {
        buf_adds(out, wanted[row->type]);
        return;
    }
    if (row->type == OPTION_WORD)
        numbers = false;
    else if (row->type == OPTION_NPROC || row->type == OPTION_PORT)
        min = 1, max = row->type == OPTION_PORT ? PORT_MAX : NPROC_MAX;
    if (numbers)
        buf_addf(out, "a number from %ld to %ld", min, max);
    if (row->words) {
        buf_adds(out, numbers ? " or one of " : "one of ");
        add_words(row, out);
    }
}
