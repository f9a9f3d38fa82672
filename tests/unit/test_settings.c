#include "model/option_values.h"
#include "model/options.h"
#include "model/settings.h"
#include "tap.h"

/* Offers a text and wants it accepted. */
static void offer(struct settings *settings, enum option_id id, enum setting_source source,
                  const char *origin, const char *text)
{
    struct err err = ERR_INIT;

    tap_eq_int(settings_offer(settings, id, &(struct setting){source, text, origin}, &err), 0);
    tap_eq_str(err.message, "");
}

/* Offers a text and wants it refused with this message, leaving the row as it was. */
static void refuse(struct settings *settings, enum option_id id, enum setting_source source,
                   const char *text, const char *message)
{
    struct setting before = settings->rows[id];
    struct err err = ERR_INIT;

    tap_eq_int(settings_offer(settings, id, &(struct setting){source, text, "here"}, &err), -1);
    tap_eq_str(err.message, message);
    tap_eq_int(err.kind, source == SOURCE_FLAG ? ERR_USAGE : ERR_SPEC);
    tap_ok(settings->rows[id].text == before.text);
    tap_eq_int(settings->rows[id].source, before.source);
}

TEST(starts_with_the_defaults)
{
    struct settings settings;

    settings_init(&settings);
    tap_eq_str(settings_text(&settings, OPT_GRACE), "20s");
    tap_eq_str(settings.rows[OPT_GRACE].origin, "default");
    tap_eq_int(settings.rows[OPT_GRACE].source, SOURCE_DEFAULT);
    tap_eq_int(settings_ns(&settings, OPT_FAIL_GRACE), 10000000000LL);
    tap_eq_int(settings_ns(&settings, OPT_SETTLE), 3000000000LL);
    tap_eq_int(settings_ns(&settings, OPT_ORPHAN_GRACE), 2000000000LL);
    tap_eq_int(settings_int(&settings, OPT_TAIL_LINES), 20);
    tap_eq_int(settings_int(&settings, OPT_MAX_BYTES), 2048);
    tap_eq_int(settings_int(&settings, OPT_GPUS_PER_RANK), 1);
    tap_eq_str(settings_text(&settings, OPT_ROLE), "default");
    tap_eq_int(settings_word(&settings, OPT_DEVICE_MODE), 0);
    tap_eq_int(settings_word(&settings, OPT_RANK_MEANS), 2);
    tap_eq_int(settings_word(&settings, OPT_STOP_SCOPE), 0);
    tap_eq_int(settings_word(&settings, OPT_THREADS), 0);
    for (int id = 0; id < OPT__COUNT; id++)
        tap_ok(!settings_stated(&settings, (enum option_id)id));
    tap_ok(!settings_state_shape(&settings));
    settings_release(&settings);
    settings_release(&settings);
}

TEST(what_decides_the_job_has_no_default)
{
    static const enum option_id unset[] = {
        OPT_NPROC_PER_NODE, OPT_NNODES,  OPT_NODE_RANK, OPT_MASTER_ADDR,
        OPT_MASTER_PORT,    OPT_DEVICES, OPT_TIMEOUT,   OPT_RDZV_ENDPOINT,
    };
    struct settings settings;

    settings_init(&settings);
    for (size_t i = 0; i < sizeof(unset) / sizeof(unset[0]); i++) {
        tap_eq_str(settings_text(&settings, unset[i]), NULL);
        tap_eq_int(settings_int(&settings, unset[i]), 0);
        tap_eq_int(settings_ns(&settings, unset[i]), 0);
        tap_eq_int(settings_word(&settings, unset[i]), -1);
        tap_ok(!settings_flag(&settings, unset[i]));
        tap_eq_int(settings.rows[unset[i]].source, SOURCE_NONE);
    }
    settings_release(&settings);
}

TEST(the_stronger_source_wins_in_any_order)
{
    static const enum setting_source order[] = {SOURCE_DISCOVERY,  SOURCE_PLATFORM,
                                                SOURCE_ACCELERATE, SOURCE_SPEC,
                                                SOURCE_TWIN,       SOURCE_FLAG};
    static const char *const texts[] = {"11s", "12s", "13s", "14s", "15s", "16s"};
    size_t count = sizeof(order) / sizeof(order[0]);

    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b < count; b++) {
            struct settings settings;

            settings_init(&settings);
            offer(&settings, OPT_GRACE, order[a], "one", texts[a]);
            offer(&settings, OPT_GRACE, order[b], "two", texts[b]);
            tap_eq_str(settings_text(&settings, OPT_GRACE), texts[a > b ? a : b]);
            tap_eq_str(settings.rows[OPT_GRACE].origin, a > b ? "one" : "two");
            settings_release(&settings);
        }
    }
}

TEST(texts_and_origins_are_copied)
{
    struct settings settings;
    char text[] = "5s", origin[] = "--grace";

    settings_init(&settings);
    offer(&settings, OPT_GRACE, SOURCE_FLAG, origin, text);
    memset(text, 'x', 2);
    memset(origin, 'x', 3);
    tap_eq_str(settings_text(&settings, OPT_GRACE), "5s");
    tap_eq_str(settings.rows[OPT_GRACE].origin, "--grace");
    settings_release(&settings);
}

TEST(repeatable_rows_append_within_a_source)
{
    struct settings settings;

    settings_init(&settings);
    offer(&settings, OPT_REWRITE, SOURCE_SPEC, "spec", "TERM:USR1,INT:0");
    offer(&settings, OPT_REWRITE, SOURCE_FLAG, "--rewrite", "HUP:0");
    tap_eq_str(settings_text(&settings, OPT_REWRITE), "HUP:0");
    offer(&settings, OPT_REWRITE, SOURCE_FLAG, "--rewrite", "USR1:USR2");
    tap_eq_str(settings_text(&settings, OPT_REWRITE), "HUP:0,USR1:USR2");
    offer(&settings, OPT_REWRITE, SOURCE_TWIN, "RANKINIT_REWRITE", "INT:TERM");
    tap_eq_str(settings_text(&settings, OPT_REWRITE), "HUP:0,USR1:USR2");
    offer(&settings, OPT_ROLE, SOURCE_FLAG, "--role", "a");
    offer(&settings, OPT_ROLE, SOURCE_FLAG, "--role", "b");
    tap_eq_str(settings_text(&settings, OPT_ROLE), "b");
    settings_release(&settings);
}

TEST(bad_values_are_refused_whoever_wins)
{
    struct settings settings;

    settings_init(&settings);
    offer(&settings, OPT_GRACE, SOURCE_FLAG, "--grace", "5s");
    refuse(&settings, OPT_GRACE, SOURCE_SPEC, "soon",
           "here: \"soon\" is not a duration such as 300ms, 25s, 5m or 1h30m");
    refuse(&settings, OPT_GRACE, SOURCE_FLAG, "", "here: the value is empty");
    refuse(&settings, OPT_NNODES, SOURCE_PLATFORM, "1:4",
           "here: 1:4 is a range: a running job is not resized, state --nnodes N");
    refuse(&settings, OPT_RDZV_BACKEND, SOURCE_PLATFORM, "etcd",
           "here: etcd: rankinit hosts no key-value store and is no client of one; use static or "
           "c10d with --nnodes N and --node-rank N");
    settings_release(&settings);
}

TEST(a_long_value_is_cut_in_the_message)
{
    struct settings settings;
    struct err err = ERR_INIT;
    char text[5000];

    memset(text, '7', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    settings_init(&settings);
    tap_eq_int(settings_offer(&settings, OPT_NNODES,
                              &(struct setting){SOURCE_FLAG, text, "--nnodes"}, &err),
               -1);
    tap_ok(strlen(err.message) < 160);
    tap_has_str(err.message, "is not a number of nodes");
    settings_release(&settings);
}

TEST(flags_in_a_spec_are_true_or_false)
{
    struct settings settings;

    settings_init(&settings);
    refuse(&settings, OPT_DEVICE_SHARE, SOURCE_SPEC, "1", "here: \"1\" is not true or false");
    refuse(&settings, OPT_DEVICE_SHARE, SOURCE_SPEC, "maybe",
           "here: \"maybe\" is not true or false");
    offer(&settings, OPT_DEVICE_SHARE, SOURCE_SPEC, "spec", "true");
    tap_ok(settings_flag(&settings, OPT_DEVICE_SHARE));
    offer(&settings, OPT_DEVICE_SHARE, SOURCE_TWIN, "RANKINIT_DEVICE_SHARE", "0");
    tap_ok(!settings_flag(&settings, OPT_DEVICE_SHARE));
    settings_release(&settings);
}

TEST(what_cannot_work_is_refused_unless_it_holds_already)
{
    struct settings settings;

    settings_init(&settings);
    refuse(&settings, OPT_RUN_PATH, SOURCE_PLATFORM, "1",
           "here: cannot work here: it runs the script inside a Python launcher; give FILE.py as "
           "PROGRAM");
    offer(&settings, OPT_RUN_PATH, SOURCE_PLATFORM, "PET_RUN_PATH", "0");
    offer(&settings, OPT_SIGNALS_TO_HANDLE, SOURCE_PLATFORM, "PET_SIGNALS_TO_HANDLE",
          "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
    settings_release(&settings);
}

TEST(the_platforms_identity_beats_a_shared_file)
{
    struct settings settings;

    for (int first = 0; first < 2; first++) {
        settings_init(&settings);
        offer(&settings, OPT_NNODES, first ? SOURCE_SPEC : SOURCE_PLATFORM, "one", "2");
        offer(&settings, OPT_NNODES, first ? SOURCE_PLATFORM : SOURCE_SPEC, "two", "2:2");
        tap_eq_int(settings.rows[OPT_NNODES].source, SOURCE_PLATFORM);
        settings_release(&settings);
    }
}

TEST(a_file_that_states_another_identity_is_refused)
{
    struct settings settings;

    settings_init(&settings);
    offer(&settings, OPT_NODE_RANK, SOURCE_PLATFORM, "PET_NODE_RANK", "1");
    refuse(&settings, OPT_NODE_RANK, SOURCE_SPEC, "0",
           "here says 0 but PET_NODE_RANK says 1: state it in one place");
    offer(&settings, OPT_NODE_RANK, SOURCE_SPEC, "spec", "auto");
    offer(&settings, OPT_MASTER_ADDR, SOURCE_SPEC, "s: rendezvous.master_addr", "host-0");
    refuse(&settings, OPT_MASTER_ADDR, SOURCE_PLATFORM, "host-1",
           "here says host-1 but s: rendezvous.master_addr says host-0: state it in one place");
    offer(&settings, OPT_MASTER_PORT, SOURCE_ACCELERATE, "file", "29500");
    refuse(&settings, OPT_MASTER_PORT, SOURCE_PLATFORM, "29501",
           "here says 29501 but file says 29500: state it in one place");
    settings_release(&settings);
}

TEST(people_overrule_every_identity)
{
    struct settings settings;

    settings_init(&settings);
    offer(&settings, OPT_NODE_RANK, SOURCE_FLAG, "--node-rank", "3");
    offer(&settings, OPT_NODE_RANK, SOURCE_SPEC, "spec", "0");
    offer(&settings, OPT_NODE_RANK, SOURCE_PLATFORM, "PET_NODE_RANK", "1");
    tap_eq_int(settings_int(&settings, OPT_NODE_RANK), 3);
    offer(&settings, OPT_NNODES, SOURCE_PLATFORM, "PET_NNODES", "4");
    offer(&settings, OPT_NNODES, SOURCE_TWIN, "RANKINIT_NNODES", "8");
    tap_eq_int(settings_int(&settings, OPT_NNODES), 8);
    settings_release(&settings);
}

TEST(other_settings_of_the_platform_yield_to_files)
{
    struct settings settings;

    settings_init(&settings);
    offer(&settings, OPT_NPROC_PER_NODE, SOURCE_PLATFORM, "PET_NPROC_PER_NODE", "4");
    offer(&settings, OPT_NPROC_PER_NODE, SOURCE_SPEC, "spec", "8");
    tap_eq_int(settings_int(&settings, OPT_NPROC_PER_NODE), 8);
    offer(&settings, OPT_NPROC_PER_NODE, SOURCE_PLATFORM, "PET_NPROC_PER_NODE", "2");
    tap_eq_int(settings_int(&settings, OPT_NPROC_PER_NODE), 8);
    settings_release(&settings);
}

TEST(a_shape_is_stated_by_people_and_files_alone)
{
    static const struct {
        const char *text;
        enum option_id id;
        bool shape;
    } cases[] = {
        {"2", OPT_NPROC_PER_NODE, true}, {"auto", OPT_NPROC_PER_NODE, true},
        {"1", OPT_NNODES, true},         {"0", OPT_NODE_RANK, true},
        {"true", OPT_STANDALONE, true},  {"h:1", OPT_RDZV_ENDPOINT, true},
        {"h", OPT_MASTER_ADDR, true},    {"false", OPT_STANDALONE, false},
        {"auto", OPT_NODE_RANK, false},  {"5s", OPT_GRACE, false},
        {"x", OPT_RDZV_ID, false},       {"shared", OPT_DEVICE_MODE, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int source = SOURCE_DISCOVERY; source <= SOURCE_FLAG; source++) {
            struct settings settings;

            settings_init(&settings);
            offer(&settings, cases[i].id, (enum setting_source)source, "x", cases[i].text);
            tap_eq_int(settings_state_shape(&settings),
                       cases[i].shape && source >= SOURCE_ACCELERATE);
            settings_release(&settings);
        }
    }
}

TEST(reads_values_by_type)
{
    struct settings settings;

    settings_init(&settings);
    offer(&settings, OPT_NNODES, SOURCE_FLAG, "x", "3:3");
    tap_eq_int(settings_int(&settings, OPT_NNODES), 3);
    offer(&settings, OPT_NPROC_PER_NODE, SOURCE_FLAG, "x", "gpu");
    tap_eq_int(settings_int(&settings, OPT_NPROC_PER_NODE), 0);
    tap_eq_int(settings_word(&settings, OPT_NPROC_PER_NODE), 1);
    offer(&settings, OPT_NPROC_PER_NODE, SOURCE_FLAG, "x", "6");
    tap_eq_int(settings_int(&settings, OPT_NPROC_PER_NODE), 6);
    tap_eq_int(settings_word(&settings, OPT_NPROC_PER_NODE), -1);
    offer(&settings, OPT_THREADS, SOURCE_FLAG, "x", "keep");
    tap_eq_int(settings_word(&settings, OPT_THREADS), 2);
    tap_eq_int(settings_int(&settings, OPT_THREADS), 0);
    offer(&settings, OPT_THREADS, SOURCE_FLAG, "x", "12");
    tap_eq_int(settings_word(&settings, OPT_THREADS), -1);
    tap_eq_int(settings_int(&settings, OPT_THREADS), 12);
    offer(&settings, OPT_PARENT_DEATH_SIGNAL, SOURCE_FLAG, "x", "SIGUSR1");
    tap_eq_int(settings_int(&settings, OPT_PARENT_DEATH_SIGNAL), 10);
    offer(&settings, OPT_SHUTDOWN_TIMEOUT, SOURCE_FLAG, "x", "45");
    tap_eq_int(settings_int(&settings, OPT_SHUTDOWN_TIMEOUT), 45);
    tap_eq_int(settings_ns(&settings, OPT_SHUTDOWN_TIMEOUT), 45000000000LL);
    offer(&settings, OPT_GRACE, SOURCE_FLAG, "x", "300ms");
    tap_eq_int(settings_ns(&settings, OPT_GRACE), 300000000LL);
    tap_eq_int(settings_int(&settings, OPT_OUTPUT_MAX_BYTES), 0);
    settings_release(&settings);
}

/* An environment that was read. */
struct reading {
    struct settings settings;
    struct strvec notices;
    struct err err;
    int result;
};

static void read_envp(struct reading *ret, const char *const *envp)
{
    *ret = (struct reading){.notices = STRVEC_INIT, .err = ERR_INIT};
    settings_init(&ret->settings);
    ret->result = settings_read_twins(&ret->settings, envp, &ret->notices, &ret->err);
}

#define READ(ret, ...) read_envp((ret), (const char *const[]){__VA_ARGS__, NULL})

static void release(struct reading *reading)
{
    settings_release(&reading->settings);
    strvec_release(&reading->notices);
}

/* Wants exactly this notice. */
static void notices(const char *entry, const char *notice)
{
    struct reading reading;

    READ(&reading, "A=b", entry);
    tap_eq_int(reading.result, 0);
    if (tap_eq_uint(reading.notices.count, notice ? 1 : 0) && notice)
        tap_eq_str(reading.notices.items[0], notice);
    for (int id = 0; id < OPT__COUNT; id++)
        tap_ok(!settings_stated(&reading.settings, (enum option_id)id));
    release(&reading);
}

TEST(every_option_has_a_twin)
{
    struct reading reading;

    READ(&reading, "PATH=/bin", "RANKINIT_NPROC_PER_NODE=4", "RANKINIT_GRACE=7s",
         "RANKINIT_MODULE=1", "RANKINIT_QUIET=false", "RANKINIT_VERBOSE=2",
         "RANKINIT_REWRITE=TERM:USR1", "RANKINIT_SPEC={\"apiVersion\": \"rankinit/v1\"}");
    tap_eq_int(reading.result, 0);
    tap_eq_uint(reading.notices.count, 0);
    tap_eq_int(settings_int(&reading.settings, OPT_NPROC_PER_NODE), 4);
    tap_eq_str(reading.settings.rows[OPT_NPROC_PER_NODE].origin, "RANKINIT_NPROC_PER_NODE");
    tap_eq_int(reading.settings.rows[OPT_NPROC_PER_NODE].source, SOURCE_TWIN);
    tap_eq_int(settings_ns(&reading.settings, OPT_GRACE), 7000000000LL);
    tap_ok(settings_flag(&reading.settings, OPT_MODULE));
    tap_ok(!settings_flag(&reading.settings, OPT_QUIET));
    tap_ok(settings_stated(&reading.settings, OPT_QUIET));
    tap_eq_int(settings_int(&reading.settings, OPT_VERBOSE), 2);
    tap_eq_str(settings_text(&reading.settings, OPT_SPEC), "{\"apiVersion\": \"rankinit/v1\"}");
    release(&reading);
}

TEST(unknown_empty_and_service_names_are_notices)
{
    notices("RANKINIT_NPROC_PER_NOD=3",
            "RANKINIT_NPROC_PER_NOD is no setting: ignored; did you mean "
            "RANKINIT_NPROC_PER_NODE?");
    notices("RANKINIT_nnodes=3",
            "RANKINIT_nnodes is no setting: ignored; did you mean RANKINIT_NNODES?");
    notices("RANKINIT_QWERTYUIOP=1", "RANKINIT_QWERTYUIOP is no setting: ignored");
    notices("RANKINIT_PORT=tcp://10.0.0.1:80",
            "RANKINIT_PORT is a link to a Kubernetes Service: ignored");
    notices("RANKINIT_VERSION=1.2", "RANKINIT_VERSION is no setting: ignored");
    notices("RANKINIT_WORKDIR=/", "RANKINIT_WORKDIR is no setting: ignored");
    notices("RANKINIT_=1", "RANKINIT_ is no setting: ignored");
    notices("RANKINIT_NNODES=", "RANKINIT_NNODES is empty: ignored");
    notices("RANKINIT_MASTER_PORT=tcp://10.0.0.1:80",
            "RANKINIT_MASTER_PORT is a link to a Kubernetes Service: ignored");
}

TEST(what_is_not_ours_to_read_is_skipped)
{
    notices("RANKINIT_THIS_RANK=3", NULL);
    notices("RANKINIT_THIS_ANYTHING=x", NULL);
    notices("RANKINIT_NNODES", NULL); /* no '=' */
    notices("RANKINITX=1", NULL);
    notices("PET_NNODES=2", NULL);
}

TEST(a_bad_twin_is_refused)
{
    struct reading reading;

    READ(&reading, "RANKINIT_GRACE=soon");
    tap_eq_int(reading.result, -1);
    tap_eq_int(reading.err.kind, ERR_SPEC);
    tap_eq_str(reading.err.message,
               "RANKINIT_GRACE: \"soon\" is not a duration such as 300ms, 25s, 5m or 1h30m");
    release(&reading);
    READ(&reading, "RANKINIT_CAP_DROP=ALL,+");
    tap_eq_str(reading.err.message,
               "RANKINIT_CAP_DROP: \"ALL,+\" is not a list of names such as NET_RAW,SYS_ADMIN");
    release(&reading);
}

TEST(reads_tinis_variables)
{
    struct reading reading;

    READ(&reading, "TINI_SUBREAPER=", "TINI_KILL_PROCESS_GROUP=0", "TINI_VERBOSITY=3");
    tap_eq_int(reading.result, 0);
    tap_eq_uint(reading.notices.count, 0);
    tap_ok(settings_flag(&reading.settings, OPT_SUBREAPER));
    tap_ok(settings_flag(&reading.settings, OPT_KILL_GROUP));
    tap_eq_str(reading.settings.rows[OPT_KILL_GROUP].origin, "TINI_KILL_PROCESS_GROUP");
    tap_eq_int(settings_int(&reading.settings, OPT_VERBOSE), 2);
    release(&reading);
    READ(&reading, "TINI_VERBOSITY=0");
    tap_ok(settings_flag(&reading.settings, OPT_QUIET));
    release(&reading);
    READ(&reading, "TINI_VERBOSITY=loud");
    tap_eq_int(reading.result, 0);
    tap_eq_uint(reading.notices.count, 1);
    release(&reading);
}

TEST(our_twin_beats_tinis)
{
    struct reading reading;

    READ(&reading, "RANKINIT_KILL_GROUP=false", "TINI_KILL_PROCESS_GROUP=1", "RANKINIT_VERBOSE=0",
         "TINI_VERBOSITY=3");
    tap_ok(!settings_flag(&reading.settings, OPT_KILL_GROUP));
    tap_eq_int(settings_int(&reading.settings, OPT_VERBOSE), 0);
    release(&reading);
}

/* A value that a row accepts and that is not its default. */
static const char *sample(enum option_id id)
{
    const struct option_row *row = &option_rows[id];

    switch (row->type) {
    case OPTION_FLAG:
    case OPTION_COUNT: return "1";
    case OPTION_INT: return row->max < 1000 ? "7" : "1000";
    case OPTION_NPROC: return "3";
    case OPTION_NNODES: return "4";
    case OPTION_PORT: return "29511";
    case OPTION_DECIMAL: return "0.5";
    case OPTION_DURATION: return "17s";
    case OPTION_SIZE: return "64Ki";
    case OPTION_SIGNAL: return "USR1";
    case OPTION_SIGNALS: return "SIGUSR1,TERM";
    case OPTION_CODE_MAP: return "3:4";
    case OPTION_REWRITE: return "TERM:USR1";
    case OPTION_CODES: return "143";
    case OPTION_WORD: return strrchr(row->words, '|') + 1;
    case OPTION_WORD_OR_INT: return "2";
    case OPTION_NAMES: return "ALL,cap_kill";
    case OPTION_RLIMITS: return "core=0,nofile=1k:2k";
    case OPTION_UMASK: return "027";
    case OPTION_HOST: return "host";
    case OPTION_ENDPOINT: return "host:29500";
    case OPTION_STREAMS: return "0:3,1:1";
    case OPTION_RANKS: return "0,2-3";
    case OPTION_TEXT: return "text";
    }
    return "";
}

/* States a value on a command line of its own. */
static int by_flag(enum option_id id, const char *value, struct settings *settings, struct err *err)
{
    const struct option_row *row = &option_rows[id];
    bool bare = row->type == OPTION_FLAG || row->type == OPTION_COUNT;
    char word[128];
    const char *const argv[] = {"rankinit", word, NULL};
    const char *const *program;

    snprintf(word, sizeof(word), "--%s%s%s", row->name, bare ? "" : "=", bare ? "" : value);
    return options_parse(argv, settings, &program, err);
}

static int by_twin(enum option_id id, const char *value, struct settings *settings, struct err *err)
{
    char name[64], entry[128];
    const char *const envp[] = {entry, NULL};
    struct strvec notices = STRVEC_INIT;
    int rc;

    options_twin(id, "RANKINIT_", name);
    snprintf(entry, sizeof(entry), "%s=%s", name, value);
    rc = settings_read_twins(settings, envp, &notices, err);
    tap_eq_uint(notices.count, 0);
    strvec_release(&notices);
    return rc;
}

TEST(every_twin_means_what_its_flag_means)
{
    int twins = 0;

    for (int i = 0; i < OPT__COUNT; i++) {
        enum option_id id = (enum option_id)i;
        const struct option_row *row = &option_rows[id];
        struct settings flag, twin;
        struct err flag_err = ERR_INIT, twin_err = ERR_INIT;
        int rc;

        if (!settings_has_twin(id))
            continue;
        printf("# %s\n", row->name);
        twins++;
        settings_init(&flag);
        settings_init(&twin);
        rc = by_flag(id, sample(id), &flag, &flag_err);
        tap_eq_int(by_twin(id, sample(id), &twin, &twin_err) < 0, rc < 0);
        tap_eq_int(rc < 0, row->status == OPTION_REFUSED ||
                               (row->refused_words && strstr(row->refused_words, sample(id))));
        if (rc < 0) {
            /* Refused for the same reason: the messages differ in the name in front. */
            tap_eq_str(strchr(twin_err.message, ':'), strchr(flag_err.message, ':'));
            tap_eq_int(flag_err.kind, ERR_USAGE);
            tap_eq_int(twin_err.kind, ERR_SPEC);
        } else {
            tap_ok(option_value_same(row, flag.rows[id].text, twin.rows[id].text));
            tap_ok(settings_stated(&flag, id) && settings_stated(&twin, id));
            tap_eq_int(settings_flag(&flag, id), settings_flag(&twin, id));
            if (row->type != OPTION_FLAG)
                tap_eq_int(settings_int(&flag, id), settings_int(&twin, id));
            tap_eq_int(settings_word(&flag, id), settings_word(&twin, id));
        }
        settings_release(&flag);
        settings_release(&twin);
    }
    tap_ok(twins > 60);
}

TAP_MAIN()
