#include "base/cleanup.h"
#include "base/secret.h"
#include "tap.h"

static void masks(const char *text, const char *want)
{
    CLEANUP(strvec_release) struct strvec shown = STRVEC_INIT;

    tap_eq_str(secret_mask(text, &shown), want);
    tap_eq_uint(shown.count, 1);
}

TEST(knows_secrets_by_their_names)
{
    static const char *const secret[] = {
        "HF_TOKEN",   "hf_token",       "--wandb-api-key", "AWS_SECRET_ACCESS_KEY",
        "PGPASSWORD", "MYSQL_PASSWD",   "Secret",          "APIKEY",
        "key",        "AZ_CREDENTIALS", "a.b.token",       "SSH_PASSPHRASE",
    };
    static const char *const open[] = {"", "PATH", "TOKE", "KE", "RANK", "MASTER_ADDR", "--lr"};

    for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++)
        tap_ok(secret_named(secret[i], strlen(secret[i])));
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
        tap_ok(!secret_named(open[i], strlen(open[i])));
    tap_ok(!secret_named("HF_TOKEN", 7));
}

TEST(hides_the_value_of_a_name)
{
    masks("HF_TOKEN=hf_abc", "HF_TOKEN=***");
    masks("HF_TOKEN=", "HF_TOKEN=");
    masks("HF_TOKEN", "HF_TOKEN");
    masks("HF_TOKEN=a b;c=d \"e\"", "HF_TOKEN=***");
    masks("--wandb-api-key=abc", "--wandb-api-key=***");
    masks("+logger.api_key=abc", "+logger.api_key=***");
    masks("opts[token]=abc", "opts[token]=***");
    masks("PATH=/bin", "PATH=/bin");
    masks("--lr=0.1", "--lr=0.1");
    masks("", "");
}

TEST(hides_values_inside_a_script)
{
    masks("export HF_TOKEN=abc; run", "export HF_TOKEN=***; run");
    masks("A=1 HF_TOKEN='a b' run", "A=1 HF_TOKEN=*** run");
    masks("x HF_TOKEN=a\"b c\"d run", "x HF_TOKEN=*** run");
    masks("x HF_TOKEN=a\\ b run", "x HF_TOKEN=*** run");
    masks("run --token abc --lr 1", "run --token *** --lr 1");
    masks("run --token --lr 1", "run --token --lr 1");
    masks("run --token", "run --token");
    masks("https://host/?a=1&access_token=abc&b=2", "https://host/?a=1&access_token=***&b=2");
    masks("sh -c \"TOKEN=abc\" next", "sh -c \"TOKEN=***\" next");
}

TEST(hides_members_of_objects)
{
    masks("{\"api_key\": \"abc\", \"lr\": 1}", "{\"api_key\": ***, \"lr\": 1}");
    masks("{\"api_key\" :\"a,b\"}", "{\"api_key\" :***}");
    masks("{'password':'abc','x':1}", "{'password':***,'x':1}");
    masks("keystone:29400", "keystone:29400");
}

TEST(survives_any_text)
{
    masks("key='never closed", "key=***");
    masks("x key='never closed", "x key=***");
    masks("x key=\\", "x key=***");
    masks("\"key\"", "\"key\"");
    masks("\xff\xfekey=\xff", "\xff\xfekey=***");
    masks("k key=a key=b key=c", "k key=*** key=*** key=***");
}

TEST(an_option_hides_the_word_after_it)
{
    CLEANUP(strvec_release) struct strvec shown = STRVEC_INIT;
    const char *const words[] = {"get-token", "--hf-token", "abc",   "--key", "-x", "y",
                                 "--key=a",   "b",          "token", "c",     NULL};
    const char *const want[] = {"get-token", "--hf-token", "***", "--key", "-x",
                                "y",         "--key=***",  "b",   "token", "c"};

    secret_mask_words(words, &shown);
    if (!tap_eq_uint(shown.count, 10))
        return;
    for (size_t i = 0; i < shown.count; i++)
        tap_eq_str(shown.items[i], want[i]);
}

TAP_MAIN()
