#include <stdlib.h>

#include "base/json.h"
#include "fixture.h"
#include "report/plan_view.h"

#define ARENA (4u << 20)

/* The document of a fixture's plan, to be freed. */
static char *render(const struct fixture *f, enum plan_view_format format)
{
    const struct plan_view view = {&f->plan, &f->settings, strvec_texts(&f->env)};
    size_t len = 0;
    char *text = plan_view_render(&view, format, &len);

    if (tap_ok(text != NULL)) {
        tap_eq_uint(strlen(text), len);
        tap_ok(len > 0 && text[len - 1] == '\n');
    }
    return text;
}

/* Plans and renders; NULL if there is no plan. */
static char *view(struct fixture *f, enum plan_view_format format, const char *env,
                  const char *line)
{
    if (!tap_eq_int(fixture_plan(f, env, line), 0)) {
        tap_eq_str(f->err.message, "");
        return NULL;
    }
    return render(f, format);
}

static void hides(const char *text, const char *part)
{
    if (text && strstr(text, part))
        tap_fail(part);
}

TEST(every_built_option_is_shown_whole)
{
    struct fixture f = fixture_new();
    char *text = view(&f, PLAN_VIEW_TEXT, "PATH=/bin", "prog");
    char *json = render(&f, PLAN_VIEW_JSON);

    for (int id = 0; id < OPT__COUNT; id++) {
        const struct option_row *row = &option_rows[id];
        bool shown = (row->status == OPTION_BUILT || row->status == OPTION_NO_EFFECT) &&
                     id != OPT_HELP && id != OPT_VERSION && id != OPT_STATUS && id != OPT_PROBE &&
                     id != OPT_INSTALL;
        char name[80], line[96], member[96];

        snprintf(name, sizeof(name), "%s", row->name);
        for (char *at = name; *at != '\0'; at++)
            *at = *at == '-' ? '_' : *at;
        snprintf(line, sizeof(line), "\n%s  ", name);
        snprintf(member, sizeof(member), "{\"name\":\"%s\",", name);
        printf("# %s\n", name);
        /* Shorter names are followed by more blanks, and none fills its column. */
        tap_eq_int(text && strstr(text, line) != NULL, shown);
        tap_eq_int(json && strstr(json, member) != NULL, shown);
    }
    free(text);
    free(json);
    fixture_free(&f);
}

TEST(what_is_not_built_is_shown_once_stated)
{
    struct fixture f = fixture_new();
    char *text = view(&f, PLAN_VIEW_TEXT, "", "--oom note prog");

    tap_has_str(text, "\noom                  note                      --oom\n");
    free(text);
    fixture_free(&f);
}

TEST(lines_keep_to_80_columns)
{
    struct fixture f = fixture_new();
    char *text;

    fixture_gpus(&f, 8);
    text = view(&f, PLAN_VIEW_TEXT, "PET_NNODES=2 PET_NODE_RANK=1 PET_MASTER_ADDR=m",
                "train.py --some --words --that --make --a --command --much --longer --than --a "
                "--line --can --be");
    for (const char *line = text; line && *line != '\0'; line += strcspn(line, "\n") + 1)
        tap_ok(strcspn(line, "\n") <= 80);
    tap_has_str(text, "ranks 8-15:\n    python -u train.py --some");
    free(text);
    fixture_free(&f);
}

TEST(ranks_that_differ_have_commands_of_their_own)
{
    struct fixture f = fixture_new();
    char *text = view(&f, PLAN_VIEW_TEXT, "",
                      "--nproc-per-node 2 --local-rank-arg train.py --a-rather-long-word=1 "
                      "--another-word=2");

    tap_has_str(text, "\nrank 0:\n    python -u train.py --local-rank=0 --a-rather-long-word=1");
    tap_has_str(text, "\nrank 1:\n    python -u train.py --local-rank=1 --a-rather-long-word=1");
    free(text);
    fixture_free(&f);
}

TEST(ranks_that_are_bound_show_their_cpus)
{
    struct fixture f = fixture_new();
    char *text;

    tap_eq_int(fixture_yaml(&f, "ranks: [{local: 1, cpus: \"0,2,4-5\"}]"), 0);
    text = view(&f, PLAN_VIEW_TEXT, "", "--nproc-per-node 2 train.py");
    tap_has_str(text, "\n  rank  local  devices  cpus     threads  command\n"
                      "     0      0  -        -              4  python -u train.py\n"
                      "     1      1  -        0,2,4-5        4  python -u train.py\n");
    free(text);
    text = render(&f, PLAN_VIEW_JSON);
    tap_has_str(text, "\"local_rank\":1,\"devices\":[],\"cpus\":\"0,2,4-5\",\"threads\":4");
    hides(text, "\"local_rank\":0,\"devices\":[],\"cpus\"");
    free(text);
    fixture_free(&f);
}

TEST(commands_can_be_typed_again)
{
    struct fixture f = fixture_new();
    char *text = view(&f, PLAN_VIEW_TEXT, "", "prog '' it's $x a=b");

    tap_has_str(text, "  prog '' 'it'\\''s' '$x' a=b\n");
    free(text);
    fixture_free(&f);
}

TEST(what_could_harm_a_terminal_is_harmless)
{
    struct fixture f = fixture_new();
    char *text = view(&f, PLAN_VIEW_TEXT, "OMP_NUM_THREADS=\x1b[3",
                      "--role=\x1b[31m prog\x1b]0;\x07");
    char *json = render(&f, PLAN_VIEW_JSON);

    hides(text, "\x1b");
    hides(text, "\x07");
    hides(json, "\x1b");
    free(text);
    free(json);
    fixture_free(&f);
}

TEST(secrets_are_hidden_in_both_forms)
{
    for (int format = PLAN_VIEW_TEXT; format <= PLAN_VIEW_JSON; format++) {
        struct fixture f = fixture_new();
        char *text;

        strvec_push(&f.spec.env_set, "HF_TOKEN=hush");
        strvec_push(&f.spec.env_set, "ARGS=--api-key=hush --lr=1");
        fixture_spec(&f, OPT_LOG_PREFIX, "[key=hush] ");
        text = view(&f, (enum plan_view_format)format,
                    "RANKINIT_SPEC={\"env\":\"hush\"} WANDB_API_KEY=hush",
                    "--nproc-per-node 1 prog --x-token=hush --password hush --lr=1");
        hides(text, "hush");
        tap_has_str(text, "--x-token=***");
        tap_has_str(text, "--lr=1");
        tap_has_str(text, "(a document of 14 bytes)");
        free(text);
        fixture_free(&f);
    }
}

TEST(a_rank_is_told_by_what_differs_from_the_inherited_environment)
{
    static unsigned char memory[ARENA];
    struct fixture f = fixture_new();
    struct json_arena arena;
    struct err err = ERR_INIT;
    char *text = view(&f, PLAN_VIEW_JSON, "KEPT=1 NODE_RANK=0 PET_NNODES=1 PYTHONUNBUFFERED=0",
                      "--nproc-per-node 2 prog");

    hides(text, "KEPT");
    hides(text, "PYTHONUNBUFFERED");
    hides(text, "\"NODE_RANK\""); /* set to what it was */
    tap_has_str(text, "\"MASTER_PORT\":\"auto (a free one)\"");
    tap_has_str(text, "\"TORCHELASTIC_ERROR_FILE\":\"(made at start in /tmp)\"");
    tap_has_str(text, "\"env_unset\":[\"PET_NNODES\"]");
    json_setup(&arena, memory, sizeof(memory), sizeof(memory));
    json_begin(&arena);
    tap_ok(text && json_read(text, strlen(text), &err) != NULL);
    tap_eq_str(err.message, "");
    free(text);
    fixture_free(&f);
}

TEST(the_document_grows_as_it_has_to)
{
    struct fixture f = fixture_new();
    static char word[300001];
    char *text, *json;

    memset(word, 'x', sizeof(word) - 1);
    strvec_pushf(&f.spec.env_set, "LONG=%s", word);
    strvec_pushf(&f.spec.command, "prog");
    strvec_pushf(&f.spec.command, "%s", word);
    text = view(&f, PLAN_VIEW_TEXT, "", "--nproc-per-node 3");
    json = render(&f, PLAN_VIEW_JSON);
    tap_ok(text && strlen(text) > 300000);
    tap_ok(json && strlen(json) > 6 * 300000);
    free(text);
    free(json);
    fixture_free(&f);
}

TAP_MAIN()
