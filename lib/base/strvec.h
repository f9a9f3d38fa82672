/*
 * A NULL-terminated list of texts that it owns: argument lists, environments.
 * Used while setting up only (it allocates; running out of memory there ends
 * the program with exit code 71 before anything has started). Layer: base.
 *
 *     CLEANUP(strvec_release) struct strvec args = STRVEC_INIT;
 *     strvec_push(&args, "python");
 *     execv(path, args.items);
 */
#ifndef RANKINIT_BASE_STRVEC_H
#define RANKINIT_BASE_STRVEC_H

#include <stdbool.h>
#include <stddef.h>

struct strvec {
    char **items; /* never NULL after the first push, always NULL-terminated */
    size_t count;
    size_t capacity;
};

#define STRVEC_INIT                              \
    {                                            \
        .items = NULL, .count = 0, .capacity = 0 \
    }

/* Frees the list and its texts; it is empty afterwards and can be used again. */
void strvec_release(struct strvec *vec);

/* Appends a copy of text; returns the copy, which lives as long as the list. */
const char *strvec_push(struct strvec *vec, const char *text);

/* Appends a formatted text; returns it, as above. */
const char *strvec_pushf(struct strvec *vec, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends copies of the texts of a NULL-terminated list (NULL: none). */
void strvec_push_all(struct strvec *vec, const char *const *texts);

/* The list as constant texts; never NULL. */
const char *const *strvec_texts(const struct strvec *vec);

/* The value of NAME in a NULL-terminated environment "NAME=value"; NULL if absent. */
const char *env_get(const char *const *envp, const char *name);

/* Sets NAME=value in an environment list: replaces the first, drops further ones, else appends. */
void env_set(struct strvec *env, const char *name, const char *value);

/* env_set with a formatted value. */
void env_setf(struct strvec *env, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Removes every NAME=... from an environment list. */
void env_unset(struct strvec *env, const char *name);

#endif
