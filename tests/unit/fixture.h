/*
 * fixture.h - a made-up machine, environment and command line, and the plan that follows.
 *
 * Layer: tests only. Recipe:
 *
 *     struct fixture f = fixture_new();
 *     fixture_gpus(&f, 4);
 *     tap_eq_int(fixture_plan(&f, "PET_NNODES=2 PET_NODE_RANK=1", "--master-addr m train.py"), 0);
 *     tap_eq_int(f.plan.job.first_rank, 4);
 *     fixture_free(&f);
 *
 * Words are separated by single blanks; "''" is an empty word.
 */
#ifndef TESTS_UNIT_FIXTURE_H
#define TESTS_UNIT_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "base/exitcode.h"
#include "model/options.h"
#include "model/plan.h"
#include "model/platform.h"
#include "tap.h"

struct fixture {
    const char *argv0;
    struct facts facts;
    struct settings settings;
    struct spec spec;
    struct strvec env, words;
    struct plan plan;
    struct err err;
};

TAP_UNUSED static struct fixture fixture_new(void)
{
    struct fixture f = {.argv0 = "rankinit", .err = ERR_INIT};

    f.facts = (struct facts){.pid = 1,
                             .is_init = true,
                             .hostname = "host",
                             .stdin_open = true,
                             .python = "python",
                             .cpus_allowed = 8,
                             .cpu_quota_us = -1,
                             .shm_bytes = -1,
                             .memory_limit_bytes = -1,
                             .ephemeral_port_min = 32768,
                             .ephemeral_port_max = 60999,
                             .scratch_dir = "/tmp"};
    settings_init(&f.settings);
    return f;
}

TAP_UNUSED static void fixture_free(struct fixture *f)
{
    plan_release(&f->plan);
    settings_release(&f->settings);
    spec_release(&f->spec);
    strvec_release(&f->env);
    strvec_release(&f->words);
}

/* Frees it and starts anew. */
TAP_UNUSED static void fixture_again(struct fixture *f)
{
    fixture_free(f);
    *f = fixture_new();
}

/* Gives the machine n accessible GPUs with UUIDs GPU-00.., GPU-01.., ... */
TAP_UNUSED static void fixture_gpus(struct fixture *f, int n)
{
    f->facts.device_count = n;
    f->facts.nvidia_driver = true;
    for (int i = 0; i < n; i++) {
        struct facts_device *device = &f->facts.devices[i];
        struct buf uuid = BUF_OVER(device->uuid), bus_id = BUF_OVER(device->bus_id);

        *device = (struct facts_device){.minor = i, .accessible = true, .numa_node = -1};
        buf_addf(&uuid, "GPU-%02d8f1c-aaaa", i);
        buf_addf(&bus_id, "0000:%02d:00.0", i);
    }
}

TAP_UNUSED static void fixture_split(const char *text, struct strvec *ret)
{
    while (*text != '\0') {
        size_t len = strcspn(text, " ");

        strvec_pushf(ret, "%.*s", len == 2 && memcmp(text, "''", 2) == 0 ? 0 : (int)len, text);
        text += len + (text[len] == ' ');
    }
}

/* States a setting as a spec would. */
TAP_UNUSED static int fixture_spec(struct fixture *f, enum option_id id, const char *text)
{
    char origin[128];

    snprintf(origin, sizeof(origin), "spec.yaml: %s", option_rows[id].spec_key);
    return settings_offer(&f->settings, id, &(struct setting){SOURCE_SPEC, text, origin}, &f->err);
}

/* Reads a whole spec, without its apiVersion. */
TAP_UNUSED static int fixture_yaml(struct fixture *f, const char *text)
{
    char room[4096];

    snprintf(room, sizeof(room), "apiVersion: rankinit/v1\n%s", text);
    return spec_read(&(struct spec_source){room, strlen(room), "spec.yaml"}, &f->settings, &f->spec,
                     &f->err);
}

/* Reads environment and command line and resolves the plan; -1 with f->err. */
TAP_UNUSED static int fixture_plan(struct fixture *f, const char *env, const char *line)
{
    const char *const *program = NULL;

    fixture_split(env, &f->env);
    strvec_push(&f->words, f->argv0);
    fixture_split(line, &f->words);
    if (options_parse(strvec_texts(&f->words), &f->settings, &program, &f->err) < 0 ||
        settings_read_twins(&f->settings, strvec_texts(&f->env), &f->plan.notices, &f->err) < 0)
        return -1;
    strvec_release(&f->plan.notices);
    const struct plan_inputs inputs = {.argv0 = f->argv0,
                                       .program = program,
                                       .envp = strvec_texts(&f->env),
                                       .settings = &f->settings,
                                       .spec = &f->spec,
                                       .facts = &f->facts};
    return plan_resolve(&inputs, &f->plan, &f->err);
}

/* The exit code that a whole run of these would end with before any rank starts; 0: a plan. */
TAP_UNUSED static int fixture_code(const char *env, const char *line, char message[ERR_MESSAGE_MAX])
{
    struct fixture f = fixture_new();
    int code = fixture_plan(&f, env, line) < 0 ? exitcode_of_kind(f.err.kind) : 0;

    memcpy(message, f.err.message, ERR_MESSAGE_MAX);
    fixture_free(&f);
    return code;
}

/* True if one of the notices has this part. */
TAP_UNUSED static bool fixture_noticed(const struct fixture *f, const char *part)
{
    for (size_t i = 0; i < f->plan.notices.count; i++) {
        if (strstr(f->plan.notices.items[i], part))
            return true;
    }
    return false;
}

/* The words of a list joined by blanks, in memory that the next call reuses. */
TAP_UNUSED static const char *fixture_join(const struct strvec *words)
{
    static char text[4096];
    struct buf out = BUF_OVER(text);

    for (size_t i = 0; i < words->count; i++)
        buf_addf(&out, i > 0 ? " %s" : "%s", words->items[i]);
    return text;
}

#endif
