#include "report/shrink.h"

/*
 * The tail of stderr goes first, oldest lines first, for it mostly repeats the traceback; then the
 * traceback's older lines and the rows of consequences; the sentence stays to the end. The message
 * is never longer than what leaves it within the first 700 bytes.
 */
static const struct shrink steps[] = {
    /* words  tail  rows ranks error message names resources counts root */
    {32768, 32768, 128, 4096, 4096, 540, 1024, true, true, true},
    {16384, 16384, 64, 1024, 1024, 540, 512, true, true, true},
    {8192, 8192, 32, 512, 600, 540, 256, true, true, true},
    {4096, 4096, 16, 256, 500, 540, 128, true, true, true},
    {4096, 2048, 16, 256, 500, 540, 128, true, true, true},
    {3072, 1024, 12, 128, 400, 540, 128, true, true, true},
    {2048, 512, 10, 128, 400, 540, 128, true, true, true},
    {2048, 0, 8, 128, 400, 540, 128, true, true, true},
    {1500, 0, 8, 128, 400, 540, 128, true, true, true},
    {1200, 0, 6, 96, 300, 540, 128, true, true, true},
    {900, 0, 5, 96, 300, 540, 64, true, true, true},
    {700, 0, 4, 64, 240, 540, 64, true, true, true},
    {500, 0, 3, 64, 240, 540, 64, true, true, true},
    {400, 0, 2, 48, 200, 540, 64, true, true, true},
    {300, 0, 2, 48, 160, 500, 64, false, true, true},
    {200, 0, 1, 48, 160, 500, 64, false, true, true},
    {100, 0, 1, 32, 120, 450, 64, false, true, true},
    {0, 0, 0, 32, 120, 400, 64, false, true, true},
    {0, 0, 0, 32, 100, 350, 0, false, true, true},
    {0, 0, 0, 32, 60, 300, 0, false, false, true},
    {0, 0, 0, 32, 60, 250, 0, false, false, false},
    {0, 0, 0, 32, 60, 200, 0, false, false, false},
    {0, 0, 0, 32, 60, 100, 0, false, false, false},
};

const struct shrink *shrink_step(int step)
{
    return (size_t)step < sizeof(steps) / sizeof(steps[0]) ? &steps[step] : NULL;
}

const char *shrink_part_word(enum shrink_part part)
{
    static const char *const words[SHRINK__PARTS] = {
        [SHRINK_MESSAGE] = "message",  [SHRINK_ROOT] = "root_cause",
        [SHRINK_ERROR] = "error",      [SHRINK_TRACEBACK] = "traceback",
        [SHRINK_TAIL] = "stderr_tail", [SHRINK_FAILURES] = "failures",
        [SHRINK_COUNTS] = "ranks",     [SHRINK_RESOURCES] = "resources",
        [SHRINK_JOB] = "job",          [SHRINK_FOREIGN] = "foreign_message",
    };

    return words[part];
}
