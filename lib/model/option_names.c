/*
 * Names of options: finding a row by what somebody wrote, and the names of environment variables.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/scan.h"
#include "model/options.h"

#define NAME_ROOM        65 /* longer texts are no slips of a name */
#define ABBREVIATION_MIN 3

static char dashed(char c)
{
    return c == '_' ? '-' : c;
}

static int find_row(const char *name, size_t len, bool spec_only)
{
    for (int id = 0; id < OPT__COUNT; id++) {
        const char *row_name = option_rows[id].name;
        size_t i = 0;

        while (i < len && row_name[i] != '\0' && row_name[i] == dashed(name[i]))
            i++;
        if (i == len && row_name[i] == '\0' && option_rows[id].spec_only == spec_only)
            return id;
    }
    return -1;
}

int options_find(const char *name, size_t len)
{
    return find_row(name, len, false);
}

int options_find_spec_only(const char *name, size_t len)
{
    return find_row(name, len, true);
}

/* The one row whose name begins so, as argparse would take it; -1 if there is none or a choice. */
static int abbreviated(const char *name, size_t len)
{
    int found = -1;

    for (int id = 0; id < OPT__COUNT; id++) {
        const char *row_name = option_rows[id].name;
        size_t i = 0;

        while (i < len && row_name[i] == tolower((unsigned char)dashed(name[i])))
            i++;
        if (i < len || option_rows[id].spec_only)
            continue;
        if (found >= 0)
            return -1;
        found = id;
    }
    return len >= ABBREVIATION_MIN ? found : -1;
}

int options_nearest(const char *name, size_t len)
{
    const char *names[OPT__COUNT];
    char text[NAME_ROOM];
    const char *nearest;
    size_t count = 0;

    if (abbreviated(name, len) >= 0)
        return abbreviated(name, len);
    if (len >= sizeof(text))
        return -1;
    for (int id = 0; id < OPT__COUNT; id++) {
        if (!option_rows[id].spec_only)
            names[count++] = option_rows[id].name;
    }
    memcpy(text, name, len);
    text[len] = '\0';
    nearest = scan_nearest(text, names, count);
    return nearest ? options_find(nearest, strlen(nearest)) : -1;
}

const char *options_twin(enum option_id id, const char *prefix, char room[static 64])
{
    size_t len;

    snprintf(room, 64, "%s%s", prefix, option_rows[id].name);
    len = strlen(room);
    for (size_t i = strlen(prefix); i < len; i++)
        room[i] = room[i] == '-' ? '_' : (char)toupper((unsigned char)room[i]);
    return room;
}
