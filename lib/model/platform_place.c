/*
 * How many nodes there are and which one this is, from what is left when flags, files and PET_*
 * have spoken.
 */
#include <limits.h>
#include <string.h>

#include "base/scan.h"
#include "model/platform_parts.h"

enum meaning { MEANS_NODE, MEANS_PROCESS, MEANS_UNKNOWN };

/* Whose variables RANK and WORLD_SIZE are. */
static const struct platform_row bare_row = {.name = "RANK and WORLD_SIZE"};
static const struct platform_row operator_row = {.name = "PyTorchJob"};

/* Length of "job-worker" in "job-worker-3.job.svc:29400"; 0 if it has no such form. */
static size_t worker_base(const char *host, long *ret_number)
{
    static const char mark[] = "-worker-";
    size_t label = strcspn(host, ".:");
    char number[24];

    for (size_t at = label; at > 0; at--) {
        size_t digits = at + strlen(mark) - 1;

        if (strncmp(host + at - 1, mark, strlen(mark)) != 0)
            continue;
        if (label <= digits || label - digits >= sizeof(number))
            return 0;
        memcpy(number, host + digits, label - digits);
        number[label - digits] = '\0';
        return scan_int(number, 0, INT_MAX, ret_number) ? digits - 1 : 0;
    }
    return 0;
}

/* What --rank-means says for certain; MEANS_UNKNOWN for auto. */
static enum meaning told_meaning(const struct settings *settings)
{
    int word = settings_word(settings, OPT_RANK_MEANS); /* node, process, auto */

    return word == MEANS_NODE || word == MEANS_PROCESS ? (enum meaning)word : MEANS_UNKNOWN;
}

static bool has_both(const struct platform *platform)
{
    return platform_value(platform->envp, "RANK") && platform_value(platform->envp, "WORLD_SIZE");
}

/*
 * Operators that count pods from a master of their own: RANK is the number in our hostname and one
 * more, beside the name of their master 0.
 */
static bool counts_pods(const struct platform *platform)
{
    const char *master = platform_value(platform->envp, "MASTER_ADDR");
    const char *host = platform->hostname ? platform->hostname : "";
    size_t base, their_base, worker;
    long rank, number;

    if (!master || !scan_int(platform_value(platform->envp, "RANK"), 0, INT_MAX, &rank) ||
        platform_ordinal(master, &their_base) != 0)
        return false;
    worker = worker_base(host, &number);
    if (worker > 0)
        return number + 1 == rank && strncmp(host, master, worker - strlen("worker")) == 0;
    return rank == 0 && platform_ordinal(host, &base) == 0 && base == their_base &&
           strncmp(host, master, base) == 0;
}

/* What RANK and WORLD_SIZE count here; only what follows for certain is taken. */
static enum meaning meaning_of(const struct platform *platform, const struct settings *settings,
                               int nproc, long world)
{
    const char *const *envp = platform->envp;
    bool nodes_known = settings_stated(settings, OPT_NNODES);

    if (told_meaning(settings) != MEANS_UNKNOWN)
        return told_meaning(settings);
    if (platform_pet_decides(envp))
        return MEANS_NODE;
    if (platform_value(envp, "LOCAL_RANK") || platform_value(envp, "LOCAL_WORLD_SIZE"))
        return MEANS_PROCESS;
    /* One rank a node: both readings say the same. No multiple: it cannot count processes. */
    if (nproc == 1 || world % nproc != 0 || counts_pods(platform))
        return MEANS_NODE;
    return nodes_known && world == settings_int(settings, OPT_NNODES) ? MEANS_NODE : MEANS_UNKNOWN;
}

static int read_world(const struct platform *platform, long *ret, struct err *err)
{
    const char *text = platform_value(platform->envp, "WORLD_SIZE");

    if (!scan_int(text, 1, INT_MAX, ret))
        return err_set(err, ERR_SPEC, "WORLD_SIZE=%.40s is no number from 1", text);
    return 0;
}

/* A process that is one rank of many, each in a container of its own unless LOCAL_RANK is there. */
static void take_process(const struct platform *platform, struct platform_place *place)
{
    static const char *const ranks[] = {"LOCAL_RANK", NULL}, *const sizes[] = {"LOCAL_WORLD_SIZE",
                                                                               NULL};
    bool local = platform_first(platform->envp, ranks).text != NULL;

    place->task = true;
    place->one = (struct platform_task){
        .local_rank = local ? (int)platform_first_number(platform->envp, ranks, 0) : 0,
        .local_size = local ? (int)platform_first_number(platform->envp, sizes, 1) : 1,
        .node = -1,
        .nodes = -1};
}

/* RANK and WORLD_SIZE as a place; its size stays unknown where their meaning does. */
static int look_at_bare(const struct platform *platform, int nproc, const struct settings *settings,
                        struct platform_place *ret, struct err *err)
{
    enum meaning meaning;
    long world;

    *ret = (struct platform_place){.row = counts_pods(platform) ? &operator_row : &bare_row,
                                   .rank = {platform_value(platform->envp, "RANK"), "RANK"}};
    if (read_world(platform, &world, err) < 0)
        return -1;
    meaning = meaning_of(platform, settings, nproc, world);
    if (meaning != MEANS_UNKNOWN)
        ret->size = (struct platform_word){platform_value(platform->envp, "WORLD_SIZE"),
                                           "WORLD_SIZE"};
    if (meaning == MEANS_PROCESS)
        take_process(platform, ret);
    return 0;
}

static int refuse_meaning(const struct platform *platform, struct err *err)
{
    return err_set(err, ERR_SPEC,
                   "RANK=%.20s and WORLD_SIZE=%.20s may count nodes or processes: state "
                   "--rank-means node or --rank-means process, or --nnodes N and --node-rank N",
                   platform_value(platform->envp, "RANK"),
                   platform_value(platform->envp, "WORLD_SIZE"));
}

/* Several ranks are asked for in a process that was started as one of them. */
static int check_alone(const struct platform_place *place, int nproc,
                       const struct settings *settings, struct err *err)
{
    const struct setting *asked = &settings->rows[OPT_NPROC_PER_NODE];

    if (nproc <= 1 || !asked->text || strcmp(asked->text, "auto") == 0)
        return 0;
    return err_set(err, ERR_SPEC,
                   "%s asks for %d ranks here, but %s=%.20s says that this process is one rank of "
                   "%.20s (%s): leave it out, start one process on each node, or state "
                   "--rank-means node",
                   asked->origin, nproc, place->rank.from, place->rank.text, place->size.text,
                   place->size.from);
}

/* RANK and WORLD_SIZE beside another launcher's numbers of processes are the same numbers. */
static int check_same(const struct platform *platform, const struct platform_place *place,
                      struct err *err)
{
    const struct {
        const char *name;
        const struct platform_word *word;
    } pairs[] = {{"RANK", &place->rank}, {"WORLD_SIZE", &place->size}};

    for (int i = 0; i < 2; i++) {
        const char *text = platform_value(platform->envp, pairs[i].name);

        if (text && strcmp(text, pairs[i].word->text) != 0)
            return err_set(err, ERR_SPEC, "%s=%.20s contradicts %s=%.20s, as each counts processes",
                           pairs[i].name, text, pairs[i].word->from, pairs[i].word->text);
    }
    return 0;
}

static int offer_word(struct settings *settings, enum option_id id,
                      const struct platform_word *word, struct err *err)
{
    long number;

    /* The words of --node-rank are for people. */
    if (id == OPT_NODE_RANK && !scan_int(word->text, 0, INT_MAX, &number))
        return err_set(err, ERR_SPEC, "%s=%.40s is no number from 0", word->from, word->text);
    return settings_offer(settings, id, &(struct setting){SOURCE_PLATFORM, word->text, word->from},
                          err);
}

/* Where rank 0 is; an address that somebody wrote into the environment was read before. */
static int offer_master(const struct platform_place *place, struct settings *settings,
                        struct err *err)
{
    const struct setting *addr = &settings->rows[OPT_MASTER_ADDR];

    if (!place->master.text || addr->source == SOURCE_PLATFORM ||
        settings_stated(settings, OPT_RDZV_ENDPOINT) ||
        (place->master_guessed && settings_stated(settings, OPT_MASTER_ADDR)))
        return 0;
    return offer_word(settings, OPT_MASTER_ADDR, &place->master, err);
}

/* Offers what a place says: the number of nodes only where `nodes`. */
static int offer_place(struct platform *platform, const struct platform_place *place, bool nodes,
                       struct settings *settings, struct err *err)
{
    if (nodes && place->size.text && offer_word(settings, OPT_NNODES, &place->size, err) < 0)
        return -1;
    if (place->rank.text && offer_word(settings, OPT_NODE_RANK, &place->rank, err) < 0)
        return -1;
    if (!platform->name)
        platform->name = place->row->name;
    return offer_master(place, settings, err);
}

/* What a row of the table says, with the word of --rank-means about what it counts. */
static int look_at_row(const struct platform *platform, const struct platform_row *row,
                       struct settings *settings, struct platform_place *ret, struct err *err)
{
    if (platform_look(platform, row, settings, ret, err) < 0)
        return -1;
    if (row->kind == PLATFORM_TASKS && told_meaning(settings) != MEANS_UNKNOWN)
        ret->task = told_meaning(settings) == MEANS_PROCESS;
    return 0;
}

/* The place that decides when no person stated the number of nodes; row NULL: none does. */
static int look(const struct platform *platform, int nproc, struct settings *settings,
                struct platform_place *ret, struct err *err)
{
    const struct platform_row *row = platform_find_row(platform);
    bool both = has_both(platform);

    *ret = (struct platform_place){.row = NULL};
    if (both && (!row || row->weak || told_meaning(settings) != MEANS_UNKNOWN))
        return look_at_bare(platform, nproc, settings, ret, err);
    return row ? look_at_row(platform, row, settings, ret, err) : 0;
}

/*
 * Number of nodes when no person stated it. A number in a file that many pods share stands, but not
 * against what the platform says for certain.
 */
static int find_nodes(struct platform *platform, int nproc, struct settings *settings,
                      struct err *err)
{
    struct platform_place place;

    if (look(platform, nproc, settings, &place, err) < 0)
        return -1;
    if (!place.row)
        return 0;
    if (!place.size.text) {
        bool open = place.row == &bare_row && !settings_stated(settings, OPT_NNODES);

        return open ? refuse_meaning(platform, err) : 0;
    }
    if (place.task &&
        (check_alone(&place, nproc, settings, err) < 0 || check_same(platform, &place, err) < 0))
        return -1;
    if (offer_place(platform, &place, true, settings, err) < 0)
        return -1;
    if (place.task) {
        platform->task = place.one;
        platform->task.one = true;
    }
    return 0;
}

/* A PyTorchJob of workers only has no index but its hostname, beside the name of worker 0. */
static int offer_replica(struct platform *platform, struct settings *settings, struct err *err)
{
    const char *master = settings_text(settings, OPT_RDZV_ENDPOINT);
    long first, number;
    size_t base;
    char text[24];
    struct buf out = BUF_OVER(text);

    if (!master)
        master = settings_text(settings, OPT_MASTER_ADDR);
    if (!master || !platform->hostname)
        return 0;
    base = worker_base(master, &first);
    if (base == 0 || first != 0 || worker_base(platform->hostname, &number) != base ||
        strncmp(master, platform->hostname, base) != 0)
        return 0;
    buf_addf(&out, "%ld", number);
    if (!platform->name)
        platform->name = "PyTorchJob";
    return settings_offer(settings, OPT_NODE_RANK,
                          &(struct setting){SOURCE_PLATFORM, text, "the hostname"}, err);
}

/* Nodes that a person counted, in a job of processes that somebody else started. */
static int check_tasks(const struct platform_place *place, const struct settings *settings,
                       struct err *err)
{
    const struct setting *nodes = &settings->rows[OPT_NNODES];
    long size;

    if (!place->task || !scan_int(place->size.text, 1, INT_MAX, &size) ||
        size == settings_int(settings, OPT_NNODES))
        return 0;
    return err_set(err, ERR_SPEC,
                   "%s says %.20s nodes, but %s starts %ld processes (%s): start one process on "
                   "each node, or leave %s out for one rank in each process",
                   nodes->origin, nodes->text, place->row->name, size, place->size.from,
                   nodes->origin);
}

/* RANK where it is plainly a node rank; row NULL where it is not. */
static int look_at_node_rank(const struct platform *platform, int nproc,
                             const struct settings *settings, struct platform_place *ret,
                             struct err *err)
{
    const char *rank = platform_value(platform->envp, "RANK");

    *ret = (struct platform_place){.row = NULL};
    if (platform->torchrun || !rank)
        return 0;
    if (platform_pet_decides(platform->envp)) {
        *ret = (struct platform_place){.row = &bare_row, .rank = {rank, "RANK"}};
        return 0;
    }
    if (!has_both(platform))
        return 0;
    if (look_at_bare(platform, nproc, settings, ret, err) < 0)
        return -1;
    if (ret->task || !ret->size.text)
        ret->row = NULL;
    return 0;
}

/* Offers a node rank from the first place that has one. */
static int offer_node_rank(struct platform *platform, int nproc, struct settings *settings,
                           struct err *err)
{
    const struct platform_row *row = platform_find_row(platform);
    bool told = platform_pet_decides(platform->envp) || told_meaning(settings) != MEANS_UNKNOWN;
    struct platform_place place;

    if (look_at_node_rank(platform, nproc, settings, &place, err) < 0)
        return -1;
    if (place.row && (told || !row))
        return offer_place(platform, &place, false, settings, err);
    if (!row)
        return offer_replica(platform, settings, err);
    if (look_at_row(platform, row, settings, &place, err) < 0 ||
        check_tasks(&place, settings, err) < 0)
        return -1;
    return offer_place(platform, &place, false, settings, err);
}

/* Which of several nodes this is. A spec that many pods share is compared with the pod's index. */
static int find_node_rank(struct platform *platform, int nproc, struct settings *settings,
                          struct err *err)
{
    const struct setting *nodes = &settings->rows[OPT_NNODES];
    const char *hint = "";
    enum setting_source source = settings->rows[OPT_NODE_RANK].source;

    if (source == SOURCE_PLATFORM || source >= SOURCE_TWIN)
        return 0;
    if (!platform_nested(platform->envp) && offer_node_rank(platform, nproc, settings, err) < 0)
        return -1;
    if (settings_stated(settings, OPT_NODE_RANK))
        return 0;
    if (platform_value(platform->envp, "RANK"))
        hint = ", or --rank-means node to use RANK";
    return err_set(err, ERR_SPEC,
                   "%s says %.20s nodes, but nothing says which one this is (looked at "
                   "--node-rank, PET_NODE_RANK, JOB_COMPLETION_INDEX, LWS_WORKER_INDEX, "
                   "SLURM_NODEID, ...): state --node-rank N%s",
                   nodes->origin, nodes->text, hint);
}

int platform_find_place(struct platform *platform, int nproc, struct settings *settings,
                        struct err *err)
{
    enum setting_source source = settings->rows[OPT_NNODES].source;
    bool standalone = settings_flag(settings, OPT_STANDALONE);
    bool silent = platform_nested(platform->envp) || platform->torchrun || standalone;

    if (source < SOURCE_TWIN && source != SOURCE_PLATFORM && !silent &&
        find_nodes(platform, nproc, settings, err) < 0)
        return -1;
    /* Several nodes that stand alone are refused as such, whichever of them this is. */
    if (settings_int(settings, OPT_NNODES) > 1 && !standalone)
        return find_node_rank(platform, nproc, settings, err);
    return 0;
}
