/* What ranks say, from real programs (tests/golden/outputs) and composed, in every splitting. */
#include "model/evidence.h"

#include <stdlib.h>

#include "base/json.h"
#include "dice.h"
#include "tap.h"

#define OUTPUTS "tests/golden/outputs/"

static struct evidence evidence;

static void start(void)
{
    /* Left-overs must not matter. */
    memset(&evidence, 0xA5, sizeof(evidence));
    evidence_init(&evidence);
}

static void say_at(enum evidence_stream stream, const char *text, int64_t now_ns)
{
    evidence_feed(&evidence, stream, text, strlen(text), now_ns);
}

static void say(const char *text)
{
    say_at(EVIDENCE_STDERR, text, 5);
}

static const struct finding *heard(const char *text)
{
    start();
    say(text);
    evidence_end(&evidence, 6);
    return evidence_finding(&evidence, false);
}

static void is(const struct finding *found, enum evidence_kind kind, const char *type,
               const char *message)
{
    if (!tap_ok(found != NULL))
        return;
    tap_eq_str(evidence_word(found->kind), evidence_word(kind));
    tap_eq_str(found->type, type);
    tap_eq_str(found->message, message);
}

static size_t load(const char *name, char *room, size_t capacity)
{
    char path[256];
    FILE *file;
    size_t len;

    snprintf(path, sizeof(path), OUTPUTS "%s", name);
    file = fopen(path, "r");
    if (!tap_ok(file != NULL))
        return 0;
    len = fread(room, 1, capacity, file);
    fclose(file);
    return len;
}

static bool same(const struct finding *a, const struct finding *b)
{
    return a->kind == b->kind && a->echo == b->echo && a->at_ns == b->at_ns && a->line == b->line &&
           strcmp(a->type, b->type) == 0 && strcmp(a->message, b->message) == 0 &&
           strcmp(a->file, b->file) == 0 && strcmp(a->traceback, b->traceback) == 0;
}

/* Bytes in pieces of random sizes; seed 0: in one piece, 1: byte by byte. */
static void feed_split(const char *bytes, size_t len, unsigned int seed)
{
    start();
    while (len > 0) {
        size_t size = seed == 0 ? len : seed == 1 ? 1 : (size_t)dice(dice(3) ? 7 : 600) + 1;
        char *copy;

        size = size < len ? size : len;
        /* A heap copy of exactly this size: reading past it is seen. */
        copy = malloc(size);
        if (!copy)
            return;
        memcpy(copy, bytes, size);
        evidence_feed(&evidence, EVIDENCE_STDERR, copy, size, 5);
        free(copy);
        bytes += size;
        len -= size;
    }
    evidence_end(&evidence, 5);
}

struct sample {
    const char *name;
    enum evidence_kind kind;
    bool echo;
    bool placed; /* has a line */
    const char *type;
    const char *message; /* a part */
    const char *file;
};

static const struct sample samples[] = {
    {"aborted.0", EVIDENCE_FAULTHANDLER, false, true, "Fatal Python error", "Aborted",
     "/app/train.py"},
    {"bad_argument.0", EVIDENCE_FATAL_LINE, false, false, "",
     "train.py: error: unrecognized arguments: --lr", ""},
    {"bad_device.0", EVIDENCE_TRACEBACK, false, true, "AssertionError",
     "Torch not compiled with CUDA enabled", "/app/train.py"},
    {"bad_import.0", EVIDENCE_TRACEBACK, false, true, "ModuleNotFoundError",
     "No module named 'flash_attn_that", "/app/train.py"},
    {"bad_syntax.0", EVIDENCE_TRACEBACK, false, true, "SyntaxError", "invalid syntax",
     "/app/model.py"},
    {"chained.0", EVIDENCE_TRACEBACK, false, true, "RuntimeError", "no learning rate",
     "/app/train.py"},
    {"echo_wrapped.1", EVIDENCE_TRACEBACK, true, true, "RuntimeError", "epoch 3 failed",
     "/app/train.py"},
    {"free_invalid.0", EVIDENCE_FATAL_LINE, false, false, "", "double free or corruption (out)",
     ""},
    {"group.0", EVIDENCE_TRACEBACK, false, true, "ValueError", "bad shard 1", "/app/train.py"},
    {"handled.0", EVIDENCE_TRACEBACK, false, true, "ValueError", "bad batch 1", "/app/train.py"},
    {"in_thread.0", EVIDENCE_TRACEBACK, false, true, "ValueError", "bad batch 5", "/app/train.py"},
    {"interrupted.0", EVIDENCE_TRACEBACK, false, true, "KeyboardInterrupt", "", "/app/train.py"},
    {"killed.0", EVIDENCE_TRACEBACK, true, true, "RuntimeError", "Connection closed by peer",
     "/app/train.py"},
    {"left_early.0", EVIDENCE_TRACEBACK, true, true, "RuntimeError", "Connection closed by peer",
     "/app/train.py"},
    {"loader_error.0", EVIDENCE_TRACEBACK, false, true, "ValueError", "bad batch 0",
     "/app/train.py"},
    {"loader_killed.0", EVIDENCE_TRACEBACK, false, true, "RuntimeError",
     "DataLoader worker (pid(s) 4242) exited unexpectedly", "/app/train.py"},
    {"multi_line.0", EVIDENCE_TRACEBACK, false, true, "RuntimeError",
     "for Net:\n size mismatch for fc.weight\n unexpected key", "/app/train.py"},
    {"no_master.1", EVIDENCE_TRACEBACK, true, true, "DistNetworkError",
     "The client socket has timed out after 1000ms", "/app/train.py"},
    {"no_memory.0", EVIDENCE_TRACEBACK, false, true, "RuntimeError",
     "DefaultCPUAllocator: can't allocate memory", "/app/train.py"},
    {"no_message.0", EVIDENCE_TRACEBACK, false, true, "AssertionError", "", "/app/train.py"},
    {"real_then_echo.1", EVIDENCE_TRACEBACK, false, true, "ValueError", "bad batch 3",
     "/app/train.py"},
    {"recorded.0", EVIDENCE_TRACEBACK, false, true, "ValueError", "bad batch 11", "/app/train.py"},
    {"segfault.0", EVIDENCE_FAULTHANDLER, false, true, "Fatal Python error", "Segmentation fault",
     "/app/train.py"},
    {"shape_mismatch.0", EVIDENCE_TRACEBACK, false, true, "RuntimeError", "mat1 and mat2 shapes",
     "/app/train.py"},
    {"stdout_closed.0", EVIDENCE_TRACEBACK, false, true, "OSError",
     "[Errno 28] No space left on device", "/app/train.py"},
    {"store_killed.1", EVIDENCE_TRACEBACK, true, true, "RuntimeError", "Connection closed by peer",
     "/app/train.py"},
    {"store_lost.1", EVIDENCE_TRACEBACK, true, true, "DistNetworkError",
     "Failed to recv, got 0 bytes", "/app/train.py"},
    {"store_timed_out.1", EVIDENCE_TRACEBACK, true, true, "DistStoreError",
     "wait timeout after 2000ms", "/app/train.py"},
    {"timed_out.0", EVIDENCE_TRACEBACK, true, true, "RuntimeError",
     "Timed out waiting 2000ms for recv", "/app/train.py"},
    {"value_error.0", EVIDENCE_TRACEBACK, true, true, "RuntimeError", "Connection closed by peer",
     "/app/train.py"},
    {"value_error.1", EVIDENCE_TRACEBACK, false, true, "ValueError", "bad batch 7",
     "/app/train.py"},
    {"asserted.0", EVIDENCE_FATAL_LINE, false, false, "", "Assertion `zero != 0", ""},
    {"at_exit.0", EVIDENCE_TRACEBACK, false, true, "RuntimeError", "loss is not a number",
     "/app/train.py"},
    {"exit_code.0", EVIDENCE_NONE, false, false, "", "", ""},
    {"heap_overrun.0", EVIDENCE_FATAL_LINE, false, false, "", "malloc(): corrupted top size", ""},
    {"in_pool.0", EVIDENCE_TRACEBACK, false, true, "ValueError", "bad batch 6", "/app/train.py"},
    {"leaked.0", EVIDENCE_FATAL_LINE, false, false, "",
     "ERROR: LeakSanitizer: detected memory leaks", ""},
    {"loader_bus.0", EVIDENCE_TRACEBACK, false, true, "RuntimeError",
     "DataLoader worker (pid(s) 4242) exited unexpectedly", "/app/train.py"},
    {"loader_told.0", EVIDENCE_TRACEBACK, true, true, "RuntimeError",
     "DataLoader worker (pid(s) 4242) exited unexpectedly", "/app/train.py"},
    {"monitored.0", EVIDENCE_TRACEBACK, true, true, "RuntimeError",
     "failed to pass monitoredBarrier in 2000 ms", "/app/train.py"},
    {"no_library.0", EVIDENCE_FATAL_LINE, false, false, "",
     "error while loading shared libraries: libanswer.so", ""},
    {"no_module.0", EVIDENCE_FATAL_LINE, false, false, "", "No module named 'trainer'", ""},
    {"noted.0", EVIDENCE_TRACEBACK, false, true, "ValueError",
     "bad batch 9\nin epoch 3\nof shard 12", "/app/train.py"},
    {"overflow.0", EVIDENCE_FATAL_LINE, false, false, "", "runtime error: signed integer overflow",
     ""},
    {"port_taken.0", EVIDENCE_TRACEBACK, false, true, "DistNetworkError", "address already in use",
     "/app/train.py"},
    {"quoted/asked_to_dump.6", EVIDENCE_FATAL_LINE, true, false, "",
     "due to collective timeout or exception", ""},
    {"quoted/cuda_assert.0", EVIDENCE_TRACEBACK, false, true, "RuntimeError",
     "CUDA error: device-side assert triggered", "/app/train.py"},
    {"quoted/cuda_memory.0", EVIDENCE_TRACEBACK, false, true, "OutOfMemoryError",
     "CUDA out of memory. Tried to allocate 3.91 GiB", "/app/train.py"},
    {"quoted/duplicate_gpu.1", EVIDENCE_TRACEBACK, false, true, "DistBackendError",
     "Duplicate GPU detected : rank 1 and rank 0", "/app/train.py"},
    {"quoted/monitor_stuck.2", EVIDENCE_FATAL_LINE, true, false, "",
     "ProcessGroupNCCL's watchdog got stuck for 540 seconds", ""},
    {"quoted/mpi_crash.0", EVIDENCE_FATAL_LINE, false, false, "", "Segmentation fault (11)", ""},
    {"quoted/mpi_error.1", EVIDENCE_FATAL_LINE, false, false, "",
     "MPI_ERR_TRUNCATE: message truncated", ""},
    {"quoted/mpich_abort.1", EVIDENCE_FATAL_LINE, false, false, "",
     "application called MPI_Abort(MPI_COMM_WORLD, 17)", ""},
    {"quoted/nccl_cuda.0", EVIDENCE_TRACEBACK, false, true, "DistBackendError",
     "Cuda failure 'an illegal memory access", "/app/train.py"},
    {"quoted/nccl_remote.0", EVIDENCE_TRACEBACK, true, true, "DistBackendError",
     "remote process exited or there was a network error", "/app/train.py"},
    {"quoted/store_gone.1", EVIDENCE_NONE, false, false, "", "", ""},
    {"quoted/watchdog.3", EVIDENCE_FATAL_LINE, true, false, "c10::DistBackendError",
     "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4120", ""},
    {"recursion.0", EVIDENCE_TRACEBACK, false, true, "RecursionError",
     "maximum recursion depth exceeded", "/app/train.py"},
    {"spawn.0", EVIDENCE_TRACEBACK, false, true, "ValueError", "bad batch 0", "/app/train.py"},
    {"stack_overrun.0", EVIDENCE_FATAL_LINE, false, false, "", "*** stack smashing detected ***",
     ""},
    {"state_dict.0", EVIDENCE_TRACEBACK, false, true, "RuntimeError",
     "Error(s) in loading state_dict for Linear:\n Missing key(s)", "/app/train.py"},
    {"task_group.0", EVIDENCE_TRACEBACK, false, true, "ConnectionError", "no answer for shard 1",
     "/app/train.py"},
    {"thread_left.0", EVIDENCE_FATAL_LINE, false, false, "",
     "terminate called without an active exception", ""},
    {"thrown.0", EVIDENCE_FATAL_LINE, false, false, "std::runtime_error",
     "kernel 3 has no such layout", ""},
    {"told_to_exit.0", EVIDENCE_NONE, false, false, "", "", ""},
    {"used_after_free.0", EVIDENCE_FATAL_LINE, false, false, "",
     "ERROR: AddressSanitizer: heap-use-after-free", ""},
    {"while_deleting.0", EVIDENCE_TRACEBACK, false, true, "KeyError", "'lr'", "/app/train.py"},
};

#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

static void check_sample(const struct sample *sample)
{
    const struct finding *found = evidence_finding(&evidence, false);

    if (!found || sample->kind == EVIDENCE_NONE) {
        tap_ok(!found && sample->kind == EVIDENCE_NONE);
        return;
    }
    tap_eq_str(evidence_word(found->kind), evidence_word(sample->kind));
    tap_eq_int(found->echo, sample->echo);
    tap_eq_str(found->type, sample->type);
    tap_has_str(found->message, sample->message);
    tap_eq_str(found->file, sample->file);
    tap_eq_int(found->line > 0, sample->placed);
    tap_eq_int(found->at_ns, 5);
}

TEST(what_real_programs_say_is_understood)
{
    static char text[1 << 16];

    for (size_t i = 0; i < SAMPLES; i++) {
        char name[64];
        size_t len;

        snprintf(name, sizeof(name), "%s.txt", samples[i].name);
        printf("# %s\n", name);
        len = load(name, text, sizeof(text));
        feed_split(text, len, 0);
        check_sample(&samples[i]);
    }
}

TEST(any_splitting_gives_the_same)
{
    static char text[1 << 16];

    dice_start(7);
    for (size_t i = 0; i < SAMPLES; i++) {
        static struct finding whole;
        char name[64], tail_room[2][EVIDENCE_TAIL_MAX + 1];
        size_t len;

        snprintf(name, sizeof(name), "%s.txt", samples[i].name);
        len = load(name, text, sizeof(text));
        feed_split(text, len, 0);
        if (evidence_finding(&evidence, false))
            whole = *evidence_finding(&evidence, false);
        for (unsigned int seed = 1; seed < 12; seed++) {
            struct buf tails[2] = {BUF_OVER(tail_room[0]), BUF_OVER(tail_room[1])};

            feed_split(text, len, 0);
            evidence_tail(&evidence, 20, &tails[0]);
            feed_split(text, len, seed);
            evidence_tail(&evidence, 20, &tails[1]);
            tap_eq_str(tails[1].data, tails[0].data);
            if (samples[i].kind == EVIDENCE_NONE)
                tap_ok(evidence_finding(&evidence, false) == NULL);
            else
                tap_ok(same(&whole, evidence_finding(&evidence, false)));
        }
    }
}

TEST(the_traceback_of_a_chain_tells_both)
{
    static char text[4096];
    size_t len = load("chained.0.txt", text, sizeof(text));

    feed_split(text, len, 0);
    tap_has_str(evidence_finding(&evidence, false)->traceback, "KeyError: 'lr'\n");
    tap_has_str(evidence_finding(&evidence, false)->traceback, "RuntimeError: no learning rate\n");
}

TEST(torch_prefix_and_colours_go)
{
    is(heard("[rank13]: Traceback (most recent call last):\n"
             "[rank13]:   File \"a.py\", line 3, in f\n"
             "[rank13]: pkg.mod.Boom: \033[1mx\033[0m\n"),
       EVIDENCE_TRACEBACK, "Boom", "x");
    tap_eq_int(evidence_finding(&evidence, false)->line, 3);
    is(heard("Traceback (most recent call last):\n"
             "  File \033[35m\"a.py\"\033[0m, line \033[35m9\033[0m, in \033[35mf\033[0m\n"
             "\033[1;35mKeyError\033[0m: \033[35m'x'\033[0m\n"),
       EVIDENCE_TRACEBACK, "KeyError", "'x'");
    tap_eq_int(evidence_finding(&evidence, false)->line, 9);
}

TEST(a_progress_bar_may_stand_before_it)
{
    is(heard("\r 10%|#   | 1/10\r 20%|##  | 2/10 [00:01<00:09]Traceback (most recent call last):\n"
             "  File \"a.py\", line 3, in f\nValueError: x\n"),
       EVIDENCE_TRACEBACK, "ValueError", "x");
    is(heard("\r 10%|#   | 1/10\rTraceback (most recent call last):\r\n"
             "  File \"a.py\", line 3, in f\r\nValueError: x\r\n"),
       EVIDENCE_TRACEBACK, "ValueError", "x");
}

TEST(an_unfinished_last_line_counts_at_the_end)
{
    start();
    say("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: x");
    tap_ok(evidence_finding(&evidence, false) == NULL);
    evidence_end(&evidence, 9);
    is(evidence_finding(&evidence, false), EVIDENCE_TRACEBACK, "ValueError", "x");
    tap_eq_int(evidence_finding(&evidence, false)->at_ns, 5);
}

TEST(library_frames_are_not_the_place)
{
    const struct finding *found;

    found = heard("Traceback (most recent call last):\n"
                  "  File \"/app/train.py\", line 3, in f\n"
                  "  File \"/usr/lib/python3.11/json/__init__.py\", line 346, in loads\n"
                  "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n");
    tap_eq_str(found->file, "/app/train.py");
    found = heard(
        "Traceback (most recent call last):\n"
        "  File \"<frozen runpy>\", line 198, in _run_module_as_main\n"
        "  File \"/opt/v/lib/python3.11/site-packages/a/__main__.py\", line 5, in <module>\n"
        "ValueError: x\n");
    tap_eq_str(found->file, "/opt/v/lib/python3.11/site-packages/a/__main__.py");
    tap_eq_int(found->line, 5);
}

TEST(a_syntax_error_has_no_header)
{
    is(heard(
           "  File \"/app/train.py\", line 12\n    def f(:\n          ^\nSyntaxError: invalid syntax\n"),
       EVIDENCE_TRACEBACK, "SyntaxError", "invalid syntax");
    tap_eq_int(evidence_finding(&evidence, false)->line, 12);
}

TEST(a_handled_traceback_is_no_failure_of_a_living_rank)
{
    start();
    say("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: x\n");
    tap_ok(evidence_finding(&evidence, true) != NULL);
    say("\n");
    for (int i = 0; i < 3; i++)
        say_at(EVIDENCE_STDOUT, "epoch 3\n", 6);
    tap_ok(evidence_finding(&evidence, true) != NULL);
    say("epoch 4\n");
    tap_ok(evidence_finding(&evidence, true) == NULL);
    is(evidence_finding(&evidence, false), EVIDENCE_TRACEBACK, "ValueError", "x");
    /* The next one is another matter. */
    say_at(EVIDENCE_STDERR,
           "Traceback (most recent call last):\n  File \"a.py\", line 4, in f\nKeyError: 1\n", 9);
    is(evidence_finding(&evidence, true), EVIDENCE_TRACEBACK, "KeyError", "1");
    tap_eq_int(evidence_finding(&evidence, true)->at_ns, 9);
}

TEST(the_noise_of_a_teardown_is_not_going_on)
{
    start();
    say("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: x\n\n");
    say("[rank1]:[W1130 21:55:35.420750228 ProcessGroup.cpp:1] Warning: destroy_process_group() was not called\n");
    say("Exception ignored in: <function f at 0x7f0>\nTraceback (most recent call last):\n"
        "  File \"b.py\", line 9, in __del__\nAttributeError: gone\n\n");
    say("/usr/lib/python3.11/tempfile.py:9: ResourceWarning: Implicitly cleaning up\n  warnings.warn(\n");
    say("wandb: waiting\nwandb: waiting\nwandb: waiting\nwandb: waiting\n");
    is(evidence_finding(&evidence, true), EVIDENCE_TRACEBACK, "ValueError", "x");
}

TEST(the_same_error_logged_and_raised_keeps_its_first_time)
{
    start();
    say_at(EVIDENCE_STDOUT,
           "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: x\n", 3);
    say_at(EVIDENCE_STDERR,
           "Traceback (most recent call last):\n  File \"a.py\", line 9, in g\nValueError: x\n", 8);
    is(evidence_finding(&evidence, true), EVIDENCE_TRACEBACK, "ValueError", "x");
    tap_eq_int(evidence_finding(&evidence, true)->at_ns, 3);
    tap_eq_int(evidence_finding(&evidence, true)->line, 9);
}

TEST(a_real_error_stands_against_an_echo_and_an_interrupt)
{
    start();
    say("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: x\n\n");
    say("Traceback (most recent call last):\n  File \"a.py\", line 9, in g\n"
        "RuntimeError: [gloo/pair.cc:1] Connection closed by peer\n\n");
    say("Traceback (most recent call last):\n  File \"a.py\", line 9, in g\nKeyboardInterrupt\n\n");
    say("terminate called without an active exception\nFatal Python error: Aborted\n\n");
    is(evidence_finding(&evidence, true), EVIDENCE_TRACEBACK, "ValueError", "x");
}

TEST(a_real_error_replaces_an_echo)
{
    start();
    say("Traceback (most recent call last):\n  File \"a.py\", line 9, in g\n"
        "ConnectionResetError: [Errno 104] Connection reset by peer\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n  File \"a.py\", line 12, in g\nValueError: no data\n");
    is(evidence_finding(&evidence, true), EVIDENCE_TRACEBACK, "ValueError", "no data");
    tap_ok(!evidence_finding(&evidence, true)->echo);
}

TEST(nccl_tells_the_loss_on_its_second_line)
{
    const struct finding *found = heard(
        "Traceback (most recent call last):\n  File \"a.py\", line 9, in g\n"
        "torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1691, unhandled\n"
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting.\n"
        "Last error:\nsocketProgress: Connection closed by remote peer node1<1234>\n");

    tap_eq_str(found->type, "DistBackendError");
    tap_ok(found->echo);
    tap_has_str(found->message, "ncclRemoteError");
}

TEST(cpp_terminate_says_what)
{
    is(heard(
           "terminate called after throwing an instance of 'std::runtime_error'\n  what():  bad weights\n"),
       EVIDENCE_FATAL_LINE, "std::runtime_error", "bad weights");
    is(heard("terminate called after throwing an instance of 'gloo::IoException'\n"
             "  what():  [pair.cc:534] Connection closed by peer [::1]:1\n"
             "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
             "  File \"/usr/lib/python3/dist-packages/torch/x.py\", line 2 in wait\n"
             "  File \"a.py\", line 7 in step\n\nExtension modules: numpy (total: 1)\n"),
       EVIDENCE_FAULTHANDLER, "gloo::IoException",
       "[pair.cc:534] Connection closed by peer [::1]:1");
    tap_ok(evidence_finding(&evidence, false)->echo);
    tap_eq_str(evidence_finding(&evidence, false)->file, "a.py");
    tap_eq_int(evidence_finding(&evidence, false)->line, 7);
}

TEST(lines_that_only_look_fatal)
{
    static const char *const lines[] = {
        "12:33:01 INFO runtime error: none",
        "see train.c for: runtime error: x",
        "Failed to find a cache, building it",
        "[I1130 20:00:00 ProcessGroupNCCL.cpp:7] [Rank 0] ProcessGroupNCCL initialization options",
        "Fatality: none",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char line[256];

        snprintf(line, sizeof(line), "starting\n%s\n", lines[i]);
        tap_ok(heard(line) == NULL);
    }
}

TEST(fatal_lines)
{
    static const char *const lines[] = {
        "free(): invalid pointer",
        "malloc(): corrupted top size",
        "*** stack smashing detected ***: terminated",
        "Segmentation fault (core dumped)",
        "malloc_consolidate(): unaligned fastbin chunk detected",
        "realloc(): invalid next size",
        "munmap_chunk(): invalid pointer",
        "corrupted size vs. prev_size while consolidating",
        "corrupted double-linked list (not small)",
        "*** buffer overflow detected ***: terminated",
        "Fatal glibc error: pthread_mutex_lock.c:450 (x): assertion failed: e != ESRCH || !robust",
        "Bus error (core dumped)",
        "Illegal instruction (core dumped)",
        "Floating point exception (core dumped)",
        "CUDA error: device-side assert triggered",
        "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
        "cuBLAS error: CUBLAS_STATUS_INTERNAL_ERROR",
        "NCCL error in: x.cpp:7, invalid usage",
        "Failed: NCCL error all_reduce.cu:7 'unhandled cuda error'",
        "Failed, NCCL error all_reduce.cu:7 'unhandled cuda error'",
        "Failed: Cuda error all_reduce.cu:7 'out of memory'",
        "Failed, CUDA error all_reduce.cu:7 'out of memory'",
        "/x/Indexing.cu:7: operator(): block: [0,0,0], thread: [1,0,0] Assertion `i < n` failed.",
        "Assertion failed: x > 0 (train.c: main: 7)",
        "terminating with uncaught exception of type std::runtime_error: x",
        "libc++abi: terminating due to uncaught exception of type Boom",
        "fatal error: all goroutines are asleep - deadlock!",
        "panic: runtime error: index out of range [3] with length 3",
        "train.c:7:3: runtime error: signed integer overflow: 2147483647 + 1 cannot be shown",
        "==12==ERROR: LeakSanitizer: detected memory leaks",
        "==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x1",
        "train: train.c:7: main: Assertion `0' failed.",
        "/usr/bin/python3: can't open file '/app/no.py': [Errno 2] No such file or directory",
        "/usr/bin/python3: No module named train",
        "./train: error while loading shared libraries: libcuda.so.1: cannot open shared object file",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char line[256];

        snprintf(line, sizeof(line), "starting\n%s\n", lines[i]);
        is(heard(line), EVIDENCE_FATAL_LINE, "", lines[i]);
        tap_ok(evidence_finding(&evidence, true) != NULL);
    }
}

TEST(ordinary_lines_say_nothing)
{
    static const char *const lines[] = {
        "step 1: loss 0.5",
        "INFO: ready",
        "ERROR:root:skipping",
        "Epoch: 3",
        "[rank 0] 12:00 Traceback is off",
        "  File x",
        "warning: none",
        "[F1130 21:55] words",
        "[F1130] x.cpp:1 words",
        "[I1130 21:55 x.cpp:1] [PG 0 Rank 1] Terminating nothing",
        "[a] Signal: strong",
        "[a:1b] Signal: strong",
        "Signal: strong",
        "MPI: ready",
        "Abort (3)",
        "http://host:80/x",
        "",
        " ",
        "[",
        "[rank1]:",
        "[rank1]: ",
        ":",
        "(",
        "=",
        "==",
        "*",
        "\033[",
        "\033",
        "[W1130 21:55 TCPStore.cpp:1] [c10d] recvValue failed on SocketImpl: Connection reset by peer",
        "/usr/lib/x.py:3: UserWarning: Error: nothing",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char line[256];

        snprintf(line, sizeof(line), "%s\n", lines[i]);
        if (!tap_ok(heard(line) == NULL))
            printf("# %s\n", lines[i]);
    }
}

TEST(a_bare_error_line_counts_only_for_the_dead)
{
    const struct finding *found = heard("RuntimeError: Connection closed by peer\n");

    is(found, EVIDENCE_FATAL_LINE, "RuntimeError", "Connection closed by peer");
    tap_ok(found && found->echo);
    tap_ok(evidence_finding(&evidence, true) == NULL);
    say("Traceback (most recent call last):\n  File \"a.py\", line 9, in g\nKeyError: 1\n");
    is(evidence_finding(&evidence, true), EVIDENCE_TRACEBACK, "KeyError", "1");
}

TEST(nothing_replaces_what_was_told_before_we_signalled)
{
    start();
    say("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: x\n\n");
    evidence_seal(&evidence);
    say("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nRuntimeError: DataLoader worker is killed\n\n");
    for (int i = 0; i < 20; i++)
        say("saving the checkpoint\n");
    is(evidence_finding(&evidence, true), EVIDENCE_TRACEBACK, "ValueError", "x");
}

TEST(lines_of_the_other_stream_do_not_disturb)
{
    start();
    say("Traceback (most recent call last):\n");
    say_at(EVIDENCE_STDOUT, "IndexError: not this\nstep 3\n", 5);
    say("  File \"a.py\", line 3, in f\n");
    say_at(EVIDENCE_STDOUT, "step 4\n", 5);
    say("ValueError: x\n");
    is(evidence_finding(&evidence, true), EVIDENCE_TRACEBACK, "ValueError", "x");
}

TEST(other_writers_lines_within_a_traceback_are_skipped)
{
    is(heard("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n"
             "INFO: step 5\nwandb: 3\nstep 6\n    raise ValueError(x)\nValueError: x\n"),
       EVIDENCE_TRACEBACK, "ValueError", "x");
    tap_ok(!strstr(evidence_finding(&evidence, false)->traceback, "step 5"));
    tap_ok(heard("Traceback (most recent call last):\nlog 1\nlog 2\nlog 3\nlog 4\nlog 5\nlog 6\n"
                 "log 7\nlog 8\nlog 9\nlog 10\nEpoch: 1\n") == NULL);
}

TEST(nested_groups_give_their_first_error)
{
    is(heard("  + Exception Group Traceback (most recent call last):\n"
             "  |   File \"a.py\", line 20, in main\n"
             "  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)\n"
             "  +-+---------------- 1 ----------------\n"
             "    | Exception Group Traceback (most recent call last):\n"
             "    |   File \"a.py\", line 10, in inner\n"
             "    | ExceptionGroup: more (1 sub-exception)\n"
             "    +-+---------------- 1 ----------------\n"
             "      | Traceback (most recent call last):\n"
             "      |   File \"b.py\", line 5, in leaf\n"
             "      | ValueError: first\n"
             "      +------------------------------------\n"
             "    +---------------- 2 ----------------\n"
             "    | Traceback (most recent call last):\n"
             "    |   File \"c.py\", line 6, in leaf\n"
             "    | KeyError: 'second'\n"
             "    +------------------------------------\n"),
       EVIDENCE_TRACEBACK, "ValueError", "first");
    tap_eq_str(evidence_finding(&evidence, false)->file, "b.py");
}

TEST(a_long_traceback_keeps_head_and_tail)
{
    const struct finding *found;

    start();
    say("Traceback (most recent call last):\n  File \"head.py\", line 1, in <module>\n");
    for (int i = 0; i < 400; i++)
        say("  File \"middle.py\", line 2, in f\n    return f(x - 1)\n");
    say("  File \"tail.py\", line 3, in g\nRecursionError: maximum recursion depth exceeded\n");
    found = evidence_finding(&evidence, true);
    is(found, EVIDENCE_TRACEBACK, "RecursionError", "maximum recursion depth exceeded");
    tap_has_str(found->traceback, "head.py");
    tap_has_str(found->traceback, "  ...\n");
    tap_has_str(found->traceback, "tail.py");
    tap_ok(strlen(found->traceback) > FINDING_TRACEBACK_MAX / 2);
}

TEST(the_tail_keeps_the_last_whole_lines)
{
    char room[EVIDENCE_TAIL_MAX + 1];
    struct buf out = BUF_OVER(room);

    start();
    evidence_tail(&evidence, 3, &out);
    tap_eq_str(room, "");
    say("one\n\n  10%\r  20%\rtwo\r\n\033[1mthr\tee\033[0m\nfour");
    say_at(EVIDENCE_STDOUT, "not this\n", 5);
    evidence_tail(&evidence, 2, &out);
    tap_eq_str(room, "two\nthr ee");
    evidence_end(&evidence, 5);
    buf_reset(&out);
    evidence_tail(&evidence, 20, &out);
    tap_eq_str(room, "one\ntwo\nthr ee\nfour");
    for (int i = 0; i < 1000; i++)
        say("a line of some length that fills the ring\n");
    say("last\n");
    buf_reset(&out);
    evidence_tail(&evidence, 2, &out);
    tap_eq_str(room, "a line of some length that fills the ring\nlast");
    buf_reset(&out);
    evidence_tail(&evidence, 1000, &out);
    tap_ok(out.len > 3000);
    tap_ok(strncmp(room, "a line of", 9) == 0);
}

TEST(a_full_tail_of_one_line_is_cut_to_what_is_whole)
{
    static char line[2000];
    char room[EVIDENCE_TAIL_MAX + 1];
    struct buf out = BUF_OVER(room);

    memset(line, 'x', sizeof(line) - 2);
    line[sizeof(line) - 2] = '\n';
    start();
    for (int i = 0; i < 20; i++)
        say(line);
    evidence_tail(&evidence, 100, &out);
    tap_eq_uint(out.len, 7 * (EVIDENCE_LINE_MAX + 1) - 1);
}

static char arena_memory[1 << 18];

static bool read_file(const char *text, struct finding *ret)
{
    static struct json_arena arena;

    json_setup(&arena, arena_memory, sizeof(arena_memory), sizeof(arena_memory));
    json_begin(&arena);
    memset(ret, 0, sizeof(*ret));
    return evidence_read_error_file(text, strlen(text), 77, ret);
}

TEST(a_real_error_file)
{
    static char text[8192];
    static struct finding found;

    text[load("recorded.0.json", text, sizeof(text) - 1)] = '\0';
    tap_ok(read_file(text, &found));
    is(&found, EVIDENCE_ERROR_FILE, "ValueError", "bad batch 11");
    tap_eq_str(found.file, "/app/train.py");
    tap_has_str(found.traceback, "in load_batch\n");
    tap_eq_int(found.at_ns, 77);
    tap_ok(!found.echo);
}

/* Ranks of which one was read by its file and one by its words may have failed alike. */
TEST(an_error_file_and_a_traceback_have_the_same_frames)
{
    static char text[8192];
    static struct finding found;
    uint64_t frames;

    text[load("recorded.0.json", text, sizeof(text) - 1)] = '\0';
    tap_ok(read_file(text, &found));
    frames = found.frames;
    text[load("recorded.0.txt", text, sizeof(text) - 1)] = '\0';
    tap_ok(frames != 0 && heard(text) && evidence_finding(&evidence, false)->frames == frames);
}

TEST(error_files_of_other_forms)
{
    static struct finding found;

    tap_ok(read_file("{\"message\": \"flat: yes\", \"timestamp\": 12}", &found));
    is(&found, EVIDENCE_ERROR_FILE, "", "flat: yes");
    tap_ok(read_file("{\"message\": {\"message\": \"KeyError: 'a'\\nmore\"}}", &found));
    is(&found, EVIDENCE_ERROR_FILE, "KeyError", "'a'\nmore");
    tap_ok(read_file("{\"message\": {\"message\": \"RuntimeError: Connection closed by peer\"}}",
                     &found));
    tap_ok(found.echo);
    tap_ok(!read_file("", &found));
    tap_ok(!read_file("[[[", &found));
    tap_ok(!read_file("{\"message\": 3}", &found));
    tap_ok(!read_file("{\"message\": {\"message\": null}}", &found));
    tap_ok(!read_file("[\"message\"]", &found));
}

TEST(an_error_file_whose_chain_ends_in_an_echo_tells_the_real_error)
{
    static struct finding found;

    tap_ok(read_file(
        "{\"message\": {\"message\": \"RuntimeError: Connection closed by peer\", \"extraInfo\": "
        "{\"py_callstack\": \"Traceback (most recent call last):\\n  File \\\"a.py\\\", line 3, in f\\n"
        "ValueError: x\\n\\nDuring handling of the above exception, another exception occurred:\\n\\n"
        "Traceback (most recent call last):\\n  File \\\"b.py\\\", line 4, in g\\n"
        "RuntimeError: Connection closed by peer\\n\", \"timestamp\": 5}}}",
        &found));
    is(&found, EVIDENCE_ERROR_FILE, "ValueError", "x");
    tap_ok(!found.echo);
    tap_eq_str(found.file, "a.py");
    tap_ok(read_file("{\"message\": {\"message\": \"ValueError: Caught ValueError in DataLoader "
                     "worker process 0.\\nOriginal\", \"extraInfo\": {\"py_callstack\": "
                     "\"Traceback (most recent call last):\\n  File \\\"a.py\\\", line 3, in f\\n"
                     "ValueError: Caught ValueError in DataLoader worker process 0.\\n"
                     "Original Traceback (most recent call last):\\n"
                     "  File \\\"b.py\\\", line 4, in g\\nValueError: bad\\n\"}}}",
                     &found));
    is(&found, EVIDENCE_ERROR_FILE, "ValueError", "bad");
    tap_eq_str(found.file, "b.py");
}

TEST(echoes_and_timeouts)
{
    tap_ok(evidence_is_echo("[pair.cc:598] Connection closed by peer [127.0.0.1]:1"));
    tap_ok(evidence_is_echo("Connection reset by peer"));
    tap_ok(evidence_is_echo("[Errno 32] Broken pipe"));
    tap_ok(!evidence_is_echo("bad batch"));
    tap_ok(!evidence_is_echo(""));
    tap_ok(!evidence_is_timeout("Connection closed by peer"));
    tap_ok(evidence_is_timeout("Timed out waiting 1800000ms for recv operation to complete"));
    tap_ok(evidence_is_timeout("Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3)"));
}

/* Pieces that the reader knows, among random bytes: any mixture must be safe and bounded. */
TEST(random_bytes_do_no_harm)
{
    static const char *const pieces[] = {
        "Traceback (most recent call last):\n",
        "  File \"a.py\", line 3, in f\n",
        "ValueError: x\n",
        "\n",
        "  + Exception Group Traceback (most recent call last):\n",
        "  | ",
        "  +-+---- 1 ----\n",
        "    +----\n",
        "During handling of the above exception, another exception occurred:\n",
        "Fatal Python error: x\n",
        "Current thread 0x1 (most recent call first):\n",
        "terminate called after throwing an instance of '",
        "  what():  ",
        "[rank1]: ",
        "[rank1]:",
        "\r",
        "\r\n",
        "\033[31m",
        "\033[",
        "Exception ignored in",
        "Original Traceback (most recent call last):\n",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "\xF0\x9F",
        "File \"",
        "\", line 99999999999999999999\n",
        "ExceptionGroup: g\n",
        "x: Assertion `",
        "==1==ERROR: ",
        ": ",
    };
    static char text[8192];
    static struct finding whole;

    dice_start(11);
    for (int round = 0; round < 400; round++) {
        size_t len = 0;
        bool any;

        while (len < sizeof(text) - 200) {
            const char *piece = pieces[dice((int)(sizeof(pieces) / sizeof(pieces[0])))];
            size_t size = strlen(piece);

            if (dice(8) == 0) {
                text[len++] = (char)dice(256);
                continue;
            }
            memcpy(text + len, piece, size);
            len += size;
        }
        feed_split(text, len, 0);
        any = evidence_finding(&evidence, false) != NULL;
        if (any)
            whole = *evidence_finding(&evidence, false);
        feed_split(text, len, (unsigned int)round % 3 + 1);
        tap_eq_int(evidence_finding(&evidence, false) != NULL, any);
        if (any)
            tap_ok(same(&whole, evidence_finding(&evidence, false)));
        tap_ok(!any || (memchr(whole.message, 0, sizeof(whole.message)) &&
                        memchr(whole.traceback, 0, sizeof(whole.traceback))));
    }
}

TEST(endless_lines_are_bounded)
{
    static char block[1 << 16];

    memset(block, 'T', sizeof(block));
    start();
    for (int i = 0; i < 200; i++)
        evidence_feed(&evidence, EVIDENCE_STDERR, block, sizeof(block), i);
    say("\nTraceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: x\n");
    is(evidence_finding(&evidence, true), EVIDENCE_TRACEBACK, "ValueError", "x");
}

TAP_MAIN()
