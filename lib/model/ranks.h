/*
 * Lists of ranks as people and documents have them: "0-3,5". Layer: model.
 */
#ifndef RANKINIT_MODEL_RANKS_H
#define RANKINIT_MODEL_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Which of the ranks first ... first + count - 1 belong together: those of the same mark. */
struct ranks {
    const unsigned char *marks; /* [count] */
    int count;
    int first;
};

/*
 * Appends the ranks with that mark; what is longer than `limit` bytes ends with ",...". False if it
 * was cut.
 */
bool ranks_add(const struct ranks *ranks, unsigned char mark, size_t limit, struct buf *out);

#endif
