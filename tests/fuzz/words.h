/*
 * words.h - what fuzz targets share: bytes made into words, and a machine to plan for.
 *
 * Layer: tests only. A word ends with a newline; an empty one separates two lists. Words hold no
 * NUL, as those of a command line cannot.
 */
#ifndef TESTS_FUZZ_WORDS_H
#define TESTS_FUZZ_WORDS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model/options.h"
#include "model/plan.h"
#include "model/rankenv.h"

#define WORDS_UNUSED __attribute__((unused))
#define WORDS_MAX    200
#define RANKS_MAX    64 /* of plans whose environments are built: 4096 would only be slow */

/* Takes words off data, up to an empty one or the end, into words; returns what is left. */
WORDS_UNUSED static const uint8_t *words_take(const uint8_t *data, size_t *size,
                                              struct strvec *words)
{
    while (*size > 0 && words->count < WORDS_MAX) {
        const uint8_t *newline = memchr(data, '\n', *size);
        size_t len = newline ? (size_t)(newline - data) : *size;
        size_t step = newline ? len + 1 : len;

        if (len > 0)
            strvec_pushf(words, "%.*s", (int)len, (const char *)data);
        data += step;
        *size -= step;
        if (len == 0)
            break;
    }
    return data;
}

/* A machine with four GPUs, of which one may not be opened. */
WORDS_UNUSED static void words_machine(struct facts *facts)
{
    memset(facts, 0, sizeof(*facts));
    facts->pid = 1;
    facts->is_init = true;
    facts->python = "python";
    facts->cpus_allowed = 8;
    facts->cpu_quota_us = facts->shm_bytes = facts->memory_limit_bytes = -1;
    facts->pids_room = facts->memlock_bytes = -1;
    facts->ephemeral_port_min = 32768;
    facts->ephemeral_port_max = 60999;
    facts->scratch_dir = "/tmp";
    facts->nvidia_driver = true;
    facts->device_count = 4;
    snprintf(facts->hostname, sizeof(facts->hostname), "job-3");
    for (int i = 0; i < 4; i++) {
        facts->devices[i] = (struct facts_device){
            .minor = i, .accessible = i != 3, .numa_node = -1};
        snprintf(facts->devices[i].uuid, sizeof(facts->devices[i].uuid), "GPU-%d8f1c", i);
    }
    cpuset_read(&facts->cpus, "0-7");
}

/* Resolves the plan, and builds what each rank would get. */
WORDS_UNUSED static void words_plan(const struct plan_inputs *inputs)
{
    struct err err = ERR_INIT;
    struct plan plan;

    memset(&plan, 0, sizeof(plan));
    if (plan_resolve(inputs, &plan, &err) == 0) {
        for (int i = 0; i < plan.job.nproc && i < RANKS_MAX; i++) {
            const struct rankenv_late late = {.master_port = plan.job.master_port};
            struct strvec argv = STRVEC_INIT, env = STRVEC_INIT;

            rankenv_argv(&plan, i, &argv);
            rankenv_build(&plan, i, &late, &env);
            strvec_release(&argv);
            strvec_release(&env);
        }
    } else if (err.kind == ERR_NONE || err.kind == ERR_INTERNAL || err.message[0] == '\0') {
        __builtin_trap(); /* a refusal says what and why */
    }
    plan_release(&plan);
}

/* Everything from the command line `argv` and the environment on. */
WORDS_UNUSED static void words_run(const struct strvec *argv, const struct strvec *envp,
                                   const char *spec, size_t spec_len)
{
    static struct facts facts;
    struct settings settings;
    struct spec read = {.command = STRVEC_INIT};
    struct strvec notices = STRVEC_INIT;
    const char *const *program = NULL;
    struct err err = ERR_INIT;

    words_machine(&facts);
    settings_init(&settings);
    if (options_parse(strvec_texts(argv), &settings, &program, &err) == OPTIONS_RUN &&
        settings_read_twins(&settings, strvec_texts(envp), &notices, &err) == 0 &&
        (!spec ||
         spec_read(&(struct spec_source){spec, spec_len, "spec"}, &settings, &read, &err) == 0)) {
        const struct plan_inputs inputs = {.argv0 = argv->items[0],
                                           .program = program,
                                           .envp = strvec_texts(envp),
                                           .settings = &settings,
                                           .spec = &read,
                                           .facts = &facts};

        words_plan(&inputs);
    }
    strvec_release(&notices);
    spec_release(&read);
    settings_release(&settings);
}

#endif
