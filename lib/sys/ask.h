/*
 * What is asked of rankinit instead of a run: --status and --probe, of the
 * rankinit that runs in this container, and --install. Layer: sys.
 *
 * That rankinit is found under /proc: it must run our own file, and the page
 * that it publishes (sys/status.h) must name it by the pid that we see. PID 1 is
 * preferred, then one that is not below another.
 */
#ifndef RANKINIT_SYS_ASK_H
#define RANKINIT_SYS_ASK_H

#include "base/err.h"
#include "model/settings.h"

/*
 * Answers on stdout. `words` is what follows the options: at most the pid that is asked. Returns
 * the exit code: 0, or 1 for a probe that is not fulfilled and for a rankinit that is not found
 * (one line says so). -1: ERR_USAGE, or see install_self.
 */
int ask_answer(const struct settings *settings, const char *const *words, struct err *err);

#endif
