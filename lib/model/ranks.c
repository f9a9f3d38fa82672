#include "model/ranks.h"

#include <stdio.h>

/* The last rank of the run of equal marks that starts at `start`. */
static int run_end(const struct ranks *ranks, int start)
{
    int end = start;

    while (end + 1 < ranks->count && ranks->marks[end + 1] == ranks->marks[start])
        end++;
    return end;
}

bool ranks_add(const struct ranks *ranks, unsigned char mark, size_t limit, struct buf *out)
{
    size_t start = out->len;

    for (int i = 0; i < ranks->count; i++) {
        char room[32];
        int end, size;

        if (ranks->marks[i] != mark)
            continue;
        end = run_end(ranks, i);
        size = i == end
                   ? snprintf(room, sizeof(room), "%d", ranks->first + i)
                   : snprintf(room, sizeof(room), "%d-%d", ranks->first + i, ranks->first + end);
        if (out->len - start + (size_t)size + 1 > limit && out->len > start) {
            buf_adds(out, ",...");
            return false;
        }
        buf_addf(out, "%s%s", out->len > start ? "," : "", room);
        i = end;
    }
    return true;
}
