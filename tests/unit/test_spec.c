#include "model/spec.h"
#include "tap.h"

#define V "apiVersion: rankinit/v1\n"

/* A spec that was read. */
struct reading {
    struct settings settings;
    struct spec spec;
    struct err err;
    int result;
};

static void read_text(struct reading *ret, const char *text)
{
    *ret = (struct reading){.err = ERR_INIT};
    settings_init(&ret->settings);
    ret->result = spec_read(&(struct spec_source){text, strlen(text), "spec.yaml"}, &ret->settings,
                            &ret->spec, &ret->err);
}

static void release(struct reading *reading)
{
    spec_release(&reading->spec);
    settings_release(&reading->settings);
}

/* Wants a document accepted and an option to have this text. */
static void gives(const char *text, enum option_id id, const char *value)
{
    struct reading reading;
    char origin[100];

    read_text(&reading, text);
    tap_eq_int(reading.result, 0);
    tap_eq_str(reading.err.message, "");
    snprintf(origin, sizeof(origin), "spec.yaml: %s", option_rows[id].spec_key);
    tap_eq_str(settings_text(&reading.settings, id), value);
    tap_eq_str(reading.settings.rows[id].origin, origin);
    tap_eq_int(reading.settings.rows[id].source, SOURCE_SPEC);
    release(&reading);
}

/* Wants a document refused with this message, leaving an empty spec. */
static void refuses(const char *text, const char *message)
{
    struct reading reading;

    read_text(&reading, text);
    tap_eq_int(reading.result, -1);
    tap_eq_int(reading.err.kind, ERR_SPEC);
    tap_eq_str(reading.err.message, message);
    tap_eq_uint(reading.spec.command.count, 0);
    tap_eq_uint(reading.spec.env_set.count, 0);
    tap_eq_uint(reading.spec.env_unset.count, 0);
    tap_eq_uint(reading.spec.rank_count, 0);
    release(&reading);
}

/* Every key that exists, with values that hold in this version. */
static const char whole[] =
    "apiVersion: rankinit/v1\n"
    "job:        {id: llama-42, nnodes: 2, node_rank: auto, nproc_per_node: auto, rank_means: auto,"
    " role: default}\n"
    "rendezvous: {master_addr: auto, master_port: auto}\n"
    "command:    [train.py, --lr, \"0.1\", \"\"]\n"
    "workdir:    /workspace\n"
    "env:        [{name: NCCL_DEBUG, value: WARN}, {name: LD_PRELOAD, unset: true},"
    " {name: EMPTY, value: \"\"}]\n"
    "devices:    {mode: auto, per_rank: 1, list: auto, vendor: auto, share: false}\n"
    "cpu:        {bind: none, threads: budget}\n"
    "ranks:\n"
    "  - {local: \"0\", devices: \"GPU-8f1c\", env: [{name: ROLE, value: leader}],"
    " command: [serve.py]}\n"
    "output:     {capture: auto, prefix: auto, log_dir: /logs, tee: \"0\", redirects: \"0\","
    " tail_lines: 20, max_bytes: 0}\n"
    "stop:       {grace: 20s, fail_grace: 10s, scope: leader, rewrite: [\"TERM:USR1\", \"INT:0\"],"
    " exit: signal, settle: 3s, orphan_grace: 2s}\n"
    "limits:     {}\n"
    "restart:    {max: 0, backoff: 1s, window: 0s, min_uptime: 0s, only: [], never: []}\n"
    "summary:    {file: /logs/summary.json, termination_log: /dev/termination-log, max_bytes: 2048}\n"
    "exit:       {preset: none, map: [], oom: note}\n"
    "security:   {user: \"1000:1000\", no_new_privs: true, drop: [ALL], keep: [], seccomp: default,"
    " allow: [], deny: [], rlimits: [\"core=0\"], oom_score_adj: 200, umask: 027, nice: 5}\n"
    "hydra:      {pin: false}\n";

TEST(reads_the_whole_document)
{
    struct reading reading;

    read_text(&reading, whole);
    tap_eq_int(reading.result, 0);
    tap_eq_str(reading.err.message, "");
    tap_eq_uint(reading.spec.command.count, 4);
    tap_eq_str(reading.spec.command.items[0], "train.py");
    tap_eq_str(reading.spec.command.items[2], "0.1");
    tap_eq_str(reading.spec.command.items[3], "");
    tap_eq_uint(reading.spec.env_set.count, 2);
    tap_eq_str(reading.spec.env_set.items[0], "NCCL_DEBUG=WARN");
    tap_eq_str(reading.spec.env_set.items[1], "EMPTY=");
    tap_eq_uint(reading.spec.env_unset.count, 1);
    tap_eq_str(reading.spec.env_unset.items[0], "LD_PRELOAD");
    tap_eq_int(settings_int(&reading.settings, OPT_NNODES), 2);
    tap_eq_str(settings_text(&reading.settings, OPT_WORKDIR), "/workspace");
    tap_eq_str(settings_text(&reading.settings, OPT_REWRITE), "TERM:USR1,INT:0");
    tap_ok(!settings_stated(&reading.settings, OPT_NODE_RANK));
    tap_ok(!settings_stated(&reading.settings, OPT_MASTER_PORT));
    tap_eq_str(settings_text(&reading.settings, OPT_CAP_DROP), "ALL");
    tap_ok(!settings_stated(&reading.settings, OPT_CAP_KEEP));
    tap_eq_str(settings_text(&reading.settings, OPT_UMASK), "027");
    release(&reading);
}

TEST(a_byte_order_mark_is_no_part_of_the_document)
{
    gives("\xef\xbb\xbf" V "job: {nnodes: 2}", OPT_NNODES, "2");
    gives("\xef\xbb\xbf{apiVersion: rankinit/v1, job: {nnodes: 2}}", OPT_NNODES, "2");
    refuses("\xef\xbb\xbf" V "jobs: {}", "spec.yaml:2:1: unknown key \"jobs\"; did you mean job?");
    refuses("\xef\xbb\xbf", "spec.yaml: the document is empty");
}

TEST(a_document_is_told_from_a_path)
{
    tap_ok(spec_is_document("{apiVersion: rankinit/v1}"));
    tap_ok(spec_is_document(" \t{}"));
    tap_ok(spec_is_document("apiVersion: rankinit/v1\n"));
    tap_ok(spec_is_document("\napiVersion: rankinit/v1\njob: {}"));
    tap_ok(!spec_is_document("/etc/rankinit/spec.yaml"));
    tap_ok(!spec_is_document("a{b}.yaml"));
    tap_ok(!spec_is_document(""));
}

TEST(an_absent_key_is_unset)
{
    struct reading reading;

    read_text(&reading, V);
    tap_eq_int(reading.result, 0);
    tap_eq_uint(reading.spec.command.count, 0);
    for (int id = 0; id < OPT__COUNT; id++)
        tap_ok(!settings_stated(&reading.settings, (enum option_id)id));
    release(&reading);
}

/* Writes a document that states one option's key, "part.key" or "key", with a value or a list. */
static void write_document(char *room, size_t size, const char *key, const char *value, bool list)
{
    const char *dot = strchr(key, '.');
    const char *open = list ? "[" : "", *close = list ? "]" : "";

    if (dot)
        snprintf(room, size, V "%.*s: {%s: %s\"%s\"%s}", (int)(dot - key), key, dot + 1, open,
                 value, close);
    else
        snprintf(room, size, V "%s: %s\"%s\"%s", key, open, value, close);
}

/* A value that the option accepts. */
static const char *sample_of(const struct option_row *row)
{
    switch (row->type) {
    case OPTION_FLAG: return "false";
    case OPTION_NNODES: return "2";
    case OPTION_INT: return row->dflt ? row->dflt : "0";
    case OPTION_DURATION: return row->dflt ? row->dflt : "5s";
    case OPTION_NPROC:
    case OPTION_PORT:
    case OPTION_WORD_OR_INT: return "7";
    case OPTION_REWRITE: return "HUP:0";
    case OPTION_CODE_MAP: return "3:0";
    case OPTION_NAMES: return "all";
    case OPTION_RLIMITS: return "core=0";
    case OPTION_UMASK: return "027";
    case OPTION_CODES: return "3";
    default: return row->dflt ? row->dflt : "x";
    }
}

TEST(every_options_spec_key_reaches_that_option)
{
    for (int id = 0; id < OPT__COUNT; id++) {
        const struct option_row *row = &option_rows[id];
        struct reading reading;
        char text[200];

        if (!row->spec_key)
            continue;
        printf("# %s\n", row->spec_key);
        write_document(text, sizeof(text), row->spec_key, sample_of(row), false);
        read_text(&reading, text);
        if (reading.result < 0 && strstr(reading.err.message, "must be a list")) {
            release(&reading);
            write_document(text, sizeof(text), row->spec_key, sample_of(row), true);
            read_text(&reading, text);
        }
        tap_eq_int(reading.result, 0);
        tap_eq_str(settings_text(&reading.settings, (enum option_id)id), sample_of(row));
        release(&reading);
    }
}

TEST(scalars_are_texts)
{
    gives(V "job: {id: 0012}", OPT_RDZV_ID, "0012");
    gives(V "job: {id: yes, role: 1.50}", OPT_ROLE, "1.50");
    gives(V "job: {nnodes: \"2\"}", OPT_NNODES, "2");
    gives(V "job: {nnodes: 3:3}", OPT_NNODES, "3:3");
    gives(V "output: {prefix: \"[${rank}] \"}", OPT_LOG_PREFIX, "[${rank}] ");
    gives(V "devices: {list: \"0,1\"}", OPT_DEVICES, "0,1");
    gives("{\"apiVersion\": \"rankinit/v1\", \"job\": {\"nproc_per_node\": 8}}", OPT_NPROC_PER_NODE,
          "8");
}

TEST(a_version_is_needed)
{
    refuses("{}", "spec.yaml: apiVersion is missing: begin with apiVersion: rankinit/v1");
    refuses("job: {nnodes: 2}",
            "spec.yaml: apiVersion is missing: begin with apiVersion: rankinit/v1");
    refuses("apiVersion: rankinit/v2", "spec.yaml:1:13: apiVersion: is not rankinit/v1");
    refuses("apiversion: rankinit/v1",
            "spec.yaml:1:1: unknown key \"apiversion\"; did you mean apiVersion?");
    refuses("", "spec.yaml: the document is empty");
}

TEST(refuses_bad_values_where_they_are)
{
    refuses(V "job:\n  nnodes: two",
            "spec.yaml:3:11: job.nnodes: \"two\" is not a number of nodes");
    refuses(V "job: {nproc_per_node: 010}",
            "spec.yaml:2:23: job.nproc_per_node: \"010\" is not a number from 1 to 4096 or one of "
            "auto, gpu, cpu");
    refuses(V "job: {nproc_per_node: 12x}",
            "spec.yaml:2:23: job.nproc_per_node: \"12x\" is not a number from 1 to 4096 or one of "
            "auto, gpu, cpu");
    refuses(V "devices: {share: maybe}",
            "spec.yaml:2:18: devices.share: \"maybe\" is not true or false");
    refuses(V "devices: {share: 1}", "spec.yaml:2:18: devices.share: \"1\" is not true or false");
    refuses(V "stop:\n  rewrite:\n  - TERM:USR1\n  - KILL:0",
            "spec.yaml:4:3: stop.rewrite: \"TERM:USR1,KILL:0\" is not FROM:TO such as "
            "TERM:USR1 or INT:0, FROM not KILL, STOP or CHLD");
    refuses(V "job: {nnodes: 1:2}", "spec.yaml:2:15: job.nnodes: 1:2 is a range: a running job is "
                                    "not resized, state --nnodes N");
}

TEST(refuses_unknown_keys)
{
    refuses(V "job: {nproc_per_nod: 2}",
            "spec.yaml:2:7: job: unknown key \"nproc_per_nod\"; did you mean nproc_per_node?");
    refuses(V "jobs: {}", "spec.yaml:2:1: unknown key \"jobs\"; did you mean job?");
    refuses(V "env: [{nam: A}]", "spec.yaml:2:8: env[0]: unknown key \"nam\"; did you mean name?");
}

TEST(refuses_what_is_not_built_yet)
{
}

TEST(refuses_bad_env_entries)
{
    refuses(V "env: [{name: A}]", "spec.yaml:2:7: env[0]: needs either value: or unset: true");
    refuses(V "env: [{name: A, value: b, unset: true}]",
            "spec.yaml:2:7: env[0]: needs either value: or unset: true");
    refuses(V "env: [{value: b}]", "spec.yaml:2:7: env[0]: needs a name, without =");
    refuses(V "env: [{name: A=B, value: b}]", "spec.yaml:2:7: env[0]: needs a name, without =");
    refuses(V "env: [{name: A, unset: false}]", "spec.yaml:2:7: env[0]: unset can only be true");
    refuses(V "env:\n- {name: A, value: b}\n- {name: A, unset: true}",
            "spec.yaml:4:3: env[1]: this name is in the list twice");
    refuses(V "env: {A: b}", "spec.yaml:2:6: env: must be a list, not a mapping");
}

TEST(refuses_bad_commands)
{
    refuses(V "command: train.py", "spec.yaml:2:10: command: must be a list, not one value");
    refuses(V "command: [\"\", x]", "spec.yaml:2:10: command: begins with an empty text");
}

TEST(reads_exceptions_for_ranks)
{
    struct reading reading;
    const struct spec_rank *rows;

    read_text(&reading, V "ranks:\n"
                          "- {local: 0, devices: GPU-8f1c, env: [{name: ROLE, value: leader}],"
                          " command: [serve.py, \"\"]}\n"
                          "- local: 1-3,6\n"
                          "  cpus: 0-7,16\n"
                          "  env: [{name: A, value: \"\"}, {name: LD_PRELOAD, unset: true}]\n");
    tap_eq_str(reading.err.message, "");
    if (!tap_eq_uint(reading.spec.rank_count, 2))
        return;
    rows = reading.spec.ranks;
    tap_eq_str(rows[0].origin, "spec.yaml: ranks[0]");
    tap_eq_str(rows[0].local, "0");
    tap_eq_str(rows[0].devices, "GPU-8f1c");
    tap_eq_str(rows[0].env_set.items[0], "ROLE=leader");
    tap_eq_uint(rows[0].command.count, 2);
    tap_eq_str(rows[1].local, "1-3,6");
    tap_eq_str(rows[1].devices, NULL);
    tap_eq_str(rows[0].cpus, NULL);
    tap_eq_str(rows[1].cpus, "0-7,16");
    tap_eq_str(rows[1].env_set.items[0], "A=");
    tap_eq_str(rows[1].env_unset.items[0], "LD_PRELOAD");
    tap_eq_uint(rows[1].command.count, 0);
    release(&reading);
    read_text(&reading, V "ranks: []");
    tap_eq_uint(reading.spec.rank_count, 0);
    release(&reading);
}

TEST(refuses_bad_exceptions_for_ranks)
{
    static const char *const bad[] = {"a", "-1", "3-", "1,,2", "0-9999", "all", "0 1", "010"};
    char text[100];

    refuses(V "ranks:\n- {devices: \"0\"}",
            "spec.yaml:3:3: ranks[0]: needs local: local ranks such "
            "as \"0\" or \"0-3,6\"");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof(text), V "ranks:\n- {local: \"%s\", devices: \"0\"}", bad[i]);
        refuses(text, "spec.yaml:3:11: ranks[0].local: is no list of local ranks such as \"0\" or "
                      "\"0-3,6\"");
        snprintf(text, sizeof(text), V "ranks:\n- {local: \"0\", cpus: \"%s\"}", bad[i]);
        if (strcmp(bad[i], "0-9999") != 0)
            refuses(text, "spec.yaml:3:22: ranks[0].cpus: is no list of CPUs such as \"0-7\" or "
                          "\"0-3,16-19\"");
    }
    refuses(V "ranks: [{local: 0, cpus: \"999999\"}]",
            "spec.yaml:2:26: ranks[0].cpus: is no list of CPUs such as \"0-7\" or \"0-3,16-19\"");
    refuses(V "ranks: [{local: 0}]",
            "spec.yaml:2:9: ranks[0]: states nothing: give devices, cpus, env or command");
    refuses(V "ranks: [{local: 0, command: []}]",
            "spec.yaml:2:9: ranks[0]: states nothing: give devices, cpus, env or command");
    refuses(V "ranks: [{local: 0, comand: [a]}]",
            "spec.yaml:2:20: ranks[0]: unknown key \"comand\"; did you mean command?");
    refuses(V "ranks: [{local: 0, command: [\"\"]}]",
            "spec.yaml:2:29: ranks[0].command: begins with an empty text");
    refuses(V "ranks: [{local: 0, devices: [0, 1]}]",
            "spec.yaml:2:29: ranks[0].devices: must be one value, not a list");
    refuses(V "ranks:\n- {local: 0, devices: \"0\"}\n- {local: 1, env: [{name: A}]}",
            "spec.yaml:4:20: ranks[1].env[0]: needs either value: or unset: true");
    refuses(V "ranks: {local: 0}", "spec.yaml:2:8: ranks: must be a list, not a mapping");
}

TEST(refuses_documents_that_are_too_large)
{
    static char large[SPEC_BYTES_MAX + 1];
    struct settings settings;
    struct spec spec;
    struct err err = ERR_INIT;

    memset(large, '#', sizeof(large));
    memcpy(large, V, strlen(V));
    settings_init(&settings);
    tap_eq_int(spec_read(&(struct spec_source){large, sizeof(large), "s"}, &settings, &spec, &err),
               -1);
    tap_eq_str(err.message, "s: is larger than 1 MiB");
    tap_eq_int(
        spec_read(&(struct spec_source){large, sizeof(large) - 1, "s"}, &settings, &spec, &err), 0);
    spec_release(&spec);
    settings_release(&settings);
}

TEST(many_entries_are_read)
{
    static char text[300000];
    struct reading reading;
    size_t len = (size_t)snprintf(text, sizeof(text), V "command: [");

    for (int i = 0; i < 50000; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "a%d,", i % 10);
    snprintf(text + len, sizeof(text) - len, "]");
    read_text(&reading, text);
    tap_eq_int(reading.result, 0);
    tap_eq_uint(reading.spec.command.count, 50000);
    release(&reading);
}

TEST(a_flag_beats_the_spec)
{
    struct settings settings;
    struct spec spec;
    struct err err = ERR_INIT;
    static const char text[] = V "stop: {grace: 9s}";

    settings_init(&settings);
    tap_eq_int(
        settings_offer(&settings, OPT_GRACE, &(struct setting){SOURCE_FLAG, "1s", "--grace"}, &err),
        0);
    tap_eq_int(spec_read(&(struct spec_source){text, strlen(text), "s"}, &settings, &spec, &err),
               0);
    tap_eq_str(settings_text(&settings, OPT_GRACE), "1s");
    spec_release(&spec);
    settings_release(&settings);
}

TEST(another_identity_than_the_platforms_is_refused)
{
    struct settings settings;
    struct spec spec;
    struct err err = ERR_INIT;
    static const char text[] = V "job: {nnodes: 2}";

    settings_init(&settings);
    tap_eq_int(settings_offer(&settings, OPT_NNODES,
                              &(struct setting){SOURCE_PLATFORM, "4", "PET_NNODES"}, &err),
               0);
    tap_eq_int(spec_read(&(struct spec_source){text, strlen(text), "s"}, &settings, &spec, &err),
               -1);
    tap_eq_str(err.message, "s: job.nnodes says 2 but PET_NNODES says 4: state it in one place");
    settings_release(&settings);
}

TAP_MAIN()
