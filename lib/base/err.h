/*
 * Errors as values: a fixed-size record owned by the caller, so that failing
 * never allocates and never needs a release. Layer: base.
 *
 * Convention for the whole project: a function that can fail takes
 * `struct err *err` as its last parameter (never NULL), returns 0 (or a
 * non-negative value) and leaves *err untouched on success, and returns -1
 * with *err filled on failure. Only cmd/ prints errors and exits.
 *
 *     if (limit < 0)
 *         return err_set(err, ERR_SPEC, "limits.%s: %ld is negative", key, limit);
 *     fd = open(path, O_RDONLY | O_CLOEXEC);
 *     if (fd < 0)
 *         return err_set_errno(err, ERR_SYSTEM, errno, "cannot open %s", path);
 */
#ifndef RANKINIT_BASE_ERR_H
#define RANKINIT_BASE_ERR_H

#define ERR_MESSAGE_MAX 512

/* What went wrong, by who can mend it; base/exitcode.h has code and word of each. */
enum err_kind {
    ERR_NONE,
    ERR_USAGE,       /* the command line */
    ERR_SPEC,        /* spec, environment or request: bad, contradictory, impossible */
    ERR_DEVICES,     /* devices are missing on this machine */
    ERR_DEVICE_LOST, /* a device that was here has gone */
    ERR_MASTER,      /* the master cannot be found or reached */
    ERR_PORT,        /* the rendezvous port is taken */
    ERR_HUNG,        /* the ranks hang */
    ERR_TIMEOUT,     /* the time limit is over */
    ERR_SYSTEM,      /* the kernel refused: fork, memory, descriptors */
    ERR_INTERNAL,    /* a fault of rankinit itself */
    ERR_NOT_EXECUTABLE,
    ERR_NOT_FOUND,
    ERR__COUNT
};

struct err {
    enum err_kind kind;
    int errnum; /* errno behind it, 0 if none */
    char message[ERR_MESSAGE_MAX];
};

#define ERR_INIT         \
    {                    \
        .kind = ERR_NONE \
    }

/* Fills *err with kind and the formatted message (cut to fit); returns -1. */
int err_set(struct err *err, enum err_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with ": " and the text of errnum appended; returns -1. */
int err_set_errno(struct err *err, enum err_kind kind, int errnum, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts the formatted context and ": " in front of the message that is there; returns -1. */
int err_wrap(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
