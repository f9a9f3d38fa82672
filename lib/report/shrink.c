#include "report/shrink.h"

/*
 * The tail of stderr goes first, oldest lines first, for it mostly repeats the traceback; then the
 * traceback's older lines, the rows of consequences and the hints; the sentence stays to the end. The message
 * is never longer than what leaves it within the first 700 bytes.
 */
static const struct shrink steps[] = {
    /* words  tail  ranks error message names rows hints resources counts root */
    {32768, 32768, 4096, 4096, 540, 1024, 128, 16, true, true, true},
    {16384, 16384, 1024, 1024, 540, 512, 64, 16, true, true, true},
    {8192, 8192, 512, 600, 540, 256, 32, 16, true, true, true},
    {4096, 4096, 256, 500, 540, 128, 16, 16, true, true, true},
    {4096, 2048, 256, 500, 540, 128, 16, 16, true, true, true},
    {3072, 1024, 128, 400, 540, 128, 12, 8, true, true, true},
    {2048, 512, 128, 400, 540, 128, 10, 8, true, true, true},
    {2048, 0, 128, 400, 540, 128, 8, 8, true, true, true},
    {1500, 0, 128, 400, 540, 128, 8, 8, true, true, true},
    {1200, 0, 96, 300, 540, 128, 6, 4, true, true, true},
    {900, 0, 96, 300, 540, 64, 5, 3, true, true, true},
    {700, 0, 64, 240, 540, 64, 4, 2, true, true, true},
    {500, 0, 64, 240, 540, 64, 3, 2, true, true, true},
    {400, 0, 48, 200, 540, 64, 2, 2, true, true, true},
    {300, 0, 48, 160, 500, 64, 2, 1, false, true, true},
    {200, 0, 48, 160, 500, 64, 1, 1, false, true, true},
    {100, 0, 32, 120, 450, 64, 1, 1, false, true, true},
    {0, 0, 32, 120, 400, 64, 0, 1, false, true, true},
    {0, 0, 32, 100, 350, 0, 0, 0, false, true, true},
    {0, 0, 32, 60, 300, 0, 0, 0, false, false, true},
    {0, 0, 32, 60, 250, 0, 0, 0, false, false, false},
    {0, 0, 32, 60, 200, 0, 0, 0, false, false, false},
    {0, 0, 32, 60, 100, 0, 0, 0, false, false, false},
};

const struct shrink *shrink_step(int step)
{
    return (size_t)step < sizeof(steps) / sizeof(steps[0]) ? &steps[step] : NULL;
}

const char *shrink_part_word(enum shrink_part part)
{
    static const char *const words[SHRINK__PARTS] = {
        [SHRINK_MESSAGE] = "message",
        [SHRINK_ROOT] = "root_cause",
        [SHRINK_ERROR] = "error",
        [SHRINK_TRACEBACK] = "traceback",
        [SHRINK_TAIL] = "stderr_tail",
        [SHRINK_FAILURES] = "failures",
        [SHRINK_COLLECTIVE] = "collective",
        [SHRINK_COUNTS] = "ranks",
        [SHRINK_HINTS] = "hints",
        [SHRINK_RESOURCES] = "resources",
        [SHRINK_JOB] = "job",
        [SHRINK_FOREIGN] = "foreign_message",
    };

    return words[part];
}
