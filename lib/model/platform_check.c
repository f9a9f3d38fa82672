/*
 * Whether all that is said of us can hold, and what is told of it.
 */
#include <limits.h>
#include <string.h>

#include "base/scan.h"
#include "model/platform_parts.h"

#define VALUE_SHOWN 60

static int read_world(const struct platform *platform, long *ret, struct err *err)
{
    const char *text = platform_value(platform->envp, "WORLD_SIZE");

    if (!scan_int(text, 1, INT_MAX, ret))
        return err_set(err, ERR_SPEC, "WORLD_SIZE=%.40s is no number from 1", text);
    return 0;
}

/* RANK is a node rank or the number of one of our ranks. */
static int check_rank(const struct platform *platform, const struct settings *settings, int nproc,
                      struct err *err)
{
    const char *text = platform_value(platform->envp, "RANK");
    long node = settings_int(settings, OPT_NODE_RANK);
    long rank;

    if (!text)
        return 0;
    if (!scan_int(text, 0, INT_MAX, &rank))
        return err_set(err, ERR_SPEC, "RANK=%.40s is no number from 0", text);
    if (rank == node || rank / nproc == node)
        return 0;
    return err_set(err, ERR_SPEC, "RANK=%ld contradicts %s, which says that this is node %ld", rank,
                   settings->rows[OPT_NODE_RANK].origin, node);
}

/* WORLD_SIZE counts nodes, or ranks: ours, or those that the platform thought of. */
static int check_world(const struct platform *platform, const struct settings *settings, int nproc,
                       struct err *err)
{
    const struct setting *asked = &settings->rows[OPT_NPROC_PER_NODE];
    const char *theirs = platform_value(platform->envp, "PET_NPROC_PER_NODE");
    long nodes = settings_int(settings, OPT_NNODES);
    bool counted = asked->text && (*asked->text < '0' || *asked->text > '9');
    long world, each;

    if (!platform_value(platform->envp, "WORLD_SIZE"))
        return 0;
    if (read_world(platform, &world, err) < 0)
        return -1;
    if (world == nodes || world == nodes * nproc)
        return 0;
    if (theirs && scan_int(theirs, 1, INT_MAX, &each) && world == nodes * each)
        return 0;
    return err_set(err, (counted || !asked->text) && world > nodes * nproc ? ERR_DEVICES : ERR_SPEC,
                   "WORLD_SIZE=%ld is neither %ld nodes (%s) nor %ld x %d ranks (%s)", world, nodes,
                   settings->rows[OPT_NNODES].origin, nodes, nproc,
                   asked->text ? asked->origin : "--nproc-per-node auto");
}

/* With a word on what is counted, WORLD_SIZE can only be one of the two. */
static int check_told(const struct platform *platform, const struct settings *settings, int nproc,
                      struct err *err)
{
    const char *word = settings_text(settings, OPT_RANK_MEANS);
    bool nodes = strcmp(word, "node") == 0;
    long world, want = settings_int(settings, OPT_NNODES) * (nodes ? 1 : nproc);

    if ((!nodes && strcmp(word, "process") != 0) || !platform_value(platform->envp, "WORLD_SIZE") ||
        !settings_stated(settings, OPT_NNODES))
        return 0;
    if (read_world(platform, &world, err) < 0)
        return -1;
    if (world == want)
        return 0;
    return err_set(err, ERR_SPEC, "WORLD_SIZE=%ld contradicts %s=%s%s, as --rank-means is %s",
                   world, settings->rows[OPT_NNODES].origin, settings_text(settings, OPT_NNODES),
                   nodes ? "" : " and the ranks of each", word);
}

int platform_check(const struct platform *platform, const struct settings *settings, int nproc,
                   struct err *err)
{
    if (platform->torchrun || platform_nested(platform->envp))
        return 0;
    if (check_told(platform, settings, nproc, err) < 0)
        return -1;
    /* Where a person stated who we are, what an operator wrote is simply overruled. */
    if (settings->rows[OPT_NNODES].source != SOURCE_PLATFORM)
        return 0;
    if (check_world(platform, settings, nproc, err) < 0)
        return -1;
    if (settings->rows[OPT_NODE_RANK].source != SOURCE_PLATFORM)
        return 0;
    return check_rank(platform, settings, nproc, err);
}

const char *platform_index(const struct platform *platform, const char **ret_text)
{
    const struct platform_row *row = platform_nested(platform->envp) ? NULL
                                                                     : platform_find_row(platform);
    struct platform_word rank;

    if (!row || row->kind == PLATFORM_TASKS)
        return NULL;
    rank = platform_first(platform->envp, row->rank);
    *ret_text = rank.text;
    return rank.from;
}

/* What a platform may give, in the order of the telling. */
static const enum option_id given[] = {OPT_NNODES,      OPT_NODE_RANK,   OPT_NPROC_PER_NODE,
                                       OPT_MASTER_ADDR, OPT_MASTER_PORT, OPT_RDZV_ENDPOINT};

#define GIVEN (sizeof(given) / sizeof(given[0]))

static bool tell_given(const struct settings *settings, struct buf *out)
{
    bool any = false;

    for (size_t i = 0; i < GIVEN; i++) {
        const struct setting *row = &settings->rows[given[i]];

        if (row->source != SOURCE_PLATFORM)
            continue;
        buf_addf(out, "%s%s %.*s (%s)", any ? ", " : "", option_rows[given[i]].name, VALUE_SHOWN,
                 row->text, row->origin);
        any = true;
    }
    return any;
}

/* True if a variable's name is where a setting came from. */
static bool is_taken(const struct settings *settings, const char *name)
{
    for (size_t i = 0; i < GIVEN; i++) {
        const struct setting *row = &settings->rows[given[i]];

        if (row->source == SOURCE_PLATFORM && strstr(row->origin, name))
            return true;
    }
    return false;
}

/* As every number and name that a row may have beside those taken is another index or master. */
static bool says_the_same(const struct settings *settings, const char *text)
{
    const char *rank = settings->rows[OPT_NODE_RANK].text;
    const char *master = settings->rows[OPT_MASTER_ADDR].text;

    return (rank && strcmp(rank, text) == 0) || (master && strcmp(master, text) == 0);
}

/* What is not told twice, though two rows may know it. */
static bool was_told(struct strvec *told, const char *name)
{
    for (size_t i = 0; i < told->count; i++) {
        if (strcmp(told->items[i], name) == 0)
            return true;
    }
    strvec_push(told, name);
    return false;
}

/* One telling of what was not used. */
struct unused {
    const struct platform *platform;
    const struct settings *settings;
    struct strvec told;
    struct buf *out;
    bool contradicts;
};

static void tell_unused(struct unused *unused, const char *const names[PLATFORM_NAMES])
{
    for (int i = 0; i < PLATFORM_NAMES && names[i]; i++) {
        const char *text = platform_value(unused->platform->envp, names[i]);

        if (!text || is_taken(unused->settings, names[i]) || was_told(&unused->told, names[i]))
            continue;
        buf_addf(unused->out, "%s%s=%.*s", unused->told.count == 1 ? "; not used: " : ", ",
                 names[i], VALUE_SHOWN, text);
        if (!says_the_same(unused->settings, text))
            unused->contradicts = true;
    }
}

enum platform_news platform_tell(const struct platform *platform, const struct settings *settings,
                                 struct buf *out)
{
    struct unused unused = {.platform = platform, .settings = settings, .out = out};
    bool taken, told;

    buf_addf(out, "%s: ", platform->name ? platform->name : "no platform decides");
    taken = tell_given(settings, out);
    if (!taken)
        buf_adds(out, "nothing taken");
    for (int i = 0; i < platform_row_count; i++) {
        const struct platform_row *row = &platform_rows[i];

        if (platform->name && strcmp(row->name, platform->name) == 0)
            continue;
        tell_unused(&unused, row->signs);
        tell_unused(&unused, row->rank);
        tell_unused(&unused, row->master);
    }
    told = unused.told.count > 0;
    strvec_release(&unused.told);
    if (!taken && !told)
        return PLATFORM_SILENT;
    return taken && unused.contradicts ? PLATFORM_CONTRADICTED : PLATFORM_ROUTINE;
}
