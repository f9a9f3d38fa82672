/* The verbs that try system calls: which of them a filter leaves. */
#include "payload.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Calls that a default filter denies, each with 1 for every argument: no address, and nothing that
 * has an effect. vhangup is not among them, which would.
 */
#define ROW(name)         \
    {                     \
#name, SYS_##name \
    }
static const struct call {
    const char *name;
    long number;
} denied[] = {
    ROW(mount),
    ROW(umount2),
    ROW(pivot_root),
    ROW(chroot),
    ROW(move_mount),
    ROW(open_tree),
    ROW(mount_setattr),
    ROW(fsopen),
    ROW(fsconfig),
    ROW(fsmount),
    ROW(fspick),
    ROW(swapon),
    ROW(swapoff),
    ROW(reboot),
    ROW(kexec_load),
    ROW(kexec_file_load),
    ROW(init_module),
    ROW(finit_module),
    ROW(delete_module),
    ROW(settimeofday),
    ROW(clock_settime),
    ROW(adjtimex),
    ROW(clock_adjtime),
    ROW(sethostname),
    ROW(setdomainname),
    ROW(acct),
    ROW(quotactl),
    ROW(syslog),
    ROW(setns),
    ROW(bpf),
    ROW(userfaultfd),
    ROW(keyctl),
    ROW(add_key),
    ROW(request_key),
    ROW(open_by_handle_at),
    ROW(name_to_handle_at),
    ROW(fanotify_init),
    ROW(fanotify_mark),
    ROW(io_uring_setup),
    ROW(io_uring_enter),
    ROW(io_uring_register),
    ROW(personality),
    ROW(remap_file_pages),
#ifdef __x86_64__
    ROW(iopl),
    ROW(ioperm),
    ROW(modify_ldt),
    ROW(uselib),
    ROW(ustat),
    ROW(sysfs),
#endif
};

static void show(const char *name, long result)
{
    printf("%s: %s\n", name, result >= 0 ? "ok" : strerrorname_np(errno));
}

/* Whatever it is, it may kill us: in a child. */
static void try_apart(const char *name, long (*call)(void))
{
    int status = 0;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        show(name, call());
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status))
        printf("%s: killed\n", name);
}

static long new_namespace(void)
{
    /* CLONE_NEWUTS; with CLONE_THREAD and without its companions the kernel itself says EINVAL. */
    return syscall(SYS_clone, 0x04010000L, 0L, 0L, 0L, 0L);
}

static long unshare_namespace(void)
{
    /* A flag that nobody has beside it, for the same reason. */
    return syscall(SYS_unshare, 0x04000001L);
}

static long clone_three(void)
{
    return syscall(SYS_clone3, NULL, 0L);
}

#ifdef __x86_64__
static long other_abi(void)
{
    return syscall(0x40000000L | SYS_getpid);
}

static long old_abi(void)
{
    long result = 20; /* getpid of i386 */

    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}
#endif

/* calls-denied: "name: errno" for each. */
int verb_calls_denied(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
        show(denied[i].name, syscall(denied[i].number, 1L, 1L, 1L, 1L, 1L, 1L));
    try_apart("clone a namespace", new_namespace);
    try_apart("unshare a namespace", unshare_namespace);
    try_apart("clone3", clone_three);
#ifdef __x86_64__
    try_apart("x32", other_abi);
    try_apart("i386", old_abi);
#endif
    return 0;
}

/* ---- what CUDA, UCX, gloo, data loaders, NUMA tuning and profilers do ------------------------- */

static long read_other(void)
{
    char from[8] = "abc", to[8];
    struct iovec local = {to, sizeof to}, remote = {from, sizeof from};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
}

static long take_descriptor(void)
{
    long fd = syscall(SYS_pidfd_open, getpid(), 0);

    return fd < 0 ? fd : syscall(SYS_pidfd_getfd, fd, 1, 0);
}

static long bind_memory(void)
{
    void *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return syscall(SYS_mbind, at, 65536UL, 0, NULL, 0UL, 0);
}

static long memory_policy(void)
{
    return syscall(SYS_set_mempolicy, 0, NULL, 0UL);
}

static long move_pages(void)
{
    return syscall(SYS_move_pages, 0, 0UL, NULL, NULL, NULL, 0);
}

static long count_events(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .exclude_kernel = 1};

    return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static long memory_file(void)
{
    return memfd_create("x", 0);
}

static long old_shared_memory(void)
{
    int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    void *at = id < 0 ? NULL : shmat(id, NULL, 0);

    if (id >= 0)
        shmctl(id, IPC_RMID, NULL);
    return id < 0 || at == (void *)-1 ? -1 : 0;
}

static long lock_memory(void)
{
    static char page[4096];

    return mlock(page, sizeof page);
}

static void *nothing(void *context)
{
    return context;
}

static long make_thread(void)
{
    pthread_t thread;

    errno = pthread_create(&thread, NULL, nothing, NULL);
    return errno ? -1 : pthread_join(thread, NULL);
}

static long be_traced(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long bind_cpus(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) < 0 ? -1 : sched_setaffinity(0, sizeof set, &set);
}

static long async_io(void)
{
    unsigned long context = 0;

    return syscall(SYS_io_setup, 4, &context);
}

static long netlink(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
}

static long unshare_files(void)
{
    return syscall(SYS_unshare, 0x400L); /* CLONE_FILES */
}

static long an_event(void)
{
    return eventfd(0, EFD_CLOEXEC);
}

/* calls-needed: the same for what must work as it does without a filter. */
int verb_calls_needed(int argc, char **argv)
{
    static const struct {
        const char *name;
        long (*call)(void);
    } needed[] = {
        {"process_vm_readv", read_other},
        {"pidfd_getfd", take_descriptor},
        {"mbind", bind_memory},
        {"set_mempolicy", memory_policy},
        {"move_pages", move_pages},
        {"perf_event_open", count_events},
        {"memfd_create", memory_file},
        {"shmget", old_shared_memory},
        {"mlock", lock_memory},
        {"a thread", make_thread},
        {"ptrace", be_traced},
        {"sched_setaffinity", bind_cpus},
        {"io_setup", async_io},
        {"netlink", netlink},
        {"unshare files", unshare_files},
        {"eventfd", an_event},
    };

    (void)argc, (void)argv;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        try_apart(needed[i].name, needed[i].call);
    return 0;
}
