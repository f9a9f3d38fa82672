#include <stdlib.h>

#include "model/option_values.h"
#include "model/options.h"
#include "model/settings.h"
#include "tap.h"

#define WORDS_MAX 16

/* A command line that was read. */
struct parsed {
    struct settings settings;
    struct err err;
    const char *words[WORDS_MAX];
    const char *const *program;
    int verb;
};

/* Reads "rankinit" and the words, which are NULL-terminated. */
static void parse(struct parsed *ret, const char *const *words)
{
    size_t count = 1;

    *ret = (struct parsed){.err = ERR_INIT, .words = {"rankinit"}};
    settings_init(&ret->settings);
    while (words[count - 1] && count < WORDS_MAX - 1) {
        ret->words[count] = words[count - 1];
        count++;
    }
    ret->verb = options_parse(ret->words, &ret->settings, &ret->program, &ret->err);
}

#define PARSE(ret, ...) parse((ret), (const char *const[]){__VA_ARGS__, NULL})

/* Reads the words, wants them refused with this message, and releases everything. */
static void refused(const char *const *words, const char *message)
{
    struct parsed parsed;

    parse(&parsed, words);
    tap_eq_int(parsed.verb, -1);
    tap_eq_int(parsed.err.kind, ERR_USAGE);
    tap_eq_str(parsed.err.message, message);
    settings_release(&parsed.settings);
}

#define REFUSED(message, ...) refused((const char *const[]){__VA_ARGS__, NULL}, (message))

/* Reads the words and wants the option to have this text from this origin; no PROGRAM is left. */
static void gives(const char *const *words, enum option_id id, const char *text, const char *origin)
{
    struct parsed parsed;

    parse(&parsed, words);
    tap_eq_int(parsed.verb, OPTIONS_RUN);
    tap_eq_str(parsed.err.message, "");
    tap_eq_str(settings_text(&parsed.settings, id), text);
    tap_eq_str(parsed.settings.rows[id].origin, origin);
    tap_eq_int(parsed.settings.rows[id].source, SOURCE_FLAG);
    tap_ok(parsed.verb < 0 || *parsed.program == NULL);
    settings_release(&parsed.settings);
}

#define GIVES(id, text, origin, ...) \
    gives((const char *const[]){__VA_ARGS__, NULL}, (id), (text), (origin))

TEST(every_row_is_whole)
{
    for (int id = 0; id < OPT__COUNT; id++) {
        const struct option_row *row = &option_rows[id];
        bool shown = row->status == OPTION_BUILT || row->status == OPTION_NO_EFFECT;
        bool bare = row->type == OPTION_FLAG || row->type == OPTION_COUNT;

        if (!tap_ok(row->name))
            return;
        printf("# %s\n", row->name);
        tap_ok(row->status != OPTION_REFUSED || row->note);
        tap_ok(row->status != OPTION_NO_EFFECT || row->note);
        tap_ok(!row->refused_words || (row->words && row->note));
        tap_ok(!shown || (row->help && strlen(row->help) < 160));
        tap_ok(row->spec_only || !shown || bare == !row->arg);
        tap_ok(!row->spec_only || (row->spec_key && !row->letter && !row->pet));
        tap_ok(!row->dflt || option_value_ok(row, row->dflt));
        tap_ok(!row->optional_value || (!bare && row->words));
        tap_ok(strlen(row->name) + strlen("RANKINIT_") < 64);
        tap_ok((row->type != OPTION_WORD && row->type != OPTION_WORD_OR_INT) || row->words);
    }
}

TEST(names_letters_and_spec_keys_are_given_once)
{
    for (int a = 0; a < OPT__COUNT; a++) {
        for (int b = a + 1; b < OPT__COUNT; b++) {
            const struct option_row *one = &option_rows[a], *two = &option_rows[b];

            tap_ok(strcmp(one->name, two->name) != 0);
            tap_ok(!one->letter || one->letter != two->letter);
            tap_ok(!one->spec_key || !two->spec_key || strcmp(one->spec_key, two->spec_key) != 0);
        }
    }
}

TEST(finds_names_exactly)
{
    tap_eq_int(options_find("nproc-per-node", 14), OPT_NPROC_PER_NODE);
    tap_eq_int(options_find("nproc_per_node", 14), OPT_NPROC_PER_NODE);
    tap_eq_int(options_find("nproc_per-node=2", 14), OPT_NPROC_PER_NODE);
    tap_eq_int(options_find("nproc-per-nod", 13), -1);
    tap_eq_int(options_find("nproc-per-nodes", 15), -1);
    tap_eq_int(options_find("Nnodes", 6), -1);
    tap_eq_int(options_find("", 0), -1);
    tap_eq_int(options_find("workdir", 7), -1); /* the spec's alone */
}

TEST(names_twins)
{
    char room[64];

    tap_eq_str(options_twin(OPT_NPROC_PER_NODE, "RANKINIT_", room), "RANKINIT_NPROC_PER_NODE");
    tap_eq_str(options_twin(OPT_NNODES, "PET_", room), "PET_NNODES");
    tap_eq_str(options_twin(OPT_DUPLICATE_STDOUT_FILTERS, "PET_", room),
               "PET_DUPLICATE_STDOUT_FILTERS");
    tap_eq_str(options_twin(OPT_GRACE, "", room), "GRACE");
}

TEST(pet_twins_are_those_of_torchrun)
{
    static const enum option_id pet[] = {
        OPT_NNODES,
        OPT_NPROC_PER_NODE,
        OPT_RDZV_BACKEND,
        OPT_RDZV_ENDPOINT,
        OPT_RDZV_ID,
        OPT_RDZV_CONF,
        OPT_STANDALONE,
        OPT_MAX_RESTARTS,
        OPT_START_METHOD,
        OPT_MONITOR_INTERVAL,
        OPT_ROLE,
        OPT_EVENT_LOG_HANDLER,
        OPT_MODULE,
        OPT_NO_PYTHON,
        OPT_RUN_PATH,
        OPT_LOG_DIR,
        OPT_REDIRECTS,
        OPT_TEE,
        OPT_NODE_RANK,
        OPT_LOCAL_RANKS_FILTER,
        OPT_MASTER_ADDR,
        OPT_DUPLICATE_STDOUT_FILTERS,
        OPT_MASTER_PORT,
        OPT_DUPLICATE_STDERR_FILTERS,
        OPT_LOCAL_ADDR,
        OPT_SIGNALS_TO_HANDLE,
        OPT_SHUTDOWN_TIMEOUT,
        OPT_VIRTUAL_LOCAL_RANK,
    };
    size_t marked = 0;

    for (size_t i = 0; i < sizeof(pet) / sizeof(pet[0]); i++)
        tap_ok(option_rows[pet[i]].pet);
    for (int id = 0; id < OPT__COUNT; id++)
        marked += option_rows[id].pet;
    tap_eq_uint(marked, sizeof(pet) / sizeof(pet[0]));
}

TEST(reads_values_in_both_forms_and_names_in_both_spellings)
{
    GIVES(OPT_NPROC_PER_NODE, "4", "--nproc-per-node", "--nproc-per-node", "4");
    GIVES(OPT_NPROC_PER_NODE, "4", "--nproc-per-node", "--nproc-per-node=4");
    GIVES(OPT_NPROC_PER_NODE, "gpu", "--nproc-per-node", "--nproc_per_node=gpu");
    GIVES(OPT_NPROC_PER_NODE, "auto", "--nproc-per-node", "--nproc_per-node", "auto");
    GIVES(OPT_LOG_PREFIX, "a=b", "--log-prefix", "--log-prefix=a=b");
    GIVES(OPT_LOG_PREFIX, "--", "--log-prefix", "--log-prefix=--");
    GIVES(OPT_LOG_PREFIX, "-", "--log-prefix", "--log-prefix", "-");
    GIVES(OPT_MODULE, "true", "--module", "--module");
    GIVES(OPT_MODULE, "true", "-m", "-m");
}

TEST(a_value_that_may_be_left_out_is_never_the_next_word)
{
    struct parsed parsed;

    GIVES(OPT_PLAN, "text", "--plan", "--plan");
    GIVES(OPT_PLAN, "text", "--plan", "--plan=text");
    GIVES(OPT_PLAN, "json", "--plan", "--plan=json");
    PARSE(&parsed, "--plan", "json", "--nnodes=2");
    tap_eq_str(settings_text(&parsed.settings, OPT_PLAN), "text");
    tap_eq_str(parsed.program[0], "json");
    settings_release(&parsed.settings);
    REFUSED("--plan: \"yaml\" is not one of text, json", "--plan=yaml");
    REFUSED("--plan: the value is empty", "--plan=");
}

TEST(the_last_of_several_wins)
{
    GIVES(OPT_GRACE, "2s", "--grace", "--grace", "1s", "--grace=2s");
}

TEST(options_end_at_the_first_word_that_is_none)
{
    struct parsed parsed;

    PARSE(&parsed, "--nnodes", "2", "train.py", "--grace", "1s");
    tap_eq_int(parsed.verb, OPTIONS_RUN);
    tap_eq_str(parsed.program[0], "train.py");
    tap_eq_str(parsed.program[1], "--grace");
    tap_ok(!settings_stated(&parsed.settings, OPT_GRACE));
    settings_release(&parsed.settings);

    PARSE(&parsed, "-g", "--", "--nnodes", "2");
    tap_eq_str(parsed.program[0], "--nnodes");
    tap_eq_str(parsed.program[1], "2");
    tap_eq_int(parsed.verb, OPTIONS_RUN);
    settings_release(&parsed.settings);

    PARSE(&parsed, "-", "x");
    tap_eq_str(parsed.program[0], "-");
    settings_release(&parsed.settings);

    PARSE(&parsed, "", "x");
    tap_eq_str(parsed.program[0], "");
    settings_release(&parsed.settings);
}

TEST(no_program_and_no_words_are_no_error)
{
    struct settings settings;
    struct err err = ERR_INIT;
    const char *const nothing[] = {NULL};
    const char *const *program = NULL;
    struct parsed parsed;

    settings_init(&settings);
    tap_eq_int(options_parse(nothing, &settings, &program, &err), OPTIONS_RUN);
    tap_ok(*program == NULL);
    settings_release(&settings);
    PARSE(&parsed, "--");
    tap_eq_int(parsed.verb, OPTIONS_RUN);
    tap_ok(*parsed.program == NULL);
    settings_release(&parsed.settings);
}

TEST(letters_combine_as_in_tini)
{
    struct parsed parsed;

    PARSE(&parsed, "-gs", "-vvv", "-e143", "-e", "7", "-p", "TERM", "prog");
    tap_eq_int(parsed.verb, OPTIONS_RUN);
    tap_ok(settings_flag(&parsed.settings, OPT_KILL_GROUP));
    tap_ok(settings_flag(&parsed.settings, OPT_SUBREAPER));
    tap_ok(!settings_flag(&parsed.settings, OPT_WARN_REAPED));
    tap_eq_int(settings_int(&parsed.settings, OPT_VERBOSE), 3);
    tap_eq_str(settings_text(&parsed.settings, OPT_EXIT_ZERO), "143,7");
    tap_eq_int(settings_int(&parsed.settings, OPT_PARENT_DEATH_SIGNAL), 15);
    tap_eq_str(*parsed.program, "prog");
    settings_release(&parsed.settings);

    PARSE(&parsed, "-wgvpSIGKILL", "-v", "--verbose", "prog");
    tap_eq_int(parsed.verb, OPTIONS_RUN);
    tap_ok(settings_flag(&parsed.settings, OPT_WARN_REAPED));
    tap_eq_int(settings_int(&parsed.settings, OPT_PARENT_DEATH_SIGNAL), 9);
    tap_eq_int(settings_int(&parsed.settings, OPT_VERBOSE), 3);
    settings_release(&parsed.settings);
}

TEST(counts_start_anew_over_the_environment)
{
    struct settings settings;
    struct err err = ERR_INIT;
    const char *const argv[] = {"rankinit", "-v", NULL};
    const char *const *program;

    settings_init(&settings);
    tap_eq_int(settings_offer(&settings, OPT_VERBOSE,
                              &(struct setting){SOURCE_TWIN, "5", "RANKINIT_VERBOSE"}, &err),
               0);
    tap_eq_int(options_parse(argv, &settings, &program, &err), OPTIONS_RUN);
    tap_eq_int(settings_int(&settings, OPT_VERBOSE), 1);
    settings_release(&settings);
}

TEST(asks_for_help_and_version)
{
    struct parsed parsed;

    PARSE(&parsed, "--help", "--no-such-thing");
    tap_eq_int(parsed.verb, OPTIONS_HELP);
    settings_release(&parsed.settings);
    PARSE(&parsed, "-vh");
    tap_eq_int(parsed.verb, OPTIONS_HELP);
    settings_release(&parsed.settings);
    PARSE(&parsed, "--version");
    tap_eq_int(parsed.verb, OPTIONS_VERSION);
    settings_release(&parsed.settings);
    PARSE(&parsed, "prog", "--version");
    tap_eq_int(parsed.verb, OPTIONS_RUN);
    settings_release(&parsed.settings);
}

TEST(refuses_unknown_options_with_the_nearest_name)
{
    REFUSED("unknown option --nproc-per-nod; did you mean --nproc-per-node?", "--nproc-per-nod=2");
    REFUSED("unknown option --redirect; did you mean --redirects?", "--redirect", "3");
    REFUSED("unknown option --nproc; did you mean --nproc-per-node?", "--nproc=2");
    REFUSED("unknown option --MASTER_A; did you mean --master-addr?", "--MASTER_A=h");
    REFUSED("unknown option --log; see --help", "--log"); /* of several */
    REFUSED("unknown option --vi; see --help", "--vi");
    REFUSED("unknown option -nproc_per_node=2; did you mean --nproc-per-node?",
            "-nproc_per_node=2");
    REFUSED("unknown option -standalone; did you mean --standalone?", "-standalone");
    REFUSED("unknown option --Grace; did you mean --grace?", "--Grace");
    REFUSED("unknown option --qwertyuiop; see --help", "--qwertyuiop");
    REFUSED("unknown option --; see --help", "--=3");
    REFUSED("unknown option -x; see --help", "-x");
    REFUSED("unknown option -5; see --help", "-5");
    REFUSED("unknown option -x in -gx; see --help", "-gx");
    REFUSED("--workdir is no option; the spec has it as workdir", "--workdir", "/");
    REFUSED("--restart-only is no option; the spec has it as restart.only", "--restart_only=1");
}

TEST(a_very_long_unknown_option_is_cut)
{
    char word[2000];
    struct parsed parsed;

    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    memcpy(word, "--", 2);
    PARSE(&parsed, word);
    tap_eq_int(parsed.verb, -1);
    tap_ok(strlen(parsed.err.message) < 140);
    settings_release(&parsed.settings);
}

TEST(refuses_missing_and_needless_values)
{
    REFUSED("--grace needs a value: DURATION", "--grace");
    REFUSED("--grace needs a value, not --quiet; if that is its value, join them with =", "--grace",
            "--quiet");
    REFUSED("--summary needs a value, not --; if that is its value, join them with =", "--summary",
            "--", "train.py");
    REFUSED("-e needs a value: CODE", "-ge");
    REFUSED("--module takes no value", "--module=1");
    REFUSED("--verbose takes no value", "--verbose=2");
    REFUSED("--grace: the value is empty", "--grace=");
    REFUSED("--summary: the value is empty", "--summary", "");
}

TEST(refuses_bad_values)
{
    REFUSED("--grace: \"12x\" is not a duration such as 300ms, 25s, 5m or 1h30m", "--grace=12x");
    REFUSED("--nproc-per-node: \"0\" is not a number from 1 to 4096 or one of auto, gpu, cpu",
            "--nproc-per-node=0");
    REFUSED("--master-port: \"70000\" is not a number from 1 to 65535 or one of auto, from-job-id",
            "--master-port", "70000");
    REFUSED("--device-mode: \"share\" is not one of auto, shared, isolated, isolated-keep-rank, "
            "none",
            "--device-mode=share");
    REFUSED("-e: \"256\" is not an exit code from 0 to 255", "-e256");
    REFUSED("-p: \"TEA\" is not a signal such as TERM or 15", "-p", "TEA");
    REFUSED("--nnodes: 1:4 is a range: a running job is not resized, state --nnodes N",
            "--nnodes=1:4");
}

TEST(refuses_what_cannot_work_here)
{
    REFUSED("--logs-specs: cannot work here: it names a Python plug-in and rankinit runs no Python",
            "--logs-specs", "mine");
    REFUSED("--logs-specs: cannot work here: it names a Python plug-in and rankinit runs no Python",
            "--logs-specs");
    REFUSED("--run-path: cannot work here: it runs the script inside a Python launcher; give "
            "FILE.py as PROGRAM",
            "--run-path");
    REFUSED("--rdzv-backend: etcd-v2: rankinit hosts no key-value store and is no client of one; "
            "use static or c10d with --nnodes N and --node-rank N",
            "--rdzv_backend=etcd-v2");
    REFUSED("--rdzv-backend: \"mine\" is not one of static, c10d", "--rdzv-backend=mine");
}

TEST(accepts_a_stated_default_that_holds_already)
{
    GIVES(OPT_OOM, "note", "--oom", "--oom", "note");
    GIVES(OPT_MAX_RESTARTS, "0", "--max-restarts", "--max-restarts", "0");
    GIVES(OPT_REDIRECTS, "0", "-r", "-r", "0");
    GIVES(OPT_TEE, "0", "-t", "-t0");
    GIVES(OPT_SECCOMP, "off", "--seccomp", "--seccomp=off");
    GIVES(OPT_CPU_BIND, "none", "--cpu-bind", "--cpu-bind=none");
}

TEST(accepts_what_has_no_effect)
{
    GIVES(OPT_MONITOR_INTERVAL, "0.1", "--monitor-interval", "--monitor_interval", "0.1");
    GIVES(OPT_START_METHOD, "spawn", "--start-method", "--start-method=spawn");
    GIVES(OPT_EVENT_LOG_HANDLER, "null", "--event-log-handler", "--event-log-handler=null");
    GIVES(OPT_SUBREAPER, "true", "-s", "-s");
}

TEST(auto_states_nothing_where_weaker_sources_decide)
{
    struct parsed parsed;

    PARSE(&parsed, "--master-port=auto", "--node-rank", "auto", "--master-addr=auto",
          "--devices=auto", "x");
    tap_eq_int(parsed.verb, OPTIONS_RUN);
    tap_ok(!settings_stated(&parsed.settings, OPT_MASTER_PORT));
    tap_ok(!settings_stated(&parsed.settings, OPT_NODE_RANK));
    tap_ok(!settings_stated(&parsed.settings, OPT_MASTER_ADDR));
    tap_ok(!settings_stated(&parsed.settings, OPT_DEVICES));
    tap_eq_str(settings_text(&parsed.settings, OPT_MASTER_PORT), NULL);
    settings_release(&parsed.settings);
}

static char help_room[12000];

TEST(help_shows_what_can_be_used_in_80_columns)
{
    struct buf out = BUF_OVER(help_room);
    char flag[80];

    options_help(&out);
    tap_ok(!out.truncated);
    tap_ok(out.len < 16384);
    tap_ok(strncmp(out.data, "usage: rankinit [OPTIONS] [--] PROGRAM [ARG...]\n", 48) == 0);
    for (int id = 0; id < OPT__COUNT; id++) {
        const struct option_row *row = &option_rows[id];
        bool shown = !row->spec_only &&
                     (row->status == OPTION_BUILT || row->status == OPTION_NO_EFFECT);

        snprintf(flag, sizeof(flag), " --%s%s", row->name,
                 row->optional_value ? "[="
                 : row->arg          ? " "
                                     : "");
        tap_eq_int(strstr(out.data, flag) != NULL, shown);
    }
    for (const char *line = out.data; *line != '\0';) {
        size_t len = strcspn(line, "\n");

        tap_ok(len <= 80);
        tap_ok(len == 0 || line[len - 1] != ' ');
        line += len + 1;
    }
}

/* The manual page, read from the top of the source tree, where tests run. */
static const char *manual(void)
{
    static char text[65536];
    FILE *file = fopen("cmd/rankinit/rankinit.1", "r");
    size_t len;

    if (!file)
        return NULL;
    len = fread(text, 1, sizeof(text) - 1, file);
    text[len] = '\0';
    fclose(file);
    return text;
}

/* True if the page has an item for "Fl FLAG". */
static bool documents(const char *page, const char *flag)
{
    char item[80];

    snprintf(item, sizeof(item), "Fl %s", flag);
    for (const char *at = page; (at = strstr(at, item)); at++) {
        if (strchr(" \n", at[strlen(item)]))
            return true;
    }
    return false;
}

TEST(the_manual_has_every_option_that_can_be_used_and_no_other)
{
    const char *page = manual();

    if (!tap_ok(page))
        return;
    for (int id = 0; id < OPT__COUNT; id++) {
        const struct option_row *row = &option_rows[id];
        bool usable = row->status == OPTION_BUILT || row->status == OPTION_NO_EFFECT;
        char flag[64], letter[] = {row->letter, '\0'};

        if (row->spec_only)
            continue;
        printf("# %s\n", row->name);
        snprintf(flag, sizeof(flag), "-%s", row->name);
        tap_eq_int(documents(page, flag), usable);
        if (row->letter)
            tap_eq_int(documents(page, letter), usable);
    }
}

TAP_MAIN()
