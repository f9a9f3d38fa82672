/*
 * Binding: each way is a row of how far a rank's CPUs may lie (its domain) and in
 * what pieces ranks with the same domain share it.
 */
#include <stdlib.h>
#include <string.h>

#include "model/cpus.h"
#include "model/plan.h"

enum scope { SCOPE_ALL, SCOPE_NODE, SCOPE_SOCKET };
enum piece { PIECE_WHOLE, PIECE_CORES, PIECE_CACHE };

static const struct way {
    enum scope scope;
    enum piece piece;
} ways[] = {
    [BIND_NONE] = {SCOPE_ALL, PIECE_WHOLE},       [BIND_NUMA] = {SCOPE_NODE, PIECE_WHOLE},
    [BIND_CORES] = {SCOPE_ALL, PIECE_CORES},      [BIND_SOCKET] = {SCOPE_SOCKET, PIECE_WHOLE},
    [BIND_EXCLUSIVE] = {SCOPE_NODE, PIECE_CORES}, [BIND_COMPLEX] = {SCOPE_NODE, PIECE_CACHE},
};

/* Torchrun's words, in the order of the option's. */
static const enum cpu_bind torchruns[] = {BIND_NUMA, BIND_SOCKET, BIND_EXCLUSIVE, BIND_COMPLEX};

bool cpus_bind_wanted(const struct settings *settings, const struct spec *spec)
{
    for (size_t i = 0; i < spec->rank_count; i++) {
        if (spec->ranks[i].cpus)
            return true;
    }
    return settings_word(settings, OPT_CPU_BIND) > 0 || settings_stated(settings, OPT_NUMA_BINDING);
}

int cpus_bind_find(const struct settings *settings, enum cpu_bind *ret, struct err *err)
{
    const struct setting *ours = &settings->rows[OPT_CPU_BIND];
    const struct setting *theirs = &settings->rows[OPT_NUMA_BINDING];

    *ret = (enum cpu_bind)settings_word(settings, OPT_CPU_BIND);
    if (!theirs->text || theirs->source < ours->source)
        return 0;
    if (theirs->source == ours->source)
        return err_set(err, ERR_SPEC, "%s=%s and %s=%s both say where ranks run: state one",
                       ours->origin, ours->text, theirs->origin, theirs->text);
    *ret = torchruns[settings_word(settings, OPT_NUMA_BINDING)];
    return 0;
}

static struct facts_cpu cpu_of(const struct facts *facts, int cpu)
{
    if (facts->topology)
        return facts->topology[cpu];
    return (struct facts_cpu){.node = -1, .socket = -1, .core = -1, .cache = -1};
}

/* The CPUs of a NUMA node, or of the sockets that it is in. */
static void fill_domain(const struct cpus_request *request, enum scope scope, int node,
                        struct cpuset *ret)
{
    const struct facts *facts = request->facts;
    int socket = -1;

    for (int cpu = 0; scope == SCOPE_SOCKET && cpu < CPUSET_MAX; cpu++) {
        if (cpuset_has(&request->cpus, cpu) && cpu_of(facts, cpu).node == node)
            socket = cpu_of(facts, cpu).socket;
    }
    for (int cpu = 0; cpu < CPUSET_MAX; cpu++) {
        struct facts_cpu info = cpu_of(facts, cpu);
        bool near = info.node == node || (socket >= 0 && info.socket == socket);

        if (cpuset_has(&request->cpus, cpu) && (scope == SCOPE_ALL || near))
            cpuset_add(ret, cpu);
    }
}

/* One CPU of a domain, by the piece that it belongs to. */
struct member {
    int node, piece, cpu;
};

static int by_place(const void *a, const void *b)
{
    const struct member *one = a, *other = b;

    if (one->node != other->node)
        return one->node - other->node;
    return one->piece != other->piece ? one->piece - other->piece : one->cpu - other->cpu;
}

/* Pieces of a domain: members[count] in order, and how many there are. */
struct pieces {
    struct member members[CPUSET_MAX];
    int count;
    int pieces;
};

static void cut(const struct facts *facts, const struct cpuset *domain, enum piece piece,
                struct pieces *ret)
{
    ret->count = ret->pieces = 0;
    for (int cpu = 0; cpu < CPUSET_MAX; cpu++) {
        struct facts_cpu info = cpu_of(facts, cpu);
        int key = piece == PIECE_CACHE && info.cache >= 0 ? info.cache : info.core;

        if (cpuset_has(domain, cpu))
            ret->members[ret->count++] = (struct member){info.node, key < 0 ? cpu : key, cpu};
    }
    qsort(ret->members, (size_t)ret->count, sizeof(ret->members[0]), by_place);
    for (int i = 0; i < ret->count; i++)
        ret->pieces += i == 0 || ret->members[i].piece != ret->members[i - 1].piece;
}

/* Adds the CPUs of pieces first to end - 1. */
static void take_pieces(const struct pieces *pieces, int first, int end, struct cpuset *ret)
{
    int piece = -1;

    for (int i = 0; i < pieces->count; i++) {
        piece += i == 0 || pieces->members[i].piece != pieces->members[i - 1].piece;
        if (piece >= first && piece < end)
            cpuset_add(ret, pieces->members[i].cpu);
    }
}

/* A rank's part of a domain that `sharers` ranks share, of which it is the k-th. */
static void take_part(const struct pieces *pieces, enum piece piece, int k, int sharers,
                      struct cpuset *ret)
{
    int each, rest, first;

    if (sharers < 1 || pieces->pieces < 1)
        return;
    each = pieces->pieces / sharers;
    rest = pieces->pieces % sharers;
    first = k * each + (k < rest ? k : rest);
    if (piece == PIECE_CACHE)
        take_pieces(pieces, k % pieces->pieces, k % pieces->pieces + 1, ret);
    else if (each == 0)
        take_pieces(pieces, k * pieces->pieces / sharers, k * pieces->pieces / sharers + 1, ret);
    else
        take_pieces(pieces, first, first + each + (k < rest), ret);
}

/* NUMA nodes that have such CPUs, in order; returns how many. */
static int find_nodes(const struct cpus_request *request, int nodes[CPUSET_MAX])
{
    int count = 0;

    for (int cpu = 0; cpu < CPUSET_MAX; cpu++) {
        int node = cpu_of(request->facts, cpu).node, at = 0;

        if (!cpuset_has(&request->cpus, cpu))
            continue;
        while (at < count && nodes[at] < node)
            at++;
        if (at < count && nodes[at] == node)
            continue;
        memmove(&nodes[at + 1], &nodes[at], (size_t)(count - at) * sizeof(nodes[0]));
        nodes[at] = node;
        count++;
    }
    return count;
}

/* The node that a rank belongs to; -2 if that cannot be said. */
static int home_of(const struct cpus_request *request, const struct plan_place *place,
                   int local_rank)
{
    int nodes[CPUSET_MAX];
    int count;

    if (place->numa_node >= 0)
        return place->numa_node;
    count = find_nodes(request, nodes);
    if (count > 1 && request->devices)
        return -2;
    return count > 0 ? nodes[(int)((int64_t)local_rank * count / request->nproc)] : -2;
}

/* Which other ranks have the same domain: how many, and how many of them come first. */
static void find_sharers(const struct plan_place *places, int nproc, int local_rank, int *ret_k,
                         int *ret_count)
{
    *ret_k = *ret_count = 0;
    for (int i = 0; i < nproc; i++) {
        bool same = places[i].bound && !places[i].own &&
                    cpuset_equal(&places[i].cpus, &places[local_rank].cpus);

        *ret_count += same;
        *ret_k += same && i < local_rank;
    }
}

static void set_memory_node(const struct facts *facts, struct plan_place *place)
{
    place->memory_node = cpu_of(facts, cpuset_first(&place->cpus)).node;
    for (int cpu = 0; cpu < CPUSET_MAX; cpu++) {
        if (cpuset_has(&place->cpus, cpu) && cpu_of(facts, cpu).node != place->memory_node)
            place->memory_node = -1;
    }
    if (place->numa_node < 0)
        place->numa_node = place->memory_node;
}

/* Gives every rank its whole domain. */
static void find_domains(const struct cpus_request *request, enum scope scope,
                         struct plan_place *places)
{
    for (int i = 0; i < request->nproc; i++) {
        int home = scope == SCOPE_ALL ? 0 : home_of(request, &places[i], i);

        if (places[i].own)
            continue;
        if (home != -2)
            fill_domain(request, scope, home, &places[i].cpus);
        places[i].bound = cpuset_first(&places[i].cpus) >= 0;
        if (!places[i].bound && home == -2)
            strvec_pushf(request->notices,
                         "local rank %d is not bound: the NUMA node of its device is unknown", i);
        else if (!places[i].bound && scope == SCOPE_ALL)
            strvec_pushf(request->notices,
                         "local rank %d is not bound: ranks: gives all CPUs to others", i);
        else if (!places[i].bound)
            strvec_pushf(request->notices,
                         "local rank %d is not bound: none of the allowed CPUs is at NUMA node %d, "
                         "where its device is",
                         i, home);
    }
}

/* Gives every rank its piece of the domain that it shares. */
static void divide(const struct cpus_request *request, enum piece piece, struct plan_place *places)
{
    struct cpuset *parts = calloc((size_t)request->nproc, sizeof(*parts));
    struct pieces pieces;

    for (int i = 0; parts && i < request->nproc; i++) {
        int k, sharers;

        if (!places[i].bound || places[i].own)
            continue;
        find_sharers(places, request->nproc, i, &k, &sharers);
        cut(request->facts, &places[i].cpus, piece, &pieces);
        if (sharers > pieces.pieces && k == 0)
            strvec_pushf(request->notices, "%d ranks share %d core%s", sharers, pieces.pieces,
                         pieces.pieces == 1 ? "" : "s");
        take_part(&pieces, piece, k, sharers, &parts[i]);
    }
    for (int i = 0; parts && i < request->nproc; i++) {
        if (!places[i].own)
            places[i].cpus = parts[i];
    }
    free(parts);
}

void cpus_bind(const struct cpus_request *request, struct plan_place *places)
{
    const struct way *way = &ways[request->how];

    if (request->how != BIND_NONE)
        find_domains(request, way->scope, places);
    if (way->piece != PIECE_WHOLE)
        divide(request, way->piece, places);
    for (int i = 0; i < request->nproc; i++) {
        if (places[i].bound)
            set_memory_node(request->facts, &places[i]);
    }
}
