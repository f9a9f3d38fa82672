/*
 * What differs from one attempt to the next: folders, error files, the port, and
 * what the ranks' environments say of them. An attempt after the first begins
 * when ranks have run already: it needs no memory, only room that was reserved
 * in the environments. A part of prepare, which see. Layer: sys.
 *
 *     <run_dir>/attempt_<N>/<local rank>/error.json, ready      (torchrun's layout)
 */
#ifndef RANKINIT_SYS_ATTEMPT_H
#define RANKINIT_SYS_ATTEMPT_H

#include "sys/prepare.h"

/*
 * Makes the folder of the whole run, if error files are wanted at all. ERR_SPEC: a --log-dir that
 * cannot be used; an unwritable scratch directory only means no error files.
 */
int attempt_make_run_dir(const struct plan *plan, struct prepared *prepared, struct err *err);

/*
 * Makes what this attempt needs, the port first: a chosen one anew, a stated one is probed. What the
 * last attempt had is closed, and removed unless it is to be kept. ERR_PORT, ERR_SYSTEM.
 */
int attempt_make(const struct plan *plan, struct prepared *prepared, int attempt, struct err *err);

/*
 * What an environment is to be built from: the values of the first attempt; or, where others may
 * follow, the longest that one can have. Texts are in rank or room.
 */
struct attempt_names {
    char error_path[PATH_MAX], ready_path[PATH_MAX];
};
struct rankenv_late attempt_late(const struct plan *plan, const struct prepared *prepared,
                                 int local_rank, struct attempt_names *room);

/* Finds in the rank's environment, built so, the places of these values. */
void attempt_find_slots(const struct plan *plan, struct prepared_rank *rank);

/* Writes the values of this attempt there; nothing where no other can follow. */
void attempt_fill_slots(const struct prepared *prepared, int attempt);

/* Removes what was made, unless it is to be kept. Never follows a link out of it. */
void attempt_clean(struct prepared *prepared);

#endif
