/*
 * Secrets by their names: values of *TOKEN*, *SECRET*, *PASSWORD*, *KEY* and
 * their like (letter case ignored) are never shown, whichever document they
 * would stand in. It errs on the side of showing too little. Layer: base.
 *
 *     CLEANUP(strvec_release) struct strvec shown = STRVEC_INIT;
 *     secret_mask_words(argv, &shown);       "--hf-token=***", "API_KEY=***", ...
 */
#ifndef RANKINIT_BASE_SECRET_H
#define RANKINIT_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strvec.h"

#define SECRET_MASK "***"

/* True if name[len] is that of a secret. */
bool secret_named(const char *name, size_t len);

/*
 * Appends a copy of text to shown with the value of each secret as "***", and returns it:
 * NAME=VALUE to the end of text if it begins so, else to the end of the shell's word; "NAME": VALUE;
 * --NAME VALUE. Made for any text: an argument, "NAME=value", a value, a message, a script.
 */
const char *secret_mask(const char *text, struct strvec *shown);

/* The same for a NULL-terminated list of arguments, where --NAME hides the word after it too. */
void secret_mask_words(const char *const *words, struct strvec *shown);

#endif
