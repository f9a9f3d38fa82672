#include "model/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/scan.h"
#include "base/signame.h"
#include "model/option_values.h"

#define TWIN_PREFIX  "RANKINIT_"
#define OWN_PREFIX   "RANKINIT_THIS_" /* what we tell ranks; no setting of ours */
#define SERVICE_LINK "tcp://"         /* what Kubernetes injects for a Service called rankinit */
#define VALUE_SHOWN  80               /* bytes of a value that a message repeats */

void settings_init(struct settings *settings)
{
    *settings = (struct settings){.texts = STRVEC_INIT};
    for (int id = 0; id < OPT__COUNT; id++) {
        if (!option_rows[id].dflt)
            continue;
        settings->rows[id] = (struct setting){
            .source = SOURCE_DEFAULT, .text = option_rows[id].dflt, .origin = "default"};
    }
}

void settings_release(struct settings *settings)
{
    strvec_release(&settings->texts);
    *settings = (struct settings){.texts = STRVEC_INIT};
}

static enum err_kind kind_of(const struct setting *offer)
{
    return offer->source == SOURCE_FLAG ? ERR_USAGE : ERR_SPEC;
}

/* Refuses what cannot be done, unless the text only states what holds anyway. */
static int check_status(const struct option_row *row, const struct setting *offer, struct err *err)
{
    if (row->refused_words && scan_word(offer->text, row->refused_words) >= 0)
        return err_set(err, kind_of(offer), "%s: %.80s: %s", offer->origin, offer->text, row->note);
    if (row->status != OPTION_REFUSED || option_value_same(row, offer->text, row->dflt))
        return 0;
    return err_set(err, kind_of(offer), "%s: cannot work here: %s", offer->origin, row->note);
}

static int check_value(const struct option_row *row, const struct setting *offer, struct err *err)
{
    const char *text = offer->text;
    char room[256];
    struct buf wanted = BUF_OVER(room);
    bool number = row->type == OPTION_FLAG && offer->source == SOURCE_SPEC && strlen(text) == 1;

    if (!number && option_value_ok(row, text))
        return 0;
    if (row->type == OPTION_NNODES && option_value_nnodes(text) < 0)
        return err_set(err, kind_of(offer),
                       "%s: %.80s is a range: a running job is not resized, state --nnodes N",
                       offer->origin, text);
    if (text[0] == '\0')
        return err_set(err, kind_of(offer), "%s: the value is empty", offer->origin);
    option_value_wanted(row, &wanted);
    return err_set(err, kind_of(offer), "%s: \"%.*s\" is not %s", offer->origin, VALUE_SHOWN, text,
                   wanted.data);
}

/* Files that many pods share: a pod's platform knows better which node it is. */
static bool is_shared_file(enum setting_source source)
{
    return source == SOURCE_SPEC || source == SOURCE_ACCELERATE;
}

/* True if an identity comes from the platform here and from a shared file there. */
static bool meets_platform(enum setting_source here, enum setting_source there)
{
    return here == SOURCE_PLATFORM && is_shared_file(there);
}

static bool is_repeatable(const struct option_row *row)
{
    switch (row->type) {
    case OPTION_REWRITE:
    case OPTION_CODES:
    case OPTION_CODE_MAP:
    case OPTION_NAMES:
    case OPTION_RLIMITS: return true;
    default: return false;
    }
}

static void take(struct settings *settings, enum option_id id, const struct setting *offer)
{
    struct setting *now = &settings->rows[id];
    bool append = is_repeatable(&option_rows[id]) && now->text && now->source == offer->source;

    *now = (struct setting){
        .source = offer->source,
        .text = append ? strvec_pushf(&settings->texts, "%s,%s", now->text, offer->text)
                       : strvec_push(&settings->texts, offer->text),
        .origin = strvec_push(&settings->texts, offer->origin),
    };
}

/* Weighs a checked offer against what is there. */
static int weigh(struct settings *settings, enum option_id id, const struct setting *offer,
                 struct err *err)
{
    const struct option_row *row = &option_rows[id];
    const struct setting *now = &settings->rows[id];
    bool beats = row->identity && meets_platform(offer->source, now->source);
    bool beaten = row->identity && meets_platform(now->source, offer->source);

    if ((beats || beaten) && !option_value_same(row, now->text, offer->text))
        return err_set(err, ERR_SPEC, "%s says %.80s but %s says %.80s: state it in one place",
                       offer->origin, offer->text, now->origin, now->text);
    if (!beaten && (beats || offer->source >= now->source))
        take(settings, id, offer);
    return 0;
}

int settings_offer(struct settings *settings, enum option_id id, const struct setting *offer,
                   struct err *err)
{
    const struct option_row *row = &option_rows[id];

    if (check_status(row, offer, err) < 0 || check_value(row, offer, err) < 0)
        return -1;
    if (row->auto_unset && strcmp(offer->text, "auto") == 0)
        return 0;
    return weigh(settings, id, offer, err);
}

/* An image may carry its version as RANKINIT_VERSION; asking is for people. */
bool settings_has_twin(enum option_id id)
{
    return !option_rows[id].spec_only && id != OPT_VERSION && id != OPT_HELP;
}

/* Row of a twin's name without its prefix; -1 if there is none. */
static int find_twin(const char *name, size_t len)
{
    for (int id = 0; id < OPT__COUNT; id++) {
        char room[64];

        options_twin((enum option_id)id, "", room);
        if (settings_has_twin((enum option_id)id) && strlen(room) == len &&
            memcmp(room, name, len) == 0)
            return id;
    }
    return -1;
}

/* Puts it on the notices that a RANKINIT_ name (without the prefix) means nothing. */
static void note_unknown(const char *name, size_t len, struct strvec *notices)
{
    int id = options_nearest(name, len);
    char room[64];

    if (id < 0 || !settings_has_twin((enum option_id)id))
        strvec_pushf(notices, TWIN_PREFIX "%.*s is no setting: ignored", (int)len, name);
    else
        strvec_pushf(notices, TWIN_PREFIX "%.*s is no setting: ignored; did you mean %s?", (int)len,
                     name, options_twin((enum option_id)id, TWIN_PREFIX, room));
}

static int read_twin(struct settings *settings, const char *entry, struct strvec *notices,
                     struct err *err)
{
    const char *name = entry + strlen(TWIN_PREFIX);
    size_t len = strcspn(name, "=");
    const char *value = name + len + 1;
    char origin[64];
    int id;

    if (name[len] != '=' || strncmp(entry, OWN_PREFIX, strlen(OWN_PREFIX)) == 0)
        return 0;
    if (strncmp(value, SERVICE_LINK, strlen(SERVICE_LINK)) == 0) {
        strvec_pushf(notices, "%.*s is a link to a Kubernetes Service: ignored",
                     (int)(value - 1 - entry), entry);
        return 0;
    }
    id = find_twin(name, len);
    if (id < 0) {
        note_unknown(name, len, notices);
        return 0;
    }
    options_twin((enum option_id)id, TWIN_PREFIX, origin);
    if (value[0] == '\0') {
        strvec_pushf(notices, "%s is empty: ignored", origin);
        return 0;
    }
    return settings_offer(settings, (enum option_id)id,
                          &(struct setting){SOURCE_TWIN, value, origin}, err);
}

/* tini counts its fatal errors as 0 and its warnings as 1, where our -q and our default are. */
static int read_tini_verbosity(struct settings *settings, const char *value, struct strvec *notices,
                               struct err *err)
{
    static const char name[] = "TINI_VERBOSITY";
    char count[24];
    long level;

    if (!scan_int(value, 0, 100, &level)) {
        strvec_pushf(notices, "%s is no number from 0 to 100: ignored", name);
        return 0;
    }
    if (level == 0)
        return settings_offer(settings, OPT_QUIET, &(struct setting){SOURCE_TWIN, "true", name},
                              err);
    snprintf(count, sizeof(count), "%ld", level - 1);
    return settings_offer(settings, OPT_VERBOSE, &(struct setting){SOURCE_TWIN, count, name}, err);
}

/* For tini the mere presence of its two switches counts, whatever their value. */
static int read_tini(struct settings *settings, const char *const *envp, struct strvec *notices,
                     struct err *err)
{
    static const struct {
        const char *name;
        enum option_id id;
    } switches[] = {
        {"TINI_SUBREAPER", OPT_SUBREAPER},
        {"TINI_KILL_PROCESS_GROUP", OPT_KILL_GROUP},
    };
    const char *verbosity = env_get(envp, "TINI_VERBOSITY");

    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        if (env_get(envp, switches[i].name) &&
            settings_offer(settings, switches[i].id,
                           &(struct setting){SOURCE_TWIN, "true", switches[i].name}, err) < 0)
            return -1;
    }
    return verbosity ? read_tini_verbosity(settings, verbosity, notices, err) : 0;
}

int settings_read_twins(struct settings *settings, const char *const *envp, struct strvec *notices,
                        struct err *err)
{
    /* Of two twins the later one is taken: our own names beat tini's. */
    if (read_tini(settings, envp, notices, err) < 0)
        return -1;
    for (size_t i = 0; envp[i]; i++) {
        if (strncmp(envp[i], TWIN_PREFIX, strlen(TWIN_PREFIX)) == 0 &&
            read_twin(settings, envp[i], notices, err) < 0)
            return -1;
    }
    return 0;
}

bool settings_stated(const struct settings *settings, enum option_id id)
{
    return settings->rows[id].source > SOURCE_DEFAULT;
}

bool settings_state_shape(const struct settings *settings)
{
    for (int id = 0; id < OPT__COUNT; id++) {
        if (!option_rows[id].shape || settings->rows[id].source < SOURCE_ACCELERATE)
            continue;
        if (option_rows[id].type != OPTION_FLAG || settings_flag(settings, (enum option_id)id))
            return true;
    }
    return false;
}

const char *settings_source_word(enum setting_source source)
{
    static const char *const words[] = {
        [SOURCE_NONE] = "unset",
        [SOURCE_DEFAULT] = "default",
        [SOURCE_DISCOVERY] = "discovery",
        [SOURCE_PLATFORM] = "platform",
        [SOURCE_ACCELERATE] = "accelerate",
        [SOURCE_SPEC] = "spec",
        [SOURCE_TWIN] = "twin",
        [SOURCE_FLAG] = "flag",
    };

    return words[source];
}

const char *settings_text(const struct settings *settings, enum option_id id)
{
    return settings->rows[id].text;
}

long settings_int(const struct settings *settings, enum option_id id)
{
    const char *text = settings->rows[id].text;
    uint64_t bytes;
    long number;

    if (!text)
        return 0;
    switch (option_rows[id].type) {
    case OPTION_NNODES: return option_value_nnodes(text);
    case OPTION_SIGNAL: return signame_number(text);
    case OPTION_SIZE: return scan_size(text, &bytes) && bytes <= INT64_MAX ? (long)bytes : 0;
    default: return scan_int(text, INT32_MIN, INT32_MAX, &number) ? number : 0;
    }
}

int64_t settings_ns(const struct settings *settings, enum option_id id)
{
    const char *text = settings->rows[id].text;
    int64_t ns;

    return text && scan_duration(text, &ns) ? ns : 0;
}

uint64_t settings_size(const struct settings *settings, enum option_id id)
{
    const char *text = settings->rows[id].text;
    uint64_t bytes;

    return text && scan_size(text, &bytes) ? bytes : 0;
}

int settings_word(const struct settings *settings, enum option_id id)
{
    const char *text = settings->rows[id].text;
    const char *words = option_rows[id].words;

    return text && words ? scan_word(text, words) : -1;
}

bool settings_flag(const struct settings *settings, enum option_id id)
{
    const char *text = settings->rows[id].text;
    bool flag = false;

    return text && scan_bool(text, &flag) && flag;
}
