/*
 * Settings: for each option the text that won, and where it came from. Sources
 * may be read in any order; the precedence (DESIGN 2) is the order of
 * `enum setting_source` and is applied in one place, settings_offer. Layer: model.
 *
 *     flag > RANKINIT_* > spec > Accelerate file > platform > discovery > default
 *
 * One exception: *identity* (rows marked so) from the platform beats files that
 * many pods share, and a file that states another identity is ERR_SPEC.
 */
#ifndef RANKINIT_MODEL_SETTINGS_H
#define RANKINIT_MODEL_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strvec.h"
#include "model/options.h"

enum setting_source {
    SOURCE_NONE,
    SOURCE_DEFAULT,
    SOURCE_DISCOVERY,
    SOURCE_PLATFORM, /* PET_* and the platform's own variables */
    SOURCE_ACCELERATE,
    SOURCE_SPEC,
    SOURCE_TWIN, /* RANKINIT_* */
    SOURCE_FLAG
};

struct setting {
    enum setting_source source;
    const char *text;   /* as stated and checked; NULL if unset */
    const char *origin; /* "--grace", "PET_NNODES", "spec job.nnodes", "default" */
};

struct settings {
    struct setting rows[OPT__COUNT];
    struct strvec texts; /* owns what rows point to */
};

/* Starts with every default of the table. */
void settings_init(struct settings *settings);

/* Frees what settings own. */
void settings_release(struct settings *settings);

/*
 * Offers a text for a setting; the offer's texts are copied. It is checked by the row's type whoever wins; it is taken if its
 * source is at least as strong as the present one (a repeatable row of the same source appends).
 * ERR_USAGE (flags) or ERR_SPEC (others) naming the origin: bad value, refused, or an identity that contradicts the platform's.
 */
int settings_offer(struct settings *settings, enum option_id id, const struct setting *offer,
                   struct err *err);

/*
 * Reads every RANKINIT_* twin and tini's own variables (TINI_SUBREAPER, TINI_KILL_PROCESS_GROUP,
 * TINI_VERBOSITY) of the environment. Unknown RANKINIT_* names, empty values and tcp:// service
 * links are put on `notices`, one text each; they are no error. RANKINIT_THIS_* are ours, skipped.
 */
int settings_read_twins(struct settings *settings, const char *const *envp, struct strvec *notices,
                        struct err *err);

/* True if something stronger than the default stated it. */
bool settings_stated(const struct settings *settings, enum option_id id);

/* True if any row that asks for fan-out was stated by flag, twin, spec or Accelerate file. */
bool settings_state_shape(const struct settings *settings);

/* True for a row that has a RANKINIT_* twin; --help and --version have none. */
bool settings_has_twin(enum option_id id);

/* "flag", "twin", "spec", ...; "unset" for none. */
const char *settings_source_word(enum setting_source source);

/* Readers; the text was checked before, so they cannot fail. Unset: NULL, 0, -1 (word), false. */
const char *settings_text(const struct settings *settings, enum option_id id);
long settings_int(const struct settings *settings, enum option_id id);
int64_t settings_ns(const struct settings *settings, enum option_id id);
uint64_t settings_size(const struct settings *settings, enum option_id id);
int settings_word(const struct settings *settings, enum option_id id);
bool settings_flag(const struct settings *settings, enum option_id id);

#endif
