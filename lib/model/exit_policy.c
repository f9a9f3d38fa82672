#include "model/exit_policy.h"

#include <string.h>

#include "base/exitcode.h"
#include "base/scan.h"

#define ITEM_ROOM       32
#define PRESET_KUBEFLOW 1 /* in the words of --exit-preset, --stop-exit, --oom */
#define STOP_RANK       1
#define OOM_FAIL        1

void exit_policy_codes(const char *text, bool ret[EXIT_CODES])
{
    char item[ITEM_ROOM];
    long code;

    while (scan_item(&text, item, sizeof(item))) {
        if (scan_int(item, 0, EXIT_CODES - 1, &code))
            ret[code] = true;
    }
}

static void read_map(const char *text, short map[EXIT_CODES])
{
    char item[ITEM_ROOM];

    while (scan_item(&text, item, sizeof(item))) {
        char *colon = strchr(item, ':');
        long from, to;

        if (!colon)
            continue;
        *colon = '\0';
        if (scan_int(item, 0, EXIT_CODES - 1, &from) && scan_int(colon + 1, 0, EXIT_CODES - 1, &to))
            map[from] = (short)(to + 1);
    }
}

void exit_policy_resolve(const struct settings *settings, struct exit_policy *ret)
{
    memset(ret, 0, sizeof(*ret));
    exit_policy_codes(settings_text(settings, OPT_EXIT_ZERO), ret->zero);
    read_map(settings_text(settings, OPT_EXIT_MAP), ret->map);
    ret->kubeflow = settings_word(settings, OPT_EXIT_PRESET) == PRESET_KUBEFLOW;
    ret->stop_rank = settings_word(settings, OPT_STOP_EXIT) == STOP_RANK;
    ret->oom_fails = settings_word(settings, OPT_OOM) == OOM_FAIL;
}

/* Kubeflow's v1 operators retry from 128 on. What a program means by such a code is its affair. */
static bool is_worth_retrying(int code)
{
    static const enum err_kind kinds[] = {ERR_DEVICES, ERR_DEVICE_LOST, ERR_MASTER, ERR_PORT,
                                          ERR_HUNG};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (exitcode_of_kind(kinds[i]) == code)
            return true;
    }
    return false;
}

int exit_policy_map(const struct exit_policy *policy, bool from_rank, int code)
{
    if (code < 0 || code >= EXIT_CODES)
        return code;
    if (policy->map[code] > 0)
        return policy->map[code] - 1;
    if (policy->kubeflow && !from_rank && is_worth_retrying(code))
        return EXITCODE_SIGNAL_BASE + code;
    return code;
}
