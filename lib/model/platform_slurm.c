/*
 * Slurm and MPI: platforms that start processes. Whether each of them is one rank or one node's is
 * the question here.
 */
#include <limits.h>
#include <string.h>

#include "base/scan.h"
#include "model/platform_parts.h"

#define LOOPBACK    "127.0.0.1"
#define NUMBER_ROOM 24
#define TEXT_SHOWN  80

static const char *const slurm_nodes[PLATFORM_NAMES] = {"SLURM_STEP_NUM_NODES", "SLURM_NNODES",
                                                        "SLURM_JOB_NUM_NODES"};
static const char *const slurm_lists[PLATFORM_NAMES] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST",
                                                        "SLURM_NODELIST"};
static const char *const slurm_counts[PLATFORM_NAMES] = {"SLURM_STEP_TASKS_PER_NODE",
                                                         "SLURM_TASKS_PER_NODE"};

/* "gpu[01-03,7]-a,big2" -> "gpu01-a"; NULL for what has no such form. */
static const char *first_host(const char *list, struct settings *settings)
{
    size_t head = strcspn(list, "[,");
    const char *number, *tail;
    size_t digits;

    if (list[head] != '[')
        return head > 0 ? strvec_pushf(&settings->texts, "%.*s", (int)head, list) : NULL;
    number = list + head + 1;
    digits = strspn(number, "0123456789");
    tail = strchr(number, ']');
    if (digits == 0 || !tail)
        return NULL;
    tail++;
    if (strcspn(tail, "[") < strcspn(tail, ","))
        return NULL; /* a list of two dimensions */
    return strvec_pushf(&settings->texts, "%.*s%.*s%.*s", (int)head, list, (int)digits, number,
                        (int)strcspn(tail, ","), tail);
}

/* Entry `node` of "4(x2),2", which is 4,4,2; -1 if there is none. */
static int count_on_node(const char *list, int node)
{
    while (*list != '\0') {
        char item[NUMBER_ROOM * 2], *times;
        size_t len = strcspn(list, ",");
        long count, repeat = 1;

        if (len >= sizeof(item))
            return -1;
        memcpy(item, list, len);
        item[len] = '\0';
        times = strstr(item, "(x");
        if (times) {
            *times = '\0';
            times += 2;
            times[strcspn(times, ")")] = '\0';
        }
        if (!scan_int(item, 1, INT_MAX, &count) || (times && !scan_int(times, 1, INT_MAX, &repeat)))
            return -1;
        if (node < repeat)
            return (int)count;
        node -= (int)repeat;
        list += len + (list[len] == ',');
    }
    return -1;
}

/* Only srun says which step this is: the batch script has the job's numbers, and number 0 itself. */
static bool is_batch(const char *const *envp)
{
    static const char *const numbers[PLATFORM_NAMES] = {"SLURM_PROCID"};
    static const char *const ids[PLATFORM_NAMES] = {"SLURM_STEP_ID", "SLURM_STEPID"};
    long step = platform_first_number(envp, ids, 0);

    /* Reserved numbers, the batch script's among them, are those from INT_MAX on. */
    return step < 0 && !platform_value(envp, "SLURM_STEP_NUM_TASKS") &&
           platform_first_number(envp, numbers, 0) == 0;
}

/* The batch script runs once, whatever the job counts. */
static int mend_batch(struct platform_place *place, long nodes, struct err *err)
{
    if (nodes > 1)
        return err_set(err, ERR_SPEC,
                       "this is the batch script of a Slurm job (there is no "
                       "SLURM_STEP_NUM_TASKS), which runs on the first of %ld nodes only: start "
                       "rankinit by srun, or state --nnodes 1",
                       nodes);
    place->size = (struct platform_word){"1", "SLURM_PROCID, no step"};
    place->rank = (struct platform_word){"0", "SLURM_PROCID"};
    return 0;
}

static void find_slurm_master(const struct platform *platform, struct settings *settings,
                              struct platform_place *place)
{
    struct platform_word list = platform_first(platform->envp, slurm_lists);

    place->master_guessed = true;
    if (place->one.nodes == 1)
        place->master = (struct platform_word){LOOPBACK, "SLURM_NNODES"};
    else if (list.text)
        place->master = (struct platform_word){first_host(list.text, settings), list.from};
}

/* As many tasks as nodes: each is a node's. More: each is a rank. */
int platform_mend_slurm(const struct platform *platform, struct settings *settings,
                        struct platform_place *place, struct err *err)
{
    const char *const *envp = platform->envp;
    struct platform_word nodes = platform_first(envp, slurm_nodes);
    const char *node = platform_value(envp, "SLURM_NODEID");
    const char *counts = platform_first(envp, slurm_counts).text;
    long number_nodes = platform_first_number(envp, slurm_nodes, 1);
    long number_tasks = platform_first_number(envp, place->row->size, 1);
    long index = -1, stated = settings_int(settings, OPT_NNODES);

    if (is_batch(envp))
        return mend_batch(place, stated > number_nodes ? stated : number_nodes, err);
    if (number_nodes < 0 || number_tasks < 0 || !node || !scan_int(node, 0, INT_MAX, &index))
        return err_set(err, ERR_SPEC,
                       "SLURM_PROCID=%.*s says that this is a task of Slurm, but not all of "
                       "SLURM_NTASKS=%.*s, SLURM_NNODES=%.*s and SLURM_NODEID=%.*s are numbers",
                       TEXT_SHOWN, place->rank.text, TEXT_SHOWN,
                       place->size.text ? place->size.text : "", TEXT_SHOWN,
                       nodes.text ? nodes.text : "", TEXT_SHOWN, node ? node : "");
    if (number_tasks < number_nodes)
        return err_set(err, ERR_SPEC, "%s=%ld is less than %s=%ld: a node without a task",
                       place->size.from, number_tasks, nodes.from, number_nodes);
    place->one.node = (int)index;
    place->one.nodes = (int)number_nodes;
    if (counts)
        place->one.local_size = count_on_node(counts, (int)index);
    find_slurm_master(platform, settings, place);
    place->task = number_tasks > number_nodes;
    if (!place->task) {
        place->size = nodes;
        place->rank = (struct platform_word){node, "SLURM_NODEID"};
    }
    return 0;
}

/*
 * Each process is one rank, unless a person asks for several in the only process of a node. The
 * address of rank 0 is known only where all processes are on one node.
 */
int platform_mend_mpi(const struct platform *platform, struct settings *settings,
                      struct platform_place *place, struct err *err)
{
    const char *asked = settings_text(settings, OPT_NPROC_PER_NODE);
    long size, ranks = 1;

    (void)platform;
    place->task = !(place->one.local_size == 1 && asked && scan_int(asked, 1, INT_MAX, &ranks) &&
                    ranks > 1);
    if (!place->rank.text || !place->size.text)
        return err_set(err, ERR_SPEC,
                       "this is one of several processes of %s, but nothing says %s (looked at "
                       "%s%s%s): state --nnodes N and --node-rank N",
                       place->row->name, place->rank.text ? "of how many" : "which one",
                       place->rank.text ? place->row->size[0] : place->row->rank[0],
                       place->rank.text && place->row->size[1] ? ", " : "",
                       place->rank.text && place->row->size[1] ? place->row->size[1] : "");
    if (scan_int(place->size.text, 1, INT_MAX, &size) && place->one.local_size == size) {
        place->master = (struct platform_word){LOOPBACK, place->row->local_size[0]};
        place->master_guessed = true;
        place->one.node = 0;
        place->one.nodes = 1;
    }
    return 0;
}
