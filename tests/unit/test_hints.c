/* What to do about it: a test for each row of the table, and what the list does. */
#include "report/hints.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tap.h"

#define SECOND 1000000000LL
#define MIB    (1LL << 20)

static struct plan plan;
static struct outcome outcome;
static struct verdict verdict;
static struct hints hints;
static char *words[] = {(char[]){"/app/train"}, NULL};

static void start(int count)
{
    struct err err = ERR_INIT;

    memset(&plan, 0, sizeof(plan));
    plan.mode = PLAN_FANOUT;
    plan.job = (struct plan_job){.nnodes = 1, .nproc = count, .world_size = count};
    plan.argv.items = words;
    plan.argv.count = 1;
    plan.output.tail_lines = 20;
    plan.shm_bytes = -1;
    plan.memory_limit_bytes = -1;
    outcome_release(&outcome);
    tap_eq_int(outcome_init(&outcome, &plan, &err), 0);
    for (int i = 0; i < count; i++)
        outcome_note_started(&outcome, i, 100 + i, 0);
}

static void says(int rank, const char *line)
{
    evidence_feed(outcome.ranks[rank].evidence, EVIDENCE_STDERR, line, strlen(line), SECOND);
    evidence_feed(outcome.ranks[rank].evidence, EVIDENCE_STDERR, "\n", 1, SECOND);
}

static void dies(int rank, int signal)
{
    outcome_note_ended(&outcome, rank, W_EXITCODE(0, signal), SECOND);
}

static void finish(void)
{
    outcome.done = true;
    outcome_judge(&outcome, &plan, &verdict);
    hints_make(&plan, &outcome, &verdict, &hints);
}

/* One hint, with these parts. */
static void is(const char *part, const char *remedy)
{
    tap_eq_int(hints.count, 1);
    if (hints.count == 1) {
        tap_has_str(hints.texts[0], part);
        tap_has_str(hints.texts[0], remedy);
        tap_ok(strlen(hints.texts[0]) < HINT_MAX - 1);
    }
}

/* Rank 0 of one fails with this line. */
static void fails(const char *line)
{
    start(1);
    says(0, line);
    outcome_note_ended(&outcome, 0, W_EXITCODE(1, 0), SECOND);
    finish();
}

static void cannot_start(int errnum)
{
    start(1);
    outcome_note_start_failed(&outcome, 0, STAGE_EXEC, errnum, SECOND);
    finish();
}

static void stops(int signal, pid_t sender)
{
    start(1);
    outcome_note_stop(&outcome, &(struct outcome_stop){.requested = true,
                                                       .signal = signal,
                                                       .at_ns = SECOND,
                                                       .sender_pid = sender,
                                                       .sender_rank = -1});
    outcome_note_signalled(&outcome, 0, signal, SECOND);
    outcome_note_ended(&outcome, 0, W_EXITCODE(0, signal), 2 * SECOND);
}

TEST(nothing_known_nothing_said)
{
    fails("ValueError: bad batch");
    tap_eq_int(hints.count, 0);
    start(1);
    outcome_note_ended(&outcome, 0, 0, SECOND);
    finish();
    tap_eq_int(hints.count, 0);
}

TEST(sigbus_and_little_shared_memory)
{
    start(1);
    plan.shm_bytes = 64 * MIB;
    outcome.shm_free_bytes = 2 * MIB;
    dies(0, SIGBUS);
    finish();
    is("/dev/shm has 64 MiB, of which 2 MiB were free: too little", "--shm-size");
}

TEST(a_loader_worker_that_died_of_sigbus)
{
    start(1);
    plan.shm_bytes = 64 * MIB;
    says(0, "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is "
            "possible that dataloader's workers are out of shared memory.");
    outcome_note_ended(&outcome, 0, W_EXITCODE(1, 0), SECOND);
    finish();
    is("/dev/shm has 64 MiB: too little", "medium: Memory");
}

TEST(much_shared_memory_but_full)
{
    start(1);
    plan.shm_bytes = 65536 * MIB;
    outcome.shm_free_bytes = MIB;
    dies(0, SIGBUS);
    finish();
    is("/dev/shm has 65536 MiB, of which 1 MiB were free", "--shm-size");
}

TEST(sigbus_for_another_reason)
{
    start(1);
    plan.shm_bytes = 65536 * MIB;
    outcome.shm_free_bytes = 60000 * MIB;
    dies(0, SIGBUS);
    finish();
    is("SIGBUS, though /dev/shm has room", "mapped file");
}

static void is_killed_for_memory(uint64_t kills)
{
    start(2);
    plan.memory_limit_bytes = 96 * MIB;
    outcome.oom_known = true;
    outcome.oom_kills = kills;
    outcome.memory_peak_bytes = 96 * MIB;
    outcome.ranks[1].oom = true;
    dies(1, SIGKILL);
    outcome_note_ended(&outcome, 0, 0, SECOND);
    finish();
}

TEST(out_of_memory_a_rank)
{
    is_killed_for_memory(1);
    is("the kernel killed 1 process of this container for lack of memory, limit 96 MiB, peak 96 "
       "MiB: certainly this rank",
       "raise the memory limit");
    is_killed_for_memory(3);
    is("killed 3 processes", "this rank very likely, and others");
}

TEST(out_of_memory_a_worker_process)
{
    start(1);
    outcome.oom_known = true;
    outcome.oom_kills = 1;
    says(0, "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.");
    outcome_note_ended(&outcome, 0, W_EXITCODE(1, 0), SECOND);
    finish();
    is("likely a worker process", "raise the memory limit");
}

TEST(out_of_memory_beside_success)
{
    start(1);
    outcome.oom_kills = 1;
    outcome_note_ended(&outcome, 0, 0, SECOND);
    finish();
    is("though all ranks ended with 0", "--oom fail");
}

TEST(the_gpu_s_memory)
{
    fails("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.");
    is("the GPU's memory is full", "smaller batches");
}

TEST(a_gpu_that_failed)
{
    fails("RuntimeError: CUDA error: uncorrectable ECC error encountered");
    is("the GPU itself failed", "drain the node");
    start(1);
    says(0, "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.");
    dies(0, SIGABRT);
    finish();
    is("the GPU itself failed", "Xid");
}

TEST(a_driver_too_old)
{
    fails("RuntimeError: CUDA driver version is insufficient for CUDA runtime version");
    is("do not fit", "newer driver");
    fails("RuntimeError: The NVIDIA driver on your system is too old (found version 11040).");
    is("do not fit", "newer driver");
}

TEST(a_device_that_is_not_there)
{
    start(1);
    plan.devices.mode = DEVICE_ISOLATED_KEEP_RANK;
    plan.devices.per_rank = 2;
    says(0, "RuntimeError: CUDA error: invalid device ordinal");
    outcome_note_ended(&outcome, 0, W_EXITCODE(1, 0), SECOND);
    finish();
    is("with --device-mode isolated-keep-rank a rank sees only its own 2", "cuda:0");
    fails("RuntimeError: CUDA error: invalid device ordinal");
    is("the ranks see 0 devices here", "LOCAL_RANK");
}

TEST(nccl_and_the_system)
{
    fails("RuntimeError: NCCL error in: init.cpp:3, unhandled system error, NCCL version 2.21");
    is("NCCL failed in a system call", "NCCL_DEBUG");
}

TEST(a_port_in_use)
{
    fails("RuntimeError: The server socket has failed to listen: EADDRINUSE: Address already in "
          "use");
    is("another process has that port", "--master-port");
    start(1);
    err_set(&outcome.own, ERR_PORT, "port 29500 is taken");
    finish();
    is("another process has that port", "ss -ltnp");
}

TEST(a_full_disk)
{
    fails("OSError: [Errno 28] No space left on device");
    is("is full", "df -h");
}

TEST(a_script_that_cannot_be_read)
{
    fails("python: can't open file '/app/trian.py': [Errno 2] No such file or directory");
    is("the script is not there, or this user may not read it", "mount path");
}

TEST(a_program_for_another_machine)
{
    cannot_start(ENOEXEC);
    is("another architecture", "--platform");
    fails("OSError: [Errno 8] Exec format error: '/app/tool'");
    is("another architecture", "--platform");
}

TEST(a_program_whose_interpreter_is_missing)
{
    cannot_start(ENOENT);
    is("if the file is there", "dynamic loader");
}

TEST(a_program_that_may_not_be_executed)
{
    cannot_start(EACCES);
    is("chmod +x", "noexec");
}

TEST(a_shared_library)
{
    fails("train: error while loading shared libraries: libcuda.so.1: cannot open shared object "
          "file: No such file or directory");
    is("a shared library is not in the image", "ldd");
}

TEST(killed_from_outside)
{
    start(1);
    outcome.oom_known = true;
    dies(0, SIGKILL);
    finish();
    is("nothing in this container sent that SIGKILL", "dmesg");
}

TEST(the_parent_died)
{
    stops(SIGTERM, 55);
    plan.parent_death_signal = SIGTERM;
    finish();
    is("SIGTERM is what -p asks for", "PDEATHSIG");
}

TEST(stopped_from_outside_perhaps_by_a_liveness_probe)
{
    stops(SIGTERM, 0);
    finish();
    is("SIGTERM from outside the container", "liveness probe");
    stops(SIGTERM, 55);
    finish();
    tap_eq_int(hints.count, 0);
}

TEST(asked_twice)
{
    stops(SIGTERM, 55);
    outcome.stop.again = true;
    outcome.killed_ns = 2 * SECOND;
    finish();
    is("second request", "--grace");
}

TEST(killed_after_the_grace)
{
    stops(SIGTERM, 55);
    plan.stop.grace_ns = 20 * SECOND;
    outcome.killed_ns = 2 * SECOND;
    finish();
    is("what had not ended 20.0 s (--grace) after the request was killed",
       "terminationGracePeriodSeconds");
}

TEST(a_code_that_was_mapped)
{
    start(1);
    plan.exit.map[3] = 201;
    outcome_note_ended(&outcome, 0, W_EXITCODE(3, 0), SECOND);
    finish();
    is("exit code 3 is returned as 200", "--exit-map");
}

TEST(others_may_add_theirs)
{
    char text[HINT_MAX * 2];

    fails("OSError: [Errno 28] No space left on device");
    hints_add(&hints, "pid 7 hangs in a file system\x1b");
    hints_add(&hints, hints.texts[0]);
    tap_eq_int(hints.count, 2);
    tap_eq_str(hints.texts[1], "pid 7 hangs in a file system?");
    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 20; i++) {
        text[sizeof(text) - 1 - (size_t)i] = '\0';
        text[0] = (char)('a' + i);
        hints_add(&hints, text);
    }
    tap_eq_int(hints.count, HINTS_MAX);
    tap_eq_int((long long)strlen(hints.texts[HINTS_MAX - 1]), HINT_MAX - 1);
}

TAP_MAIN()
