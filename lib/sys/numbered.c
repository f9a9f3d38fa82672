#include "sys/numbered.h"

#include <dirent.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/scan.h"

int numbered_each(int dir_fd, numbered_visit *visit, void *context)
{
    _Alignas(struct dirent64) char room[8192];
    ssize_t size;
    long number;

    while ((size = getdents64(dir_fd, room, sizeof(room))) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct dirent64 *entry = (const void *)(room + at);

            if (scan_int(entry->d_name, 0, INT32_MAX, &number))
                visit(context, dir_fd, (int)number);
            at += entry->d_reclen;
        }
    }
    return size < 0 ? -1 : 0;
}
