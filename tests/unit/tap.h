/*
 * tap.h - a test program in three lines, printing TAP.
 *
 * Layer: tests only. Recipe:
 *
 *     #include "tap.h"
 *     TEST(numbers_are_strict)
 *     {
 *         tap_eq_int(scan_int("12x", &n), -1);
 *         tap_eq_str(err.msg, "not a number: 12x");
 *     }
 *     TAP_MAIN()
 *
 * Each TEST is one TAP line and runs in the order of the file. A check that fails prints where, and
 * both operands; the test goes on, so that one run shows all. TAP_MAIN ends non-zero if any failed.
 * A program given arguments runs only the tests so named.
 */
#ifndef TESTS_UNIT_TAP_H
#define TESTS_UNIT_TAP_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct tap_test {
    const char *name;
    void (*run)(void);
    struct tap_test *next;
};

static struct tap_test *tap_first, **tap_end = &tap_first;
static unsigned tap_bad; /* failed checks in the running test */

/* Defines a test. It registers itself before main; constructors of one file run in its order. */
#define TEST(id)                                                \
    static void test_##id(void);                                \
    __attribute__((constructor)) static void tap_add_##id(void) \
    {                                                           \
        static struct tap_test self = {#id, test_##id, NULL};   \
        *tap_end = &self;                                       \
        tap_end = &self.next;                                   \
    }                                                           \
    static void test_##id(void)

#define TAP_MAIN()                  \
    int main(int argc, char **argv) \
    {                               \
        return tap_run(argc, argv); \
    }

/* Checks. Each is true when it held, so that `if (!tap_ok(p)) return;` guards what needs it. */
#define tap_ok(cond)          tap_check((cond), __FILE__, __LINE__, #cond)
#define tap_eq_int(got, want) tap_int((intmax_t)(got), (intmax_t)(want), __FILE__, __LINE__, #got)
#define tap_eq_uint(got, want) \
    tap_uint((uintmax_t)(got), (uintmax_t)(want), __FILE__, __LINE__, #got)
#define tap_eq_str(got, want)      tap_str((got), (want), __FILE__, __LINE__, #got)
#define tap_has_str(got, part)     tap_has((got), (part), __FILE__, __LINE__, #got)
#define tap_eq_mem(got, want, len) tap_mem((got), (want), (len), __FILE__, __LINE__, #got)
/* Fails at once, with a text. */
#define tap_fail(text) tap_check(false, __FILE__, __LINE__, (text))

#define TAP_UNUSED __attribute__((unused))

TAP_UNUSED static bool tap_check(bool held, const char *file, int line, const char *what)
{
    if (!held) {
        tap_bad++;
        printf("# %s:%d: failed: %s\n", file, line, what);
    }
    return held;
}

TAP_UNUSED static bool tap_int(intmax_t got, intmax_t want, const char *file, int line,
                               const char *what)
{
    if (got == want)
        return true;
    tap_check(false, file, line, what);
    printf("#     got %" PRIdMAX "\n#    want %" PRIdMAX "\n", got, want);
    return false;
}

TAP_UNUSED static bool tap_uint(uintmax_t got, uintmax_t want, const char *file, int line,
                                const char *what)
{
    if (got == want)
        return true;
    tap_check(false, file, line, what);
    printf("#     got %" PRIuMAX "\n#    want %" PRIuMAX "\n", got, want);
    return false;
}

/* Prints bytes so that they stay on one TAP comment line. */
TAP_UNUSED static void tap_show(const char *label, const char *s, size_t len)
{
    printf("# %7s ", label);
    if (!s) {
        puts("(null)");
        return;
    }
    putchar('"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '\n')
            fputs("\\n", stdout);
        else if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
            printf("\\x%02x", c);
        else
            putchar(c);
    }
    puts("\"");
}

/* NULL equals only NULL. */
TAP_UNUSED static bool tap_str(const char *got, const char *want, const char *file, int line,
                               const char *what)
{
    if (got == want || (got && want && strcmp(got, want) == 0))
        return true;
    tap_check(false, file, line, what);
    tap_show("got", got, got ? strlen(got) : 0);
    tap_show("want", want, want ? strlen(want) : 0);
    return false;
}

TAP_UNUSED static bool tap_has(const char *got, const char *part, const char *file, int line,
                               const char *what)
{
    if (got && strstr(got, part))
        return true;
    tap_check(false, file, line, what);
    tap_show("got", got, got ? strlen(got) : 0);
    tap_show("without", part, strlen(part));
    return false;
}

TAP_UNUSED static bool tap_mem(const void *got, const void *want, size_t len, const char *file,
                               int line, const char *what)
{
    if (memcmp(got, want, len) == 0)
        return true;
    tap_check(false, file, line, what);
    tap_show("got", (const char *)got, len);
    tap_show("want", (const char *)want, len);
    return false;
}

static bool tap_chosen(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc < 2;
}

static int tap_run(int argc, char **argv)
{
    unsigned total = 0, failed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0); /* what a crash leaves behind is whole lines */
    for (const struct tap_test *t = tap_first; t; t = t->next) {
        if (!tap_chosen(t->name, argc, argv))
            continue;
        tap_bad = 0;
        t->run();
        failed += tap_bad != 0;
        printf("%s %u - %s\n", tap_bad ? "not ok" : "ok", ++total, t->name);
    }
    /* Last, so that a program that dies half way has no plan and counts as failed. */
    printf("1..%u\n", total);
    return failed != 0 || total == 0;
}

#endif
