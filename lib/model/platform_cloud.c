/*
 * Clouds: AWS Batch and SageMaker.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/scan.h"
#include "model/platform_parts.h"

#define LOOPBACK   "127.0.0.1"
#define TEXT_SHOWN 80
#define JSON_ROOM  (512 * 1024)
#define DOCUMENT   "resourceconfig.json"

/* The main node need not be number 0, but rank 0 has to be there: those before it move up by one. */
int platform_mend_aws(const struct platform *platform, struct settings *settings,
                      struct platform_place *place, struct err *err)
{
    const char *text = platform_value(platform->envp, "AWS_BATCH_JOB_MAIN_NODE_INDEX");
    long main_index = 0, index, size;

    if (!place->rank.text || !place->size.text)
        return err_set(err, ERR_SPEC,
                       "AWS Batch sets AWS_BATCH_JOB_NODE_INDEX and AWS_BATCH_JOB_NUM_NODES, but "
                       "here is only one of them: state --nnodes N and --node-rank N");
    if (!scan_int(place->rank.text, 0, INT_MAX, &index) ||
        !scan_int(place->size.text, 1, INT_MAX, &size))
        return 0; /* refused where they are offered */
    if (text && !scan_int(text, 0, size - 1, &main_index))
        return err_set(err, ERR_SPEC,
                       "AWS_BATCH_JOB_MAIN_NODE_INDEX=%.*s is no node from 0 to %ld "
                       "(AWS_BATCH_JOB_NUM_NODES)",
                       TEXT_SHOWN, text, size - 1);
    /* Batch tells everybody the main node's address, but not the main node itself. */
    if (index == main_index && !place->master.text && size > 1)
        place->master = (struct platform_word){LOOPBACK, "AWS_BATCH_JOB_MAIN_NODE_INDEX"};
    if (index <= main_index && main_index > 0)
        place->rank.text = strvec_pushf(&settings->texts, "%ld",
                                        index == main_index ? 0 : index + 1);
    return 0;
}

/* Where `name` is in a list of hosts; -1 if it is not. */
static long find_host(const struct json *hosts, const char *name)
{
    for (size_t i = 0; i < json_count(hosts); i++) {
        const char *host = json_text(json_at(hosts, i));

        if (host && strcmp(host, name) == 0)
            return (long)i;
    }
    return -1;
}

/* Place `current` has in a list of hosts, the first of which is the master. */
static int place_among(const struct json *hosts, struct platform_word current, struct strvec *texts,
                       struct platform_place *place, struct err *err)
{
    const char *first = json_text(json_at(hosts, 0));
    long index;

    if (!first || !current.text)
        return err_set(err, ERR_SPEC,
                       "%s does not say both which hosts there are and which one this is: state "
                       "--nnodes N and --node-rank N",
                       place->size.from);
    index = find_host(hosts, current.text);
    if (index < 0)
        return err_set(err, ERR_SPEC,
                       "%s says that this is %.*s, which is not among the hosts of %s",
                       current.from, TEXT_SHOWN, current.text, place->size.from);
    place->size.text = strvec_pushf(texts, "%zu", json_count(hosts));
    place->rank = (struct platform_word){strvec_pushf(texts, "%ld", index), current.from};
    place->master = (struct platform_word){strvec_push(texts, first), place->size.from};
    return 0;
}

static struct json *read_json(const char *text, const char *from, struct err *err)
{
    struct json *root = json_read(text, strlen(text), err);

    if (!root)
        err_wrap(err, "%s", from);
    return root;
}

/* SM_* come from the training toolkit; a container without it has only the platform's document. */
static int read_sagemaker(const struct platform *platform, struct strvec *texts,
                          struct platform_place *place, struct err *err)
{
    const char *list = platform_value(platform->envp, "SM_HOSTS");
    const char *current = platform_value(platform->envp, "SM_CURRENT_HOST");
    const char *text = platform->resource_config ? platform->resource_config : "";
    const struct json *document = NULL, *hosts = NULL;
    struct platform_word here = {current, "SM_CURRENT_HOST"};

    if ((!list || !current) && *text != '\0') {
        document = read_json(text, DOCUMENT, err);
        if (!document)
            return -1;
    }
    if (list) {
        hosts = read_json(list, "SM_HOSTS", err);
        if (!hosts)
            return -1;
    }
    if (!current)
        here = (struct platform_word){json_text(json_get(document, "current_host")), DOCUMENT};
    place->size.from = list ? "SM_HOSTS" : DOCUMENT;
    return place_among(list ? hosts : json_get(document, "hosts"), here, texts, place, err);
}

int platform_mend_sagemaker(const struct platform *platform, struct settings *settings,
                            struct platform_place *place, struct err *err)
{
    CLEANUP_FREE void *memory = malloc(JSON_ROOM);
    struct json_arena arena;
    int rc;

    if (!memory)
        return err_set(err, ERR_SYSTEM, "no memory for the hosts of SageMaker");
    json_setup(&arena, memory, JSON_ROOM, 0);
    json_begin(&arena);
    rc = read_sagemaker(platform, &settings->texts, place, err);
    json_end();
    return rc;
}
