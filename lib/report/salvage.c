#include "report/salvage.h"

#include <stdbool.h>
#include <string.h>

/* What is open, and the last place where everything before it is whole. */
struct state {
    char closers[SALVAGE_DEPTH_MAX];
    int depth;
    size_t whole;
    bool in_string;
};

/* False where the text cannot be followed any more. */
static bool take(struct state *state, char c, size_t at)
{
    switch (c) {
    case '"': state->in_string = true; return true;
    case '{':
    case '[':
        if (state->depth == SALVAGE_DEPTH_MAX)
            return false;
        state->closers[state->depth++] = c == '{' ? '}' : ']';
        state->whole = at + 1;
        return true;
    case '}':
    case ']':
        if (state->depth == 0 || state->closers[state->depth - 1] != c)
            return false;
        state->depth--;
        state->whole = at + 1;
        return state->depth > 0;
    case ',': state->whole = at; return true;
    default: return true;
    }
}

size_t salvage_cut(const char *text, size_t len, char *out)
{
    struct state state = {.depth = 0};

    for (size_t i = 0; i < len; i++) {
        if (!state.in_string) {
            if (!take(&state, text[i], i))
                break;
        } else if (text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            state.in_string = false;
        }
    }
    if (state.whole == 0)
        return 0;
    memcpy(out, text, state.whole);
    while (state.depth > 0)
        out[state.whole++] = state.closers[--state.depth];
    return state.whole;
}
