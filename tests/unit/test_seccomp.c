#include "sys/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "tap.h"

#ifdef __x86_64__
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

/* What the program answers to a call: the kernel's interpreter for the few steps that filters use. */
static uint32_t answer(const struct seccomp_filter *filter, const struct seccomp_data *call)
{
    uint32_t a = 0;

    for (size_t pc = 0; pc < filter->count; pc++) {
        const struct sock_filter *step = &filter->steps[pc];

        switch (step->code) {
        case BPF_LD | BPF_W | BPF_ABS: memcpy(&a, (const char *)call + step->k, sizeof(a)); break;
        case BPF_ALU | BPF_AND | BPF_K: a &= step->k; break;
        case BPF_JMP | BPF_JA: pc += step->k; break;
        case BPF_JMP | BPF_JEQ | BPF_K: pc += a == step->k ? step->jt : step->jf; break;
        case BPF_JMP | BPF_JGT | BPF_K: pc += a > step->k ? step->jt : step->jf; break;
        case BPF_JMP | BPF_JGE | BPF_K: pc += a >= step->k ? step->jt : step->jf; break;
        case BPF_RET | BPF_K: return step->k;
        default: tap_fail("a step that this test does not know"); return 0;
        }
    }
    tap_fail("the program has no end");
    return 0;
}

static uint32_t ask_as(const struct seccomp_filter *filter, uint32_t arch, int number,
                       uint64_t first)
{
    const struct seccomp_data call = {.nr = number, .arch = arch, .args = {first}};

    return answer(filter, &call);
}

static uint32_t ask(const struct seccomp_filter *filter, long number, uint64_t first)
{
    return ask_as(filter, NATIVE, (int)number, first);
}

#define ALLOWED SECCOMP_RET_ALLOW
#define DENIED  (SECCOMP_RET_ERRNO | EPERM)
#define MISSING (SECCOMP_RET_ERRNO | ENOSYS)

static struct seccomp_filter compile(const char *allow, const char *deny)
{
    const struct security security = {.seccomp = true, .allow = allow, .deny = deny};
    struct seccomp_filter filter = {.steps = NULL};
    struct err err = ERR_INIT;

    tap_eq_int(seccomp_compile(&security, &filter, &err), 0);
    tap_eq_str(err.message, "");
    tap_ok(filter.count > 10);
    return filter;
}

TEST(what_training_never_needs_is_denied)
{
    static const long calls[] = {
        SYS_mount,       SYS_umount2,           SYS_pivot_root,  SYS_chroot,
        SYS_reboot,      SYS_kexec_load,        SYS_init_module, SYS_bpf,
        SYS_keyctl,      SYS_add_key,           SYS_request_key, SYS_setns,
        SYS_userfaultfd, SYS_settimeofday,      SYS_sethostname, SYS_syslog,
        SYS_personality, SYS_open_by_handle_at, SYS_swapon,      SYS_acct,
        SYS_quotactl,    SYS_fanotify_init};
    struct seccomp_filter filter = compile(NULL, NULL);

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (!tap_eq_uint(ask(&filter, calls[i], 0), DENIED))
            printf("# call %ld\n", calls[i]);
    }
    seccomp_release_filter(&filter);
}

TEST(what_training_needs_is_not)
{
    static const long calls[] = {SYS_read,
                                 SYS_write,
                                 SYS_openat,
                                 SYS_execve,
                                 SYS_exit_group,
                                 SYS_mmap,
                                 SYS_futex,
                                 SYS_ptrace,
                                 SYS_mbind,
                                 SYS_set_mempolicy,
                                 SYS_move_pages,
                                 SYS_perf_event_open,
                                 SYS_memfd_create,
                                 SYS_process_vm_readv,
                                 SYS_pidfd_open,
                                 SYS_sched_setaffinity,
                                 SYS_mlock,
                                 SYS_shmget,
                                 SYS_socket,
                                 SYS_ioctl,
                                 SYS_prctl,
                                 SYS_io_setup,
                                 SYS_inotify_init1,
                                 SYS_getrandom,
                                 SYS_process_vm_writev,
                                 SYS_kcmp};
    struct seccomp_filter filter = compile(NULL, NULL);

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (!tap_eq_uint(ask(&filter, calls[i], 0), ALLOWED))
            printf("# call %ld\n", calls[i]);
    }
    seccomp_release_filter(&filter);
}

TEST(namespaces_are_denied_by_flag)
{
    static const uint64_t flags[] = {0x20000,    0x2000000,  0x4000000, 0x8000000,
                                     0x10000000, 0x20000000, 0x40000000};
    struct seccomp_filter filter = compile(NULL, NULL);

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        tap_eq_uint(ask(&filter, SYS_clone, flags[i] | 17), DENIED);
        tap_eq_uint(ask(&filter, SYS_unshare, flags[i]), DENIED);
    }
    /* fork, vfork, a thread, and a signal number with the bit of CLONE_NEWTIME. */
    tap_eq_uint(ask(&filter, SYS_clone, 17), ALLOWED);
    tap_eq_uint(ask(&filter, SYS_clone, 0x4111), ALLOWED);
    tap_eq_uint(ask(&filter, SYS_clone, 0x3d0f00), ALLOWED);
    tap_eq_uint(ask(&filter, SYS_clone, 0x80), ALLOWED);
    tap_eq_uint(ask(&filter, SYS_unshare, 0x80), DENIED);
    tap_eq_uint(ask(&filter, SYS_unshare, 0x200), ALLOWED);
    tap_eq_uint(ask(&filter, SYS_clone3, 0), MISSING);
    seccomp_release_filter(&filter);
}

TEST(other_abis_are_closed)
{
    struct seccomp_filter filter = compile(NULL, NULL);

    tap_eq_uint(ask_as(&filter, AUDIT_ARCH_I386, 4, 0), DENIED);
    tap_eq_uint(ask_as(&filter, AUDIT_ARCH_ARM, 4, 0), DENIED);
#ifdef __x86_64__
    tap_eq_uint(ask(&filter, 0x40000000L | SYS_write, 0), DENIED);
    tap_eq_uint(ask(&filter, 0x40000000L | SYS_mount, 0), DENIED);
#endif
    seccomp_release_filter(&filter);
}

TEST(lists_adjust_it)
{
    struct seccomp_filter filter = compile("mount,clone3,unshare", "ptrace,mbind,clone");

    tap_eq_uint(ask(&filter, SYS_mount, 0), ALLOWED);
    tap_eq_uint(ask(&filter, SYS_clone3, 0), ALLOWED);
    tap_eq_uint(ask(&filter, SYS_unshare, 0x20000), ALLOWED);
    tap_eq_uint(ask(&filter, SYS_umount2, 0), DENIED);
    tap_eq_uint(ask(&filter, SYS_ptrace, 0), DENIED);
    tap_eq_uint(ask(&filter, SYS_mbind, 0), DENIED);
    tap_eq_uint(ask(&filter, SYS_clone, 17), DENIED);
    seccomp_release_filter(&filter);
    /* Both said at once: the stricter holds. What this machine has not is no error. */
    filter = compile("bpf,vm86", "bpf,vm86,mount,mount");
    tap_eq_uint(ask(&filter, SYS_bpf, 0), DENIED);
    seccomp_release_filter(&filter);
}

TEST(off_is_no_filter)
{
    const struct security security = {.seccomp = false};
    struct seccomp_filter filter = {.count = 7};
    struct err err = ERR_INIT;

    tap_eq_int(seccomp_compile(&security, &filter, &err), 0);
    tap_ok(!filter.steps);
    tap_eq_int(seccomp_child(&filter), 0);
}

TEST(names_are_checked)
{
    struct err err = ERR_INIT;

    tap_eq_int(seccomp_check("spec: security.deny", "mount,vm86,_sysctl", true, &err), 0);
    tap_eq_int(seccomp_check("spec: security.deny", NULL, true, &err), 0);
    tap_eq_int(seccomp_check("spec: security.allow", "execve", false, &err), 0);
    tap_eq_str(err.message, "");
    tap_eq_int(seccomp_check("spec: security.deny", "mount,mout", true, &err), -1);
    tap_eq_str(err.message, "spec: security.deny: \"mout\" is no system call: see syscalls(2)");
    tap_eq_int(seccomp_check("spec: security.deny", "execve", true, &err), -1);
    tap_eq_str(err.message,
               "spec: security.deny: execve is what starts a rank: it cannot be denied");
}

TAP_MAIN()
