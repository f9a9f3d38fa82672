#include "model/options.h"

#include <stdio.h>
#include <string.h>

#include "model/settings.h"

#define HELP_WIDTH  80
#define HELP_COLUMN 30 /* where the words about an option begin */
#define NAME_SHOWN  80 /* bytes of a user's word that a message repeats */

/* The command line while it is read. */
struct reader {
    const char *const *next; /* words not read yet */
    struct settings *settings;
    struct err *err;
    enum options_verb verb;
};

static int find_letter(char letter)
{
    for (int id = 0; id < OPT__COUNT; id++) {
        if (option_rows[id].letter == letter)
            return id;
    }
    return -1;
}

static int unknown_long(const struct reader *reader, const char *name, size_t len)
{
    int shown = (int)(len < NAME_SHOWN ? len : NAME_SHOWN);
    int id = options_find_spec_only(name, len);

    if (id >= 0)
        return err_set(reader->err, ERR_USAGE, "--%s is no option; the spec has it as %s",
                       option_rows[id].name, option_rows[id].spec_key);
    id = options_nearest(name, len);
    if (id < 0)
        return err_set(reader->err, ERR_USAGE, "unknown option --%.*s; see --help", shown, name);
    return err_set(reader->err, ERR_USAGE, "unknown option --%.*s; did you mean --%s?", shown, name,
                   option_rows[id].name);
}

/* A row none of whose values on a command line would be accepted: no argument needs to be there. */
static bool always_refused(const struct option_row *row)
{
    return row->status == OPTION_REFUSED && !row->dflt;
}

static bool takes_argument(const struct option_row *row)
{
    return row->type != OPTION_FLAG && row->type != OPTION_COUNT;
}

/* Acts on a row that takes no argument. */
static int take_flag(struct reader *reader, enum option_id id, const char *origin)
{
    const struct setting *now = &reader->settings->rows[id];
    char count[24];
    long before = now->source == SOURCE_FLAG ? settings_int(reader->settings, id) : 0;

    if (id == OPT_HELP)
        reader->verb = OPTIONS_HELP;
    else if (id == OPT_VERSION)
        reader->verb = OPTIONS_VERSION;
    snprintf(count, sizeof(count), "%ld", before + 1);
    return settings_offer(reader->settings, id,
                          &(struct setting){SOURCE_FLAG,
                                            option_rows[id].type == OPTION_COUNT ? count : "true",
                                            origin},
                          reader->err);
}

/* What an option means whose value may be left out and was. */
static const char *first_word(const struct option_row *row, char room[static 32])
{
    snprintf(room, 32, "%.*s", (int)strcspn(row->words, "|"), row->words);
    return room;
}

/* Acts on a row that takes one: `attached` if it came in the same word, else the next word. */
static int take_argument(struct reader *reader, enum option_id id, const char *origin,
                         const char *attached)
{
    const struct option_row *row = &option_rows[id];
    const char *value = attached;
    char first[32];

    if (!value && always_refused(row))
        value = "";
    else if (!value && row->optional_value)
        value = first_word(row, first);
    if (!value) {
        value = *reader->next;
        if (!value)
            return err_set(reader->err, ERR_USAGE, "%s needs a value%s%s", origin,
                           row->arg ? ": " : "", row->arg ? row->arg : "");
        if (strncmp(value, "--", 2) == 0)
            return err_set(reader->err, ERR_USAGE,
                           "%s needs a value, not %.80s; if that is its value, join them with =",
                           origin, value);
        reader->next++;
    }
    return settings_offer(reader->settings, id, &(struct setting){SOURCE_FLAG, value, origin},
                          reader->err);
}

/* Reads "name" or "name=value", what follows "--". */
static int read_long(struct reader *reader, const char *text)
{
    size_t len = strcspn(text, "=");
    const char *attached = text[len] == '=' ? text + len + 1 : NULL;
    const struct option_row *row;
    char origin[64];
    int id = options_find(text, len);

    if (id < 0)
        return unknown_long(reader, text, len);
    row = &option_rows[id];
    snprintf(origin, sizeof(origin), "--%s", row->name);
    if (takes_argument(row))
        return take_argument(reader, (enum option_id)id, origin, attached);
    if (attached)
        return err_set(reader->err, ERR_USAGE, "%s takes no value", origin);
    return take_flag(reader, (enum option_id)id, origin);
}

/* Reads letters, what follows "-": "gs", "vvv", "e143". */
static int read_letters(struct reader *reader, const char *word)
{
    int whole = word[2] != '\0' ? options_find(word + 1, strcspn(word + 1, "=")) : -1;

    /* No name of an option is a cluster that could be meant. */
    if (whole >= 0)
        return err_set(reader->err, ERR_USAGE, "unknown option %.80s; did you mean --%s?", word,
                       option_rows[whole].name);
    for (const char *at = word + 1; *at != '\0'; at++) {
        char origin[] = {'-', *at, '\0'};
        int id = find_letter(*at);

        if (id < 0 && at == word + 1)
            return err_set(reader->err, ERR_USAGE, "unknown option %.80s; see --help", word);
        if (id < 0)
            return err_set(reader->err, ERR_USAGE, "unknown option -%c in %.80s; see --help", *at,
                           word);
        if (takes_argument(&option_rows[id]))
            return take_argument(reader, (enum option_id)id, origin, at[1] != '\0' ? at + 1 : NULL);
        if (take_flag(reader, (enum option_id)id, origin) < 0)
            return -1;
    }
    return 0;
}

int options_parse(const char *const *argv, struct settings *settings,
                  const char *const **ret_program, struct err *err)
{
    struct reader reader = {.next = argv, .settings = settings, .err = err, .verb = OPTIONS_RUN};

    if (*reader.next)
        reader.next++;
    while (reader.verb == OPTIONS_RUN && *reader.next) {
        const char *word = *reader.next;

        if (word[0] != '-' || word[1] == '\0')
            break;
        reader.next++;
        if (strcmp(word, "--") == 0)
            break;
        if ((word[1] == '-' ? read_long(&reader, word + 2) : read_letters(&reader, word)) < 0)
            return -1;
    }
    *ret_program = reader.next;
    return (int)reader.verb;
}

/* Appends words, broken between blanks so that no line passes HELP_WIDTH; at: column now. */
static void add_wrapped(struct buf *out, const char *text, size_t at)
{
    for (const char *word = text; *word != '\0';) {
        size_t len = strcspn(word, " ");

        if (at > HELP_COLUMN && at + 1 + len > HELP_WIDTH) {
            buf_addf(out, "\n%*s", HELP_COLUMN, "");
            at = HELP_COLUMN;
        } else if (at > HELP_COLUMN) {
            buf_addc(out, ' ');
            at++;
        }
        buf_add(out, word, len);
        at += len;
        word += len;
        word += strspn(word, " ");
    }
    buf_addc(out, '\n');
}

static void add_row(struct buf *out, const struct option_row *row)
{
    size_t start = out->len;
    char room[256];
    struct buf words = BUF_OVER(room);

    buf_addf(out, "  %c%c%c --%s", row->letter ? '-' : ' ', row->letter ? row->letter : ' ',
             row->letter ? ',' : ' ', row->name);
    if (row->arg)
        buf_addf(out, row->optional_value ? "[=%s]" : " %s", row->arg);
    if (out->len - start + 1 > HELP_COLUMN)
        buf_addf(out, "\n%*s", HELP_COLUMN, "");
    else
        buf_addf(out, "%*s", (int)(HELP_COLUMN - (out->len - start)), "");
    buf_adds(&words, row->help);
    if (row->dflt)
        buf_addf(&words, " (%s)", row->dflt);
    add_wrapped(out, words.data, HELP_COLUMN);
}

static bool is_shown(const struct option_row *row)
{
    return !row->spec_only && (row->status == OPTION_BUILT || row->status == OPTION_NO_EFFECT);
}

static void add_group(struct buf *out, enum option_group group, const char *title)
{
    bool titled = false;

    for (int id = 0; id < OPT__COUNT; id++) {
        if (option_rows[id].group != group || !is_shown(&option_rows[id]))
            continue;
        if (!titled)
            buf_addf(out, "\n%s:\n", title);
        titled = true;
        add_row(out, &option_rows[id]);
    }
}

void options_help(struct buf *out)
{
    static const char *const titles[GROUP__COUNT] = {
        [GROUP_RANKS] = "Which ranks",     [GROUP_PROGRAM] = "What runs",
        [GROUP_DEVICES] = "Devices, CPUs", [GROUP_STOPPING] = "Signals and stopping",
        [GROUP_OUTPUT] = "Output",         [GROUP_VERDICT] = "The verdict",
        [GROUP_SECURITY] = "Privileges",   [GROUP_TINI] = "As in tini (they combine: -gs)",
        [GROUP_OTHER] = "Others",
    };

    buf_adds(out, "usage: rankinit [OPTIONS] [--] PROGRAM [ARG...]\n\n"
                  "PID 1 and launcher of a GPU container: starts one process per rank when a\n"
                  "number of ranks is stated (or PROGRAM is a *.py), else just PROGRAM.\n");
    for (int group = 0; group < GROUP__COUNT; group++)
        add_group(out, (enum option_group)group, titles[group]);
    buf_adds(out, "\nDurations: 300ms 25s 5m 1h30m. Every --x-y is also RANKINIT_X_Y in the\n"
                  "environment, and --x_y. In parentheses: the default. See rankinit(1).\n");
}
