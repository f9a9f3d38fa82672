/* A command line, a word a line, from argv[1] on; to the end: the plan and the ranks' arguments. */
#include "words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strvec argv = STRVEC_INIT, envp = STRVEC_INIT;

    strvec_push(&argv, "rankinit");
    words_take(data, &size, &argv);
    words_run(&argv, &envp, NULL, 0);
    strvec_release(&argv);
    return 0;
}
