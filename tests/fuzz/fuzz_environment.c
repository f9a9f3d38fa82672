/* An environment, an entry a line, that says which ranks are ours: every platform's reader. */
#include "words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strvec argv = STRVEC_INIT, envp = STRVEC_INIT;

    strvec_push(&argv, "rankinit");
    strvec_push(&argv, "train.py");
    words_take(data, &size, &envp);
    words_run(&argv, &envp, NULL, 0);
    strvec_release(&argv);
    strvec_release(&envp);
    return 0;
}
