#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strvec.h"
#include "tap.h"

TEST(empty_list)
{
    struct strvec vec = STRVEC_INIT;

    tap_ok(strvec_texts(&vec) != NULL);
    tap_eq_str(strvec_texts(&vec)[0], NULL);
    env_unset(&vec, "X");
    tap_eq_uint(vec.count, 0);
    strvec_release(&vec);
    strvec_release(&vec);
}

TEST(push_copies_and_terminates)
{
    CLEANUP(strvec_release) struct strvec vec = STRVEC_INIT;
    char text[] = "python";
    const char *kept = strvec_push(&vec, text);

    text[0] = 'X';
    tap_eq_str(kept, "python");
    tap_ok(kept == vec.items[0]);
    tap_eq_str(strvec_pushf(&vec, "--%s=%d", "rank", 7), "--rank=7");
    tap_eq_uint(vec.count, 2);
    tap_ok(vec.items[2] == NULL);
    tap_eq_str(strvec_texts(&vec)[1], "--rank=7");
}

TEST(grows_and_stays_terminated)
{
    CLEANUP(strvec_release) struct strvec vec = STRVEC_INIT;
    const char *first = strvec_pushf(&vec, "%d", 0);

    for (int i = 1; i < 1000; i++) {
        strvec_pushf(&vec, "%d", i);
        if (vec.items[i + 1])
            tap_fail("not terminated");
    }
    tap_eq_uint(vec.count, 1000);
    tap_ok(first == vec.items[0]);
    tap_eq_str(vec.items[500], "500");
    tap_eq_str(vec.items[999], "999");
}

TEST(long_formatted_text)
{
    CLEANUP(strvec_release) struct strvec vec = STRVEC_INIT;
    const char *text = strvec_pushf(&vec, "%0100000d", 7);

    tap_eq_uint(strlen(text), 100000);
    tap_eq_str(text + 99998, "07");
}

TEST(push_of_its_own_text)
{
    CLEANUP(strvec_release) struct strvec vec = STRVEC_INIT;

    strvec_push(&vec, "a");
    for (int i = 0; i < 20; i++)
        strvec_push(&vec, vec.items[0]);
    tap_eq_uint(vec.count, 21);
    tap_eq_str(vec.items[20], "a");
}

TEST(push_all)
{
    CLEANUP(strvec_release) struct strvec vec = STRVEC_INIT;
    const char *const texts[] = {"a", "", "c", NULL};

    strvec_push_all(&vec, NULL);
    tap_eq_uint(vec.count, 0);
    strvec_push_all(&vec, texts);
    strvec_push_all(&vec, texts + 3);
    tap_eq_uint(vec.count, 3);
    tap_eq_str(vec.items[1], "");
    tap_eq_str(vec.items[2], "c");
}

TEST(released_list_can_be_used_again)
{
    CLEANUP(strvec_release) struct strvec vec = STRVEC_INIT;

    strvec_push(&vec, "a");
    strvec_release(&vec);
    tap_eq_uint(vec.count, 0);
    tap_ok(vec.items == NULL);
    strvec_push(&vec, "b");
    tap_eq_str(vec.items[0], "b");
}

TEST(env_get_is_exact)
{
    const char *const envp[] = {"RANKS=1", "RANK=2", "RANK=3", "EMPTY=", "NOVALUE", "A=b=c", NULL};

    tap_eq_str(env_get(envp, "RANK"), "2");
    tap_eq_str(env_get(envp, "RANKS"), "1");
    tap_eq_str(env_get(envp, "EMPTY"), "");
    tap_eq_str(env_get(envp, "A"), "b=c");
    tap_eq_str(env_get(envp, "NOVALUE"), NULL);
    tap_eq_str(env_get(envp, "RAN"), NULL);
    tap_eq_str(env_get(envp, "rank"), NULL);
    tap_eq_str(env_get(NULL, "RANK"), NULL);
}

TEST(env_set_replaces_in_place)
{
    CLEANUP(strvec_release) struct strvec env = STRVEC_INIT;
    const char *const envp[] = {"A=1", "B=2", "C=3", "B=4", "BB=5", "B=6", NULL};

    strvec_push_all(&env, envp);
    env_set(&env, "B", "new");
    tap_eq_uint(env.count, 4);
    tap_eq_str(env.items[0], "A=1");
    tap_eq_str(env.items[1], "B=new");
    tap_eq_str(env.items[2], "C=3");
    tap_eq_str(env.items[3], "BB=5");
    tap_ok(env.items[4] == NULL);
}

TEST(env_set_appends)
{
    CLEANUP(strvec_release) struct strvec env = STRVEC_INIT;

    env_set(&env, "A", "1");
    env_setf(&env, "B", "%d%%", 50);
    tap_eq_uint(env.count, 2);
    tap_eq_str(env.items[0], "A=1");
    tap_eq_str(env_get(strvec_texts(&env), "B"), "50%");
    tap_ok(env.items[2] == NULL);
}

TEST(env_set_to_its_own_value)
{
    CLEANUP(strvec_release) struct strvec env = STRVEC_INIT;

    env_set(&env, "PATH", "/bin");
    env_set(&env, "PATH", env_get(strvec_texts(&env), "PATH"));
    tap_eq_str(env.items[0], "PATH=/bin");
    env_setf(&env, "PATH", "/opt:%s", env_get(strvec_texts(&env), "PATH"));
    tap_eq_str(env.items[0], "PATH=/opt:/bin");
    tap_eq_uint(env.count, 1);
}

TEST(env_unset_removes_all)
{
    CLEANUP(strvec_release) struct strvec env = STRVEC_INIT;
    const char *const envp[] = {"A=1", "B=2", "A=3", "A", "AA=4", "A=", NULL};

    strvec_push_all(&env, envp);
    env_unset(&env, "A");
    tap_eq_uint(env.count, 3);
    tap_eq_str(env.items[0], "B=2");
    tap_eq_str(env.items[1], "A");
    tap_eq_str(env.items[2], "AA=4");
    tap_ok(env.items[3] == NULL);
    env_unset(&env, "MISSING");
    tap_eq_uint(env.count, 3);
}

#ifdef __has_feature
#define SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* In a child whose data segment cannot grow. */
static void run_out_of_memory(void)
{
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    struct strvec vec = STRVEC_INIT;

    setrlimit(RLIMIT_AS, &none);
    for (int i = 0; i < 1000; i++)
        strvec_pushf(&vec, "%01000000d", i);
    _exit(0);
}

TEST(out_of_memory_ends_with_71)
{
    char said[64] = "";
    int pipefd[2];
    int status = 0;
    pid_t pid;

    if (SANITIZED)
        return; /* its allocator ends the program by itself */
    if (!tap_eq_int(pipe(pipefd), 0))
        return;
    pid = fork();
    if (pid == 0) {
        dup2(pipefd[1], 2);
        run_out_of_memory();
    }
    close(pipefd[1]);
    tap_ok(read(pipefd[0], said, sizeof(said) - 1) > 0);
    close(pipefd[0]);
    tap_eq_int(waitpid(pid, &status, 0), pid);
    tap_eq_int(status, 71 << 8);
    tap_eq_str(said, "rankinit: out of memory\n");
}

TAP_MAIN()
