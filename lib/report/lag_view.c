#include "report/lag_view.h"

#include "model/lag.h"
#include "model/ranks.h"

#define LIST_MAX 4096

static void put_number(struct json *object, const char *key, int64_t number)
{
    if (number >= 0)
        json_put_int(object, key, number);
}

static void put_word(struct json *object, const char *key, const char *word)
{
    if (word[0])
        json_put_text(object, key, word);
}

static bool put_ranks(struct json *object, const char *key, const struct lag_view *view,
                      const struct lags *lags, enum lag lag)
{
    const struct ranks ranks = {lags->of, view->outcome->count, view->plan->job.first_rank};
    char room[LIST_MAX + 16];
    struct buf list = BUF_OVER(room);
    bool whole;

    if (lags->count[lag] == 0)
        return true;
    whole = ranks_add(&ranks, (unsigned char)lag, view->limit < LIST_MAX ? view->limit : LIST_MAX,
                      &list);
    json_put_text(object, key, list.data);
    return whole;
}

struct json *lag_view_make(const struct lag_view *view, bool *ret_whole)
{
    struct json *object;
    struct lags lags;

    *ret_whole = true;
    if (!lag_is_timeout(view->verdict))
        return NULL;
    lag_look(view->outcome, view->verdict, &lags);
    object = json_new_object();
    put_word(object, "op", lags.op);
    put_number(object, "seq", lags.seq);
    put_word(object, "group", lags.group);
    *ret_whole &= put_ranks(object, "waited", view, &lags, LAG_WAITED);
    *ret_whole &= put_ranks(object, "behind", view, &lags, LAG_BEHIND);
    put_number(object, "enqueued", lags.enqueued);
    *ret_whole &= put_ranks(object, "elsewhere", view, &lags, LAG_ELSEWHERE);
    *ret_whole &= put_ranks(object, "silent", view, &lags, LAG_SILENT);
    return object;
}
