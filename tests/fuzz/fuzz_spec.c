/* A rank spec, and the plan that it makes. */
#include "words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strvec argv = STRVEC_INIT, envp = STRVEC_INIT;

    strvec_push(&argv, "rankinit");
    words_run(&argv, &envp, (const char *)data, size);
    strvec_release(&argv);
    return 0;
}
