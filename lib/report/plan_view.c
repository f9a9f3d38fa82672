#include "report/plan_view.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "report/plan_view_parts.h"
#include "report/view.h"

#define ROOM_FIRST (64u << 10)
#define ROOM_RANK  (16u << 10) /* what a rank takes, mostly its environment */
#define ROOM_LAST  (1u << 30)

/* One try with `size` bytes for the document and, for JSON, as many for its nodes. */
static bool render(const struct plan_view *view, enum plan_view_format format, size_t size,
                   struct buf *out)
{
    CLEANUP_FREE void *arena = NULL;

    if (format == PLAN_VIEW_TEXT) {
        view_text(view, out);
        return !out->truncated;
    }
    arena = malloc(size);
    return arena && view_json(view, arena, size, out) > 0;
}

char *plan_view_render(const struct plan_view *view, enum plan_view_format format, size_t *ret_len)
{
    size_t first = ROOM_FIRST + (size_t)view_rank_count(view) * ROOM_RANK;

    for (size_t size = first; size <= ROOM_LAST; size *= 2) {
        char *room = malloc(size);
        struct buf out;

        if (!room)
            return NULL;
        buf_init(&out, room, size);
        if (render(view, format, size, &out)) {
            *ret_len = out.len;
            return room;
        }
        free(room);
    }
    return NULL;
}
