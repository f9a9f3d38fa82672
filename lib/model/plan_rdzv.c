/*
 * What torchrun's command line says of a rendezvous of its own, which rankinit does not have: read, so
 * that a slip is found, and told to have no effect.
 */
#include <string.h>

#include "base/buf.h"
#include "base/scan.h"
#include "model/plan.h"
#include "model/plan_parts.h"

#define NAME_ROOM   64
#define VALUE_ROOM  256
#define SECONDS_MAX 31536000

enum conf_type { CONF_NUMBER, CONF_FLAG, CONF_STORE };

/* The keys of torch's c10d and static backends; each says why it has no effect here. */
static const struct conf_key {
    const char *name;
    enum conf_type type;
    const char *note;
} conf_keys[] = {
#define NO_MEETING \
    "there is no meeting of launchers: ranks wait for each other in init_process_group"
#define NO_STORE "rankinit hosts no store: rank 0 does"
    {"join_timeout", CONF_NUMBER, NO_MEETING},
    {"last_call_timeout", CONF_NUMBER, NO_MEETING},
    {"close_timeout", CONF_NUMBER, NO_MEETING},
    {"timeout", CONF_NUMBER, NO_MEETING},
    {"heartbeat", CONF_NUMBER, "launchers do not watch each other: the cluster's engine does"},
    {"keep_alive_interval", CONF_NUMBER, "launchers do not watch each other"},
    {"keep_alive_max_attempt", CONF_NUMBER, "launchers do not watch each other"},
    {"read_timeout", CONF_NUMBER, NO_STORE},
    {"store_type", CONF_STORE, NO_STORE},
    {"use_libuv", CONF_FLAG, NO_STORE},
    {"is_host", CONF_FLAG, "node 0 is the host"},
    {"rank", CONF_NUMBER, "as under torchrun, --node-rank says it"},
#undef NO_MEETING
#undef NO_STORE
};

#define CONF_KEYS (sizeof(conf_keys) / sizeof(conf_keys[0]))

/* KEY=VALUE,... while it is read. */
struct conf {
    const struct setting *setting;
    struct strvec *notices; /* NULL: none are wanted */
    struct err *err;
};

static int refuse(const struct conf *conf, const char *name, const char *what)
{
    return err_set(conf->err, conf->setting->source == SOURCE_FLAG ? ERR_USAGE : ERR_SPEC,
                   "%s: \"%.80s\" %s", conf->setting->origin, name, what);
}

static int refuse_unknown(const struct conf *conf, const char *name)
{
    const char *names[CONF_KEYS];
    const char *nearest;
    char room[128];
    struct buf what = BUF_OVER(room);

    for (size_t i = 0; i < CONF_KEYS; i++)
        names[i] = conf_keys[i].name;
    nearest = scan_nearest(name, names, CONF_KEYS);
    buf_adds(&what, "is no key of torch's c10d or static rendezvous");
    if (nearest)
        buf_addf(&what, "; did you mean %s?", nearest);
    return refuse(conf, name, room);
}

static int check_value(const struct conf *conf, const struct conf_key *key, const char *value)
{
    long number;

    switch (key->type) {
    case CONF_NUMBER:
        if (!scan_int(value, 0, SECONDS_MAX, &number))
            return refuse(conf, key->name, "needs a number");
        return 0;
    case CONF_FLAG:
        if (scan_word(value, "true|false|True|False|1|0|yes|no|on|off|t|f|y|n") < 0)
            return refuse(conf, key->name, "needs true or false");
        return 0;
    default:
        if (strcmp(value, "tcp") != 0)
            return refuse(conf, key->name,
                          "can only be tcp: ranks meet at an address, not in a file");
        return 0;
    }
}

static int read_key(const struct conf *conf, const char *name, const char *value)
{
    for (size_t i = 0; i < CONF_KEYS; i++) {
        if (strcmp(conf_keys[i].name, name) != 0)
            continue;
        if (check_value(conf, &conf_keys[i], value) < 0)
            return -1;
        if (conf->notices)
            strvec_pushf(conf->notices, "%s: %s=%s has no effect: %s", conf->setting->origin, name,
                         value, conf_keys[i].note);
        return 0;
    }
    return refuse_unknown(conf, name);
}

/* torchrun takes blanks around each part. */
static void trim(struct buf *out, const char *text, size_t len)
{
    while (len > 0 && *text == ' ')
        text++, len--;
    while (len > 0 && text[len - 1] == ' ')
        len--;
    buf_add(out, text, len);
}

static int read_conf(const struct conf *conf)
{
    const char *at = conf->setting->text;

    for (;; at++) {
        size_t len = strcspn(at, ",");
        size_t equals = strcspn(at, "=");
        char name[NAME_ROOM], value[VALUE_ROOM];
        struct buf key = BUF_OVER(name), text = BUF_OVER(value);

        trim(&key, at, equals < len ? equals : len);
        if (equals < len)
            trim(&text, at + equals + 1, len - equals - 1);
        if (key.len == 0 || text.len == 0)
            return refuse(conf, conf->setting->text, "is not KEY=VALUE,KEY=VALUE");
        if (read_key(conf, name, value) < 0)
            return -1;
        at += len;
        if (*at == '\0')
            return 0;
    }
}

int plan_check_rdzv(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct settings *settings = inputs->settings;
    const struct setting *addr = &settings->rows[OPT_LOCAL_ADDR];
    bool verbose = plan->log_level >= LOG_INFO;
    const struct conf conf = {.setting = &settings->rows[OPT_RDZV_CONF],
                              .notices = verbose ? &plan->notices : NULL,
                              .err = err};

    if (plan->mode == PLAN_INIT)
        return 0;
    if (addr->text && verbose && strcmp(addr->text, plan->job.master_addr) != 0)
        strvec_pushf(&plan->notices, "%s has no effect: the master's address is stated",
                     addr->origin);
    return conf.setting->text ? read_conf(&conf) : 0;
}
