#include "base/strvec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"

/* There is no memory to say more with, and nothing has been started that would need an end. */
static _Noreturn void out_of_memory(void)
{
    static const char line[] = "rankinit: out of memory\n";

    if (write(2, line, sizeof(line) - 1) < 0)
        _exit(exitcode_of_kind(ERR_SYSTEM));
    _exit(exitcode_of_kind(ERR_SYSTEM));
}

static char *format_text(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* The formatted text in memory of its own. */
static char *format_text(const char *format, va_list args)
{
    va_list again;
    char *text;
    int size;

    va_copy(again, args);
    size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    text = size < 0 ? NULL : malloc((size_t)size + 1);
    if (!text)
        out_of_memory();
    vsnprintf(text, (size_t)size + 1, format, args);
    return text;
}

static char *copy_text(const char *text)
{
    char *copy = strdup(text);

    if (!copy)
        out_of_memory();
    return copy;
}

/* Appends text, which the list owns from now on. */
static const char *take(struct strvec *vec, char *text)
{
    if (vec->capacity < vec->count + 2) {
        size_t capacity = vec->capacity > 0 ? vec->capacity * 2 : 8;
        char **items = reallocarray(vec->items, capacity, sizeof(*items));

        if (!items)
            out_of_memory();
        vec->items = items;
        vec->capacity = capacity;
    }
    vec->items[vec->count++] = text;
    vec->items[vec->count] = NULL;
    return text;
}

void strvec_release(struct strvec *vec)
{
    for (size_t i = 0; i < vec->count; i++)
        free(vec->items[i]);
    free(vec->items);
    *vec = (struct strvec)STRVEC_INIT;
}

const char *strvec_push(struct strvec *vec, const char *text)
{
    return take(vec, copy_text(text));
}

const char *strvec_pushf(struct strvec *vec, const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = format_text(format, args);
    va_end(args);
    return take(vec, text);
}

void strvec_push_all(struct strvec *vec, const char *const *texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        strvec_push(vec, texts[i]);
}

const char *const *strvec_texts(const struct strvec *vec)
{
    static const char *const none[] = {NULL};

    return vec->items ? (const char *const *)vec->items : none;
}

/* The value if entry is "NAME=value" with this name, else NULL. */
static const char *value_of(const char *entry, const char *name)
{
    size_t len = strlen(name);

    if (strncmp(entry, name, len) != 0 || entry[len] != '=')
        return NULL;
    return entry + len + 1;
}

const char *env_get(const char *const *envp, const char *name)
{
    for (size_t i = 0; envp && envp[i]; i++) {
        const char *value = value_of(envp[i], name);

        if (value)
            return value;
    }
    return NULL;
}

/* Frees the entries of this name; puts `first`, unless NULL, in the place of the first. */
static void replace(struct strvec *env, const char *name, char *first)
{
    size_t kept = 0;

    for (size_t i = 0; i < env->count; i++) {
        char *entry = env->items[i];

        if (value_of(entry, name)) {
            free(entry);
            entry = first;
            first = NULL;
        }
        if (entry)
            env->items[kept++] = entry;
    }
    env->count = kept;
    if (env->items)
        env->items[kept] = NULL;
    if (first)
        take(env, first);
}

static char *join(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *join(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = format_text(format, args);
    va_end(args);
    return text;
}

void env_set(struct strvec *env, const char *name, const char *value)
{
    replace(env, name, join("%s=%s", name, value));
}

void env_setf(struct strvec *env, const char *name, const char *format, ...)
{
    va_list args;
    char *value;

    va_start(args, format);
    value = format_text(format, args);
    va_end(args);
    env_set(env, name, value);
    free(value);
}

void env_unset(struct strvec *env, const char *name)
{
    replace(env, name, NULL);
}
