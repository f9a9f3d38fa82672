#include "sys/explain.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "report/explain.h"
#include "sys/file.h"

static void free_explain(struct explain **explain)
{
    explain_free(*explain);
}

static int take_file(struct explain *explain, const char *name, struct err *err)
{
    CLEANUP_FREE char *bytes = NULL;
    bool piped = strcmp(name, "-") == 0;
    size_t len;
    int result = piped ? file_read_stdin(EXPLAIN_INPUT_MAX, &bytes, &len, err)
                       : file_read(name, EXPLAIN_INPUT_MAX, &bytes, &len, err);
    const struct explain_input input = {piped ? "standard input" : name, bytes, len};

    return result < 0 ? -1 : explain_take(explain, &input, err);
}

int explain_files(const char *first, const char *const *more, struct err *err)
{
    char room[EXPLAIN_PAGE_MAX];
    CLEANUP(free_explain) struct explain *explain = explain_new();
    struct buf page;

    if (!explain)
        return err_set(err, ERR_SYSTEM, "no memory to explain anything");
    if (take_file(explain, first, err) < 0)
        return -1;
    for (; more && *more; more++) {
        if (take_file(explain, *more, err) < 0)
            return -1;
    }
    if (!explain_knows(explain))
        return err_set(err, ERR_SPEC, "%s%s: no summary document of rankinit, and no pod", first,
                       more && *more ? " ..." : "");
    buf_init(&page, room, EXPLAIN_PAGE_MAX);
    explain_page(explain, &page);
    if (file_write_all(STDOUT_FILENO, page.data, page.len) < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot write");
    return 0;
}
