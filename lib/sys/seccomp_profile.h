/*
 * The default filter as data: system calls that training never needs. What CUDA
 * IPC, UCX, NUMA tuning, debuggers and profilers use is left alone on purpose:
 * ptrace, process_vm_readv, process_vm_writev, pidfd_getfd, kcmp, mbind,
 * set_mempolicy, move_pages, perf_event_open, mlock. Layer: sys, for seccomp.c.
 */
#ifndef RANKINIT_SYS_SECCOMP_PROFILE_H
#define RANKINIT_SYS_SECCOMP_PROFILE_H

static const char *const seccomp_denied[] = {
    /* 1. What changes the machine or the container: mounts, clocks, power, modules, quotas. */
    "mount",
    "umount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "open_tree_attr",
    "mount_setattr",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "swapon",
    "swapoff",
    "reboot",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "settimeofday",
    "stime",
    "clock_settime",
    "clock_settime64",
    "adjtimex",
    "clock_adjtime",
    "clock_adjtime64",
    "sethostname",
    "setdomainname",
    "acct",
    "quotactl",
    "quotactl_fd",
    "syslog",
    "iopl",
    "ioperm",
    "vhangup",
    "nfsservctl",
    /* 2. Doors to the kernel and out of the container. */
    "setns",
    "bpf",
    "userfaultfd",
    "keyctl",
    "add_key",
    "request_key",
    "open_by_handle_at",
    "name_to_handle_at",
    "fanotify_init",
    "fanotify_mark",
    "lookup_dcookie",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "personality",
    "lsm_set_self_attr",
    /* 3. Relics that no program of today calls, and that few have looked at since. */
    "uselib",
    "ustat",
    "sysfs",
    "_sysctl",
    "modify_ldt",
    "vm86",
    "vm86old",
    "create_module",
    "get_kernel_syms",
    "query_module",
    "afs_syscall",
    "getpmsg",
    "putpmsg",
    "tuxcall",
    "vserver",
    "security",
    "remap_file_pages",
};

/* The new namespaces that clone and unshare can ask for, a bit each. */
static const unsigned seccomp_namespaces[] = {
    0x00000080, /* CLONE_NEWTIME; clone has its signal there */
    0x00020000, /* CLONE_NEWNS */
    0x02000000, /* CLONE_NEWCGROUP */
    0x04000000, /* CLONE_NEWUTS */
    0x08000000, /* CLONE_NEWIPC */
    0x10000000, /* CLONE_NEWUSER */
    0x20000000, /* CLONE_NEWPID */
    0x40000000, /* CLONE_NEWNET */
};

#endif
