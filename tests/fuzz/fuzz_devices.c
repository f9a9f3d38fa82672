/* A list of devices: in the vendors' variables, and, from the second line on, in --devices. */
#include "words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const variables[] = {"CUDA_VISIBLE_DEVICES",  "ROCR_VISIBLE_DEVICES",
                                            "HIP_VISIBLE_DEVICES",   "ASCEND_RT_VISIBLE_DEVICES",
                                            "ZE_AFFINITY_MASK",      "HABANA_VISIBLE_MODULES",
                                            "NVIDIA_VISIBLE_DEVICES"};
    static const char *const modes[] = {"auto", "shared", "isolated", "isolated-keep-rank", "none"};
    struct strvec words = STRVEC_INIT, argv = STRVEC_INIT, envp = STRVEC_INIT;
    size_t pick = size > 0 ? data[0] : 0;

    if (size > 0) {
        size--;
        words_take(data + 1, &size, &words);
    }
    if (words.count > 0)
        strvec_pushf(&envp, "%s=%s", variables[pick % 7], words.items[0]);
    strvec_push(&argv, "rankinit");
    strvec_pushf(&argv, "--device-mode=%s", modes[pick / 7 % 5]);
    strvec_push(&argv, "--nproc-per-node=2");
    if (words.count > 1)
        strvec_pushf(&argv, "--devices=%s", words.items[1]);
    strvec_push(&argv, "train.py");
    words_run(&argv, &envp, NULL, 0);
    strvec_release(&words);
    strvec_release(&argv);
    strvec_release(&envp);
    return 0;
}
