#include "report/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/secret.h"
#include "model/rankenv.h"

#define LIST_ROOM 32768 /* as for the variable itself, see rankenv.c */
#define SAFE_CHARS               \
    "abcdefghijklmnopqrstuvwxyz" \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
    "0123456789_-+=./:,@%*"

int view_rank_count(const struct plan_view *view)
{
    return view->plan->mode == PLAN_INIT ? 1 : view->plan->job.nproc;
}

const char *view_error_file(const struct plan_view *view, struct strvec *texts)
{
    if (!view->plan->error_dir)
        return NULL;
    return strvec_pushf(texts, "(made at start in %s)", view->plan->error_dir);
}

/* The environment that the rank would have, with words for what is not known yet. */
static void build_env(const struct plan_view *view, int local_rank, struct strvec *ret)
{
    const struct plan *plan = view->plan;
    CLEANUP(strvec_release) struct strvec texts = STRVEC_INIT;
    struct rankenv_late late = {.master_port = plan->job.master_port,
                                .error_file = view_error_file(view, &texts)};

    rankenv_build(plan, local_rank, &late, ret);
    if (plan->mode == PLAN_FANOUT && plan->job.master_port == 0)
        env_set(ret, "MASTER_PORT", PLAN_VIEW_PORT);
}

/* The value that the name of entry has in an environment; NULL if it is not there. */
static const char *value_in(const char *const *envp, const char *entry)
{
    size_t len = strcspn(entry, "=");

    for (size_t i = 0; envp && envp[i]; i++) {
        if (strncmp(envp[i], entry, len) == 0 && envp[i][len] == '=')
            return envp[i] + len + 1;
    }
    return NULL;
}

static void compare_env(const char *const *before, const char *const *after, struct view_rank *ret)
{
    for (size_t i = 0; after[i]; i++) {
        const char *old = value_in(before, after[i]);
        const char *equals = strchr(after[i], '=');

        if (equals && (!old || strcmp(old, equals + 1) != 0))
            secret_mask(after[i], &ret->set);
    }
    for (size_t i = 0; before && before[i]; i++) {
        if (strchr(before[i], '=') && !value_in(after, before[i]))
            strvec_pushf(&ret->unset, "%.*s", (int)strcspn(before[i], "="), before[i]);
    }
}

static void find_devices(const struct devices *devices, int local_rank, struct strvec *ret)
{
    char room[LIST_ROOM];
    struct buf list = BUF_OVER(room);

    devices_list(devices, local_rank, &list);
    for (const char *at = room; *at != '\0';) {
        size_t len = strcspn(at, ",");

        strvec_pushf(ret, "%.*s", (int)len, at);
        at += len + (at[len] == ',');
    }
}

/* Its CPUs as a list, if it is bound to any. */
static const char *find_cpus(const struct plan *plan, int local_rank, struct strvec *texts)
{
    char room[LIST_ROOM];
    struct buf list = BUF_OVER(room);

    if (!plan->places || !plan->places[local_rank].bound)
        return NULL;
    cpuset_write(&plan->places[local_rank].cpus, &list);
    return strvec_push(texts, room);
}

/* Adds a word as one would type it to a shell. */
static void add_word(const char *word, struct buf *out)
{
    if (word[0] != '\0' && word[strspn(word, SAFE_CHARS)] == '\0') {
        buf_adds(out, word);
        return;
    }
    buf_addc(out, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            buf_adds(out, "'\\'");
        buf_addc(out, *word);
    }
    buf_addc(out, '\'');
}

static const char *join_words(const struct strvec *words, struct strvec *texts)
{
    size_t size = 1;
    struct buf out;

    for (size_t i = 0; i < words->count; i++)
        size += strlen(words->items[i]) * 4 + 3;
    CLEANUP_FREE char *room = malloc(size);
    if (!room)
        return strvec_push(texts, words->items[0]);
    buf_init(&out, room, size);
    for (size_t i = 0; i < words->count; i++) {
        if (i > 0)
            buf_addc(&out, ' ');
        add_word(words->items[i], &out);
    }
    return strvec_push(texts, room);
}

void view_rank_make(const struct plan_view *view, int local_rank, struct view_rank *ret)
{
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT, env = STRVEC_INIT;
    const char *threads;

    *ret = (struct view_rank){
        .local_rank = view->plan->job.task.one ? view->plan->job.task.local_rank : local_rank};
    rankenv_argv(view->plan, local_rank, &argv);
    secret_mask_words(strvec_texts(&argv), &ret->argv);
    build_env(view, local_rank, &env);
    compare_env(view->envp, strvec_texts(&env), ret);
    if (view->plan->mode == PLAN_FANOUT)
        find_devices(&view->plan->devices, local_rank, &ret->devices);
    ret->cpus = find_cpus(view->plan, local_rank, &ret->texts);
    ret->command = join_words(&ret->argv, &ret->texts);
    threads = env_get(strvec_texts(&env), "OMP_NUM_THREADS");
    ret->threads = threads ? strvec_push(&ret->texts, threads) : NULL;
}

void view_rank_release(struct view_rank *rank)
{
    strvec_release(&rank->argv);
    strvec_release(&rank->set);
    strvec_release(&rank->unset);
    strvec_release(&rank->devices);
    strvec_release(&rank->texts);
}

bool view_shows(const struct plan_view *view, enum option_id id)
{
    const struct option_row *row = &option_rows[id];

    if (id == OPT_HELP || id == OPT_VERSION || id == OPT_STATUS || id == OPT_PROBE ||
        id == OPT_INSTALL)
        return false; /* with these nothing is planned */
    return row->status == OPTION_BUILT || row->status == OPTION_NO_EFFECT ||
           settings_stated(view->settings, id);
}

/* A flag that nobody states is off. A spec may be given as a whole document, secrets and all. */
struct setting view_setting(const struct plan_view *view, enum option_id id, struct strvec *texts)
{
    struct setting setting = view->settings->rows[id];

    if (!setting.text && option_rows[id].type == OPTION_FLAG)
        setting = (struct setting){SOURCE_DEFAULT, "false", "default"};
    else if (!setting.text && option_rows[id].type == OPTION_COUNT)
        setting = (struct setting){SOURCE_DEFAULT, "0", "default"};
    if (id == OPT_SPEC && setting.text && spec_is_document(setting.text))
        setting.text = strvec_pushf(texts, "(a document of %zu bytes)", strlen(setting.text));
    else if (setting.text)
        setting.text = secret_mask(setting.text, texts);
    return setting;
}

const char *view_name(enum option_id id, char room[static VIEW_NAME_MAX])
{
    struct buf out = {.data = room, .capacity = VIEW_NAME_MAX};

    for (const char *at = option_rows[id].name; *at != '\0'; at++)
        buf_addc(&out, *at == '-' ? '_' : *at);
    return room;
}

const char *view_word(enum option_id id, int index, char room[static VIEW_NAME_MAX])
{
    const char *word = option_rows[id].words;
    struct buf out = {.data = room, .capacity = VIEW_NAME_MAX};

    for (; index > 0; index--)
        word += strcspn(word, "|") + 1;
    buf_add(&out, word, strcspn(word, "|"));
    return room;
}
