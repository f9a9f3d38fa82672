/* Accelerate's file: the document's limits, where it is looked for, who wins. Tables: golden/accelerate. */
#include "model/accelerate.h"

#include "fixture.h"

struct reading {
    struct settings settings;
    struct accelerate accelerate;
    struct err err;
    int result;
};

static struct reading read_text(const char *text)
{
    static const char *const envp[] = {"PYTHONPATH=/mine", NULL};
    struct reading reading = {.err = ERR_INIT};
    const struct accelerate_source source = {
        .document = {text, strlen(text), "x.yaml"}, .envp = envp, .cwd = "/work"};

    settings_init(&reading.settings);
    reading.result = accelerate_read(&source, &reading.settings, &reading.accelerate, &reading.err);
    return reading;
}

static void release(struct reading *reading)
{
    accelerate_release(&reading->accelerate);
    settings_release(&reading->settings);
}

static void check_refused(const char *text, const char *want)
{
    struct reading reading = read_text(text);

    tap_eq_int(reading.result, -1);
    tap_eq_int(reading.err.kind, ERR_SPEC);
    tap_has_str(reading.err.message, want);
    release(&reading);
}

#define NO_TYPE "distributed_type: NO\n"

TEST(what_is_no_such_document)
{
    check_refused("", "x.yaml:1: the document is empty");
    check_refused("{}", "x.yaml:1: the document is empty");
    check_refused("text", "must be a mapping");
    check_refused("[a]", "a list cannot stand here");
    check_refused("a: [b, [c]]", "a list cannot stand here");
    check_refused("a: [{b: c}]", "a mapping cannot stand here");
    check_refused("? [a]\n: b", "a list cannot stand here");
    check_refused("? {a: b}\n: c", "a mapping cannot stand here");
    check_refused("a: &b c\nd: *b", "aliases are not supported");
    check_refused("a: !!str b", "tags and NUL characters are not supported");
    check_refused("a: \"b\\0c\"", "tags and NUL characters are not supported");
    check_refused(NO_TYPE "---\na: b", "a second document begins");
    check_refused(NO_TYPE "fsdp_config: 3", "fsdp_config: must be a mapping");
    check_refused(NO_TYPE "fsdp_confg: {a: b}", "unknown key \"a\" in fsdp_confg");
    check_refused(NO_TYPE "num_processes: many", "is no number of processes");
    check_refused(NO_TYPE "num_machines: 0", "is no number of processes");
    check_refused(NO_TYPE "num_processes: 5000", "x.yaml:2: num_processes");
    check_refused(NO_TYPE "mixed_precision: fp4", "is none of no, fp16, bf16, fp8");
    check_refused("distributed_type: many", "is none of NO, MULTI_CPU");
}

TEST(words_as_python_reads_them)
{
    struct reading reading = read_text("distributed_type: DEEPSPEED\nnum_processes: 2\n"
                                       "debug: yes\nmixed_precision: 'no'\n"
                                       "deepspeed_config: {zero_stage: ~, zero3_init_flag: on}\n");
    const char *const *env = strvec_texts(&reading.accelerate.env);

    tap_eq_int(reading.result, 0);
    tap_eq_str(env_get(env, "ACCELERATE_DEBUG_MODE"), "true");
    tap_eq_str(env_get(env, "ACCELERATE_DEEPSPEED_ZERO3_INIT"), "true");
    tap_ok(!env_get(env, "ACCELERATE_DEEPSPEED_ZERO_STAGE"));
    tap_ok(!env_get(env, "ACCELERATE_DYNAMO_BACKEND"));
    tap_eq_str(env_get(env, "ACCELERATE_CONFIG_DS_FIELDS"),
               "zero_stage,zero3_init_flag,mixed_precision");
    tap_eq_str(env_get(env, "PYTHONPATH"), "/mine:/work");
    release(&reading);
}

static const char *path_for(const char *const *envp)
{
    static struct strvec texts;

    return accelerate_default_path(envp, &texts);
}

TEST(where_it_is_looked_for)
{
    const char *const all[] = {"HF_HOME=/hf", "XDG_CACHE_HOME=/xdg", "HOME=/root", NULL};
    const char *const tilde[] = {"HF_HOME=~/hf", "HOME=/root", NULL};

    tap_eq_str(path_for(all), "/hf/accelerate/default_config.yaml");
    tap_eq_str(path_for(all + 1), "/xdg/huggingface/accelerate/default_config.yaml");
    tap_eq_str(path_for(all + 2), "/root/.cache/huggingface/accelerate/default_config.yaml");
    tap_ok(!path_for(all + 3));
    tap_eq_str(path_for(tilde), "/root/hf/accelerate/default_config.yaml");
}

TEST(who_wins)
{
    static const char text[] = "distributed_type: MULTI_CPU\nnum_machines: 2\nmachine_rank: 1\n"
                               "main_process_ip: m\nnum_processes: 4\n";
    const struct accelerate_source source = {.document = {text, sizeof(text) - 1, "x.yaml"},
                                             .envp = strvec_texts(&(struct strvec)STRVEC_INIT)};
    const struct setting flag = {SOURCE_FLAG, "4", "--nnodes"};
    struct reading reading = {.err = ERR_INIT};

    settings_init(&reading.settings);
    settings_offer(&reading.settings, OPT_NNODES, &flag, &reading.err);
    tap_eq_int(accelerate_read(&source, &reading.settings, &reading.accelerate, &reading.err), 0);
    /* The total is divided by the machines that there are. */
    tap_eq_str(settings_text(&reading.settings, OPT_NNODES), "4");
    tap_eq_str(settings_text(&reading.settings, OPT_NPROC_PER_NODE), "1");
    tap_eq_str(reading.settings.rows[OPT_NODE_RANK].origin, "x.yaml:3: machine_rank");
    release(&reading);
}

TAP_MAIN()
