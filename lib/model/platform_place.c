/*
 * How many nodes there are and which one this is, from what is left when flags, files and PET_*
 * have spoken.
 */
#include <limits.h>
#include <string.h>

#include "base/scan.h"
#include "model/platform.h"

/* A platform is known by variables that only it sets. */
struct platform_row {
    const char *name;
    const char *variables[2];
    bool built;
};

/* The first one that is there decides: what places processes comes before what only counts pods. */
static const struct platform_row rows[] = {
    {"LeaderWorkerSet", {"LWS_WORKER_INDEX", "LWS_GROUP_SIZE"}, false},
    {"AWS Batch", {"AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_NUM_NODES"}, false},
    {"SageMaker", {"SM_HOSTS", "SM_CURRENT_HOST"}, false},
    {"torchx", {"TORCHX_RANK0_HOST", NULL}, false},
    {"Slurm", {"SLURM_PROCID", "SLURM_NODEID"}, false},
    {"Open MPI", {"OMPI_COMM_WORLD_RANK", NULL}, false},
    {"MVAPICH", {"MV2_COMM_WORLD_RANK", NULL}, false},
    {"PMI", {"PMI_RANK", "PMIX_RANK"}, false},
    {"Indexed Job", {"JOB_COMPLETION_INDEX", NULL}, true},
    {"Volcano", {"VC_TASK_INDEX", "VK_TASK_INDEX"}, false},
};

static const struct platform_row *find_row(const char *const *envp, const char **ret_variable)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int v = 0; v < 2; v++) {
            const char *name = rows[i].variables[v];

            if (name && platform_value(envp, name)) {
                *ret_variable = name;
                return &rows[i];
            }
        }
    }
    return NULL;
}

static int refuse(const struct platform_row *row, const char *variable, struct err *err)
{
    return err_set(err, ERR_SPEC,
                   "%s (%s is set) would decide which node this is, which is not built yet in this "
                   "version: state --nnodes N and --node-rank N",
                   row->name, variable);
}

enum meaning { MEANS_NODE, MEANS_PROCESS, MEANS_UNKNOWN };

/* What RANK and WORLD_SIZE count here; only what follows for certain is taken. */
static enum meaning meaning_of(const struct platform *platform, const struct settings *settings,
                               int nproc, long world)
{
    const char *const *envp = platform->envp;
    int stated = settings_word(settings, OPT_RANK_MEANS); /* node, process, auto */
    bool nodes_known = settings_stated(settings, OPT_NNODES);

    if (stated == MEANS_NODE || stated == MEANS_PROCESS)
        return (enum meaning)stated;
    if (platform_pet_decides(envp))
        return MEANS_NODE;
    if (platform_value(envp, "LOCAL_RANK") || platform_value(envp, "LOCAL_WORLD_SIZE"))
        return MEANS_PROCESS;
    /* One rank a node: both readings say the same. No multiple: it cannot count processes. */
    if (nproc == 1 || world % nproc != 0)
        return MEANS_NODE;
    return nodes_known && world == settings_int(settings, OPT_NNODES) ? MEANS_NODE : MEANS_UNKNOWN;
}

/* Offers nnodes (where `nodes`) and the node rank from WORLD_SIZE and RANK. */
static int offer_bare(struct platform *platform, bool nodes, struct settings *settings,
                      struct err *err)
{
    const char *world = platform_value(platform->envp, "WORLD_SIZE");
    const char *rank = platform_value(platform->envp, "RANK");

    if (nodes && settings_offer(settings, OPT_NNODES,
                                &(struct setting){SOURCE_PLATFORM, world, "WORLD_SIZE"}, err) < 0)
        return -1;
    if (settings_offer(settings, OPT_NODE_RANK, &(struct setting){SOURCE_PLATFORM, rank, "RANK"},
                       err) < 0)
        return -1;
    if (!platform->name)
        platform->name = "RANK and WORLD_SIZE";
    return 0;
}

static int refuse_meaning(enum meaning meaning, const struct platform *platform, struct err *err)
{
    const char *world = platform_value(platform->envp, "WORLD_SIZE");
    const char *rank = platform_value(platform->envp, "RANK");

    if (meaning == MEANS_PROCESS)
        return err_set(err, ERR_SPEC,
                       "RANK=%.20s and WORLD_SIZE=%.20s count processes, one rank each, which is "
                       "not built yet in this version: state --nnodes N and --node-rank N",
                       rank, world);
    return err_set(err, ERR_SPEC,
                   "RANK=%.20s and WORLD_SIZE=%.20s may count nodes or processes: state "
                   "--rank-means node, or --nnodes N and --node-rank N",
                   rank, world);
}

static int read_world(const struct platform *platform, long *ret, struct err *err)
{
    const char *text = platform_value(platform->envp, "WORLD_SIZE");

    if (!scan_int(text, 1, INT_MAX, ret))
        return err_set(err, ERR_SPEC, "WORLD_SIZE=%.40s is no number from 1", text);
    return 0;
}

/*
 * Number of nodes when no person stated it: WORLD_SIZE, or else one. A number in a file that many
 * pods share stands, but not against what the platform says for certain.
 */
static int find_nodes(struct platform *platform, int nproc, struct settings *settings,
                      struct err *err)
{
    const char *const *envp = platform->envp;
    bool both = platform_value(envp, "RANK") && platform_value(envp, "WORLD_SIZE");
    bool told = settings_word(settings, OPT_RANK_MEANS) != MEANS_UNKNOWN;
    bool known = settings_stated(settings, OPT_NNODES);
    const char *variable;
    const struct platform_row *row = find_row(envp, &variable);
    enum meaning meaning;
    long world;

    if (!known && row && !row->built && !(both && told))
        return refuse(row, variable, err);
    if (!both)
        return 0;
    if (read_world(platform, &world, err) < 0)
        return -1;
    meaning = meaning_of(platform, settings, nproc, world);
    if (meaning == MEANS_NODE)
        return offer_bare(platform, true, settings, err);
    return known ? 0 : refuse_meaning(meaning, platform, err);
}

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

/* True if RANK is plainly a node rank and the number of nodes is known already. */
static bool rank_is_node(const struct platform *platform, const struct settings *settings,
                         int nproc)
{
    const char *const *envp = platform->envp;
    long world;

    if (platform->torchrun || !platform_value(envp, "RANK"))
        return false;
    if (platform_pet_decides(envp))
        return true;
    return platform_value(envp, "WORLD_SIZE") &&
           scan_int(platform_value(envp, "WORLD_SIZE"), 1, INT_MAX, &world) &&
           meaning_of(platform, settings, nproc, world) == MEANS_NODE;
}

/* Offers a node rank from the first place that has one. */
static int offer_node_rank(struct platform *platform, int nproc, struct settings *settings,
                           struct err *err)
{
    bool unknown = !settings_stated(settings, OPT_NODE_RANK);
    const char *variable;
    const struct platform_row *row = find_row(platform->envp, &variable);
    bool told = platform_pet_decides(platform->envp) ||
                settings_word(settings, OPT_RANK_MEANS) != MEANS_UNKNOWN;

    if (told && rank_is_node(platform, settings, nproc))
        return offer_bare(platform, false, settings, err);
    if (row && !row->built && unknown)
        return refuse(row, variable, err);
    if (row && row->built) {
        if (!platform->name)
            platform->name = row->name;
        return settings_offer(
            settings, OPT_NODE_RANK,
            &(struct setting){SOURCE_PLATFORM, platform_value(platform->envp, variable), variable},
            err);
    }
    if (rank_is_node(platform, settings, nproc))
        return offer_bare(platform, false, settings, err);
    return offer_replica(platform, settings, err);
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
                   "--node-rank, PET_NODE_RANK, JOB_COMPLETION_INDEX): state --node-rank N%s",
                   nodes->origin, nodes->text, hint);
}

int platform_find_place(struct platform *platform, int nproc, struct settings *settings,
                        struct err *err)
{
    enum setting_source source = settings->rows[OPT_NNODES].source;
    bool silent = platform_nested(platform->envp) || platform->torchrun ||
                  settings_flag(settings, OPT_STANDALONE);

    if (source < SOURCE_TWIN && source != SOURCE_PLATFORM && !silent &&
        find_nodes(platform, nproc, settings, err) < 0)
        return -1;
    if (settings_int(settings, OPT_NNODES) > 1)
        return find_node_rank(platform, nproc, settings, err);
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

int platform_check(const struct platform *platform, const struct settings *settings, int nproc,
                   struct err *err)
{
    bool told = settings_word(settings, OPT_RANK_MEANS) == MEANS_NODE;
    long world;

    if (platform->torchrun || platform_nested(platform->envp))
        return 0;
    if (told && platform_value(platform->envp, "WORLD_SIZE") &&
        settings_stated(settings, OPT_NNODES)) {
        if (read_world(platform, &world, err) < 0)
            return -1;
        if (world != settings_int(settings, OPT_NNODES))
            return err_set(err, ERR_SPEC,
                           "WORLD_SIZE=%ld contradicts %s=%s, as --rank-means is node", world,
                           settings->rows[OPT_NNODES].origin, settings_text(settings, OPT_NNODES));
    }
    /* Where a person stated who we are, what an operator wrote is simply overruled. */
    if (settings->rows[OPT_NNODES].source != SOURCE_PLATFORM)
        return 0;
    if (check_world(platform, settings, nproc, err) < 0)
        return -1;
    if (settings->rows[OPT_NODE_RANK].source != SOURCE_PLATFORM)
        return 0;
    return check_rank(platform, settings, nproc, err);
}
