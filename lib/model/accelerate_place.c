/*
 * Which file it is: where accelerate itself would look, and by what anybody can tell it again.
 */
#include "model/accelerate.h"

uint32_t accelerate_checksum(const char *bytes, size_t len)
{
    uint32_t sum = 0;
    size_t total = len;

    for (size_t i = 0; i < total || len > 0; i++) {
        unsigned char byte = i < total ? (unsigned char)bytes[i] : (unsigned char)len;

        if (i >= total)
            len >>= 8;
        sum ^= (uint32_t)byte << 24;
        for (int bit = 0; bit < 8; bit++)
            sum = sum & 0x80000000u ? (sum << 1) ^ 0x04c11db7u : sum << 1;
    }
    return ~sum;
}

const char *accelerate_default_path(const char *const *envp, struct strvec *texts)
{
    const char *home = env_get(envp, "HOME");
    const char *hf = env_get(envp, "HF_HOME");
    const char *cache = env_get(envp, "XDG_CACHE_HOME");
    const char *base = hf      ? hf
                       : cache ? strvec_pushf(texts, "%s/huggingface", cache)
                               : "~/.cache/huggingface";

    if (base[0] == '~' && (base[1] == '/' || base[1] == '\0')) {
        if (!home)
            return NULL;
        base = strvec_pushf(texts, "%s%s", home, base + 1);
    }
    return strvec_pushf(texts, "%s/accelerate/default_config.yaml", base);
}
