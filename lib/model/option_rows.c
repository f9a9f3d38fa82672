/*
 * Data only: one row per option, in the order of enum option_id.
 */
#include <stddef.h>

#include "model/options.h"

/* clang-format off */
const struct option_row option_rows[OPT__COUNT] = {
    /* which ranks */
    [OPT_NPROC_PER_NODE] = {
        .name = "nproc-per-node", .type = OPTION_NPROC, .words = "auto|gpu|cpu",
        .pet = true, .shape = true, .spec_key = "job.nproc_per_node", .arg = "N|auto|gpu|cpu",
        .help = "ranks to start here; auto: visible GPUs, else 1" },
    [OPT_NNODES] = {
        .name = "nnodes", .type = OPTION_NNODES, .pet = true, .shape = true, .identity = true,
        .spec_key = "job.nnodes", .arg = "N", .help = "nodes (containers) of the whole job" },
    [OPT_NODE_RANK] = {
        .name = "node-rank", .type = OPTION_WORD_OR_INT, .words = "auto|from-hostname",
        .min = 0, .max = 999999,
        .pet = true, .shape = true, .identity = true, .auto_unset = true,
        .spec_key = "job.node_rank", .arg = "N|auto|from-hostname",
        .help = "which node this is, from 0; auto: as the platform says; "
                "from-hostname: the number that the hostname ends in" },
    [OPT_MASTER_ADDR] = {
        .name = "master-addr", .type = OPTION_HOST, .words = "auto",
        .pet = true, .shape = true, .identity = true, .auto_unset = true,
        .spec_key = "rendezvous.master_addr", .arg = "HOST|auto",
        .help = "where rank 0 listens; auto: as the platform says" },
    [OPT_MASTER_PORT] = {
        .name = "master-port", .type = OPTION_PORT, .words = "auto|from-job-id",
        .pet = true, .shape = true, .identity = true, .auto_unset = true,
        .spec_key = "rendezvous.master_port", .arg = "PORT|auto|from-job-id",
        .help = "port of rank 0; auto: a free one, or 29500 on several nodes; "
                "from-job-id: made from --rdzv-id, the same on every node" },
    [OPT_RDZV_BACKEND] = {
        .name = "rdzv-backend", .type = OPTION_WORD, .words = "static|c10d|etcd|etcd-v2",
        .refused_words = "etcd|etcd-v2",
        .note = "rankinit hosts no key-value store and is no client of one; "
                "use static or c10d with --nnodes N and --node-rank N",
        .pet = true, .shape = true, .arg = "static|c10d", .dflt = "static",
        .help = "c10d: the endpoint is the master, its port 29400 unless given" },
    [OPT_RDZV_ENDPOINT] = {
        .name = "rdzv-endpoint", .type = OPTION_ENDPOINT, .pet = true, .shape = true,
        .arg = "HOST[:PORT]", .help = "master address and port in one" },
    [OPT_RDZV_ID] = {
        .name = "rdzv-id", .type = OPTION_TEXT, .pet = true, .spec_key = "job.id", .arg = "ID",
        .help = "job id, given to ranks as TORCHELASTIC_RUN_ID" },
    [OPT_RDZV_CONF] = {
        .name = "rdzv-conf", .type = OPTION_TEXT, .pet = true, .arg = "KEY=VALUE,...",
        .help = "checked, no effect: rankinit has no rendezvous of its own" },
    [OPT_STANDALONE] = {
        .name = "standalone", .pet = true, .shape = true,
        .help = "one node, a free port; overrides the rendezvous options" },
    [OPT_LOCAL_ADDR] = {
        .name = "local-addr", .type = OPTION_HOST, .pet = true, .arg = "HOST",
        .help = "MASTER_ADDR of a single node that has no other" },
    [OPT_ROLE] = {
        .name = "role", .type = OPTION_TEXT, .pet = true, .spec_key = "job.role", .arg = "NAME",
        .dflt = "default", .help = "ROLE_NAME of the ranks" },
    [OPT_RANK_MEANS] = {
        .name = "rank-means", .type = OPTION_WORD, .words = "node|process|auto",
        .spec_key = "job.rank_means", .arg = "WHAT", .dflt = "auto",
        .help = "what RANK and WORLD_SIZE from outside count, or what processes of Slurm and MPI "
                "are: node, process or auto" },
    [OPT_INIT_ONLY] = {
        .name = "init-only", .help = "never start ranks: one process, its environment untouched" },
    [OPT_SPEC] = {
        .name = "spec", .type = OPTION_TEXT, .arg = "FILE",
        .help = "rank spec (/etc/rankinit/spec.yaml if it exists)" },
    [OPT_ACCELERATE_CONFIG] = {
        .name = "accelerate-config", .type = OPTION_TEXT, .arg = "FILE|auto",
        .help = "Accelerate's configuration file; auto: the one that accelerate itself would read" },

    /* what runs */
    [OPT_MODULE] = {
        .name = "module", .letter = 'm', .group = GROUP_PROGRAM, .pet = true,
        .help = "PROGRAM is a Python module: python -u -m PROGRAM" },
    [OPT_NO_PYTHON] = {
        .name = "no-python", .group = GROUP_PROGRAM, .pet = true,
        .help = "execute PROGRAM itself, also when it is a *.py" },
    [OPT_RUN_PATH] = {
        .name = "run-path", .status = OPTION_REFUSED, .group = GROUP_PROGRAM, .pet = true,
        .note = "it runs the script inside a Python launcher; give FILE.py as PROGRAM" },
    [OPT_LOCAL_RANK_ARG] = {
        .name = "local-rank-arg", .group = GROUP_PROGRAM,
        .help = "add --local-rank=N before the script's arguments" },
    [OPT_USE_ENV] = {
        .name = "use-env", .status = OPTION_NO_EFFECT, .group = GROUP_PROGRAM,
        .note = "ranks always get LOCAL_RANK, and no argument without --local-rank-arg",
        .help = "no effect: ranks always get LOCAL_RANK" },
    [OPT_HYDRA] = {
        .name = "hydra", .group = GROUP_PROGRAM, .spec_key = "hydra.pin", .dflt = "false",
        .help = "PROGRAM is a Hydra application: one run directory for all ranks" },
    [OPT_KEEP_ENV] = {
        .name = "keep-env", .group = GROUP_PROGRAM,
        .help = "keep inherited rank variables that rankinit does not set" },
    [OPT_WORKDIR] = {
        .name = "workdir", .spec_only = true, .type = OPTION_TEXT, .group = GROUP_PROGRAM,
        .spec_key = "workdir", .help = "working directory of the ranks" },

    /* devices and CPUs */
    [OPT_DEVICE_MODE] = {
        .name = "device-mode", .type = OPTION_WORD, .group = GROUP_DEVICES,
        .words = "auto|shared|isolated|isolated-keep-rank|none",
        .spec_key = "devices.mode", .arg = "MODE", .dflt = "auto",
        .help = "auto, shared (all see all), isolated (own devices, LOCAL_RANK=0), "
                "isolated-keep-rank, or none" },
    [OPT_GPUS_PER_RANK] = {
        .name = "gpus-per-rank", .type = OPTION_INT, .group = GROUP_DEVICES, .min = 1, .max = 256,
        .spec_key = "devices.per_rank", .arg = "N", .dflt = "1", .help = "devices of each rank" },
    [OPT_DEVICES] = {
        .name = "devices", .type = OPTION_TEXT, .group = GROUP_DEVICES, .words = "auto",
        .auto_unset = true, .spec_key = "devices.list", .arg = "LIST",
        .help = "use only these, out of those that are visible; auto: all" },
    [OPT_VENDOR] = {
        .name = "vendor", .type = OPTION_WORD, .group = GROUP_DEVICES,
        .words = "auto|nvidia|amd|ascend|habana|intel",
        .spec_key = "devices.vendor", .arg = "NAME", .dflt = "auto",
        .help = "whose devices: auto (as found), nvidia, amd, ascend, habana or intel" },
    [OPT_DEVICE_SHARE] = {
        .name = "device-share", .group = GROUP_DEVICES, .spec_key = "devices.share",
        .help = "allow more ranks than devices" },
    [OPT_VIRTUAL_LOCAL_RANK] = {
        .name = "virtual-local-rank", .group = GROUP_DEVICES, .pet = true,
        .help = "torchrun's name for --device-mode isolated" },
    [OPT_CPU_BIND] = {
        .name = "cpu-bind", .type = OPTION_WORD, .group = GROUP_DEVICES,
        .words = "none|numa|cores", .spec_key = "cpu.bind", .arg = "HOW", .dflt = "none",
        .help = "none, numa (the CPUs and memory near a rank's device) or cores (an equal part)" },
    [OPT_NUMA_BINDING] = {
        .name = "numa-binding", .type = OPTION_WORD, .group = GROUP_DEVICES,
        .words = "node|socket|exclusive|core-complex", .arg = "HOW",
        .help = "torchrun's: node (as --cpu-bind numa), socket, exclusive or core-complex" },
    [OPT_THREADS] = {
        .name = "threads", .type = OPTION_WORD_OR_INT, .group = GROUP_DEVICES,
        .words = "budget|torchrun|keep", .min = 1, .max = 4096,
        .spec_key = "cpu.threads", .arg = "HOW", .dflt = "budget",
        .help = "OMP_NUM_THREADS when unset: budget (CPUs by ranks, 1 to 8), torchrun (1), "
                "keep (leave unset); or a number in any case" },

    /* waiting, stopping, restarting */
    [OPT_WAIT_MASTER] = {
        .name = "wait-master", .type = OPTION_DURATION, .group = GROUP_STOPPING,
        .spec_key = "rendezvous.wait", .arg = "DURATION", .dflt = "15m",
        .help = "how long a node other than 0 waits for the master; 0: it does not" },
    [OPT_WAIT_CHECK] = {
        .name = "wait-check", .type = OPTION_WORD, .group = GROUP_STOPPING,
        .words = "dns|tcp", .spec_key = "rendezvous.check", .arg = "dns|tcp", .dflt = "dns",
        .help = "until its name resolves, or also until its port accepts" },
    [OPT_GRACE] = {
        .name = "grace", .type = OPTION_DURATION, .group = GROUP_STOPPING,
        .spec_key = "stop.grace", .arg = "DURATION", .dflt = "20s",
        .help = "from a stop signal to SIGKILL; in init mode only when stated" },
    [OPT_SHUTDOWN_TIMEOUT] = {
        .name = "shutdown-timeout", .type = OPTION_INT, .group = GROUP_STOPPING,
        .min = 0, .max = 31536000, .pet = true, .arg = "SECONDS",
        .help = "torchrun's name for --grace" },
    [OPT_FAIL_GRACE] = {
        .name = "fail-grace", .type = OPTION_DURATION, .group = GROUP_STOPPING,
        .spec_key = "stop.fail_grace", .arg = "DURATION", .dflt = "10s",
        .help = "the same for the other ranks once one has failed" },
    [OPT_ORPHAN_GRACE] = {
        .name = "orphan-grace", .spec_only = true, .type = OPTION_DURATION,
        .group = GROUP_STOPPING, .spec_key = "stop.orphan_grace", .dflt = "2s",
        .help = "the same for processes that ranks left behind" },
    [OPT_SETTLE] = {
        .name = "settle", .type = OPTION_DURATION, .group = GROUP_STOPPING,
        .spec_key = "stop.settle", .arg = "DURATION", .dflt = "3s",
        .help = "how long the loss of a peer waits for the real failure" },
    [OPT_STOP_SCOPE] = {
        .name = "stop-scope", .type = OPTION_WORD, .group = GROUP_STOPPING,
        .words = "leader|group", .spec_key = "stop.scope", .arg = "leader|group",
        .dflt = "leader", .help = "who gets forwarded signals: the rank or its process group" },
    [OPT_REWRITE] = {
        .name = "rewrite", .type = OPTION_REWRITE, .group = GROUP_STOPPING,
        .spec_key = "stop.rewrite", .arg = "FROM:TO",
        .help = "forward signal TO when FROM comes; TO 0 drops it; repeatable" },
    [OPT_SIGNALS_TO_HANDLE] = {
        .name = "signals-to-handle", .type = OPTION_SIGNALS, .group = GROUP_STOPPING,
        .pet = true, .arg = "LIST", .dflt = "SIGTERM,SIGINT,SIGHUP,SIGQUIT",
        .help = "further signals that stop the job; the default ones always do" },
    [OPT_MAX_RESTARTS] = {
        .name = "max-restarts", .type = OPTION_INT, .group = GROUP_STOPPING,
        .min = 0, .max = 1000000, .pet = true, .spec_key = "restart.max", .arg = "N", .dflt = "0",
        .help = "start all ranks again after a failure, at most so often; on one node" },
    [OPT_RESTART_BACKOFF] = {
        .name = "restart-backoff", .spec_only = true, .type = OPTION_DURATION,
        .group = GROUP_STOPPING, .spec_key = "restart.backoff", .dflt = "1s",
        .help = "pause before a restart" },
    [OPT_RESTART_WINDOW] = {
        .name = "restart-window", .spec_only = true, .type = OPTION_DURATION,
        .group = GROUP_STOPPING, .spec_key = "restart.window", .dflt = "0s",
        .help = "restarts longer ago are forgotten; 0: none is" },
    [OPT_RESTART_MIN_UPTIME] = {
        .name = "restart-min-uptime", .spec_only = true, .type = OPTION_DURATION,
        .group = GROUP_STOPPING, .spec_key = "restart.min_uptime", .dflt = "0s",
        .help = "a rank that fails sooner twice in a row is not restarted; 0: it is" },
    [OPT_RESTART_ONLY] = {
        .name = "restart-only", .spec_only = true, .type = OPTION_CODES,
        .group = GROUP_STOPPING, .spec_key = "restart.only",
        .help = "restart only after these exit codes" },
    [OPT_RESTART_NEVER] = {
        .name = "restart-never", .spec_only = true, .type = OPTION_CODES,
        .group = GROUP_STOPPING, .spec_key = "restart.never",
        .help = "never restart after these exit codes" },
    [OPT_TIMEOUT] = {
        .name = "timeout", .type = OPTION_DURATION, .group = GROUP_STOPPING,
        .spec_key = "limits.timeout", .arg = "DURATION",
        .help = "stop as at a stop signal when the whole run has taken so long: 124" },
    [OPT_IDLE_TIMEOUT] = {
        .name = "idle-timeout", .type = OPTION_DURATION, .group = GROUP_STOPPING,
        .spec_key = "limits.idle", .arg = "DURATION",
        .help = "no rank has written anything for so long: tell where they hang, and 76" },
    [OPT_START_TIMEOUT] = {
        .name = "start-timeout", .type = OPTION_DURATION, .group = GROUP_STOPPING,
        .spec_key = "limits.start", .arg = "DURATION",
        .help = "the same when no rank has written anything, or is ready, so long after its start" },
    [OPT_MONITOR_INTERVAL] = {
        .name = "monitor-interval", .type = OPTION_DECIMAL, .status = OPTION_NO_EFFECT,
        .group = GROUP_STOPPING, .pet = true, .arg = "SECONDS",
        .note = "rankinit does not poll: the kernel wakes it when a rank ends",
        .help = "no effect: rankinit does not poll" },
    [OPT_START_METHOD] = {
        .name = "start-method", .type = OPTION_WORD, .status = OPTION_NO_EFFECT,
        .group = GROUP_STOPPING, .words = "spawn|fork|forkserver", .pet = true, .arg = "METHOD",
        .note = "rankinit starts programs, not Python functions",
        .help = "no effect: rankinit starts programs" },
    [OPT_EVENT_LOG_HANDLER] = {
        .name = "event-log-handler", .type = OPTION_TEXT, .status = OPTION_NO_EFFECT,
        .group = GROUP_STOPPING, .pet = true, .arg = "NAME",
        .note = "rankinit has no Python event log; the summary tells what happened",
        .help = "no effect: the summary tells what happened" },

    /* output */
    [OPT_CAPTURE] = {
        .name = "capture", .type = OPTION_WORD, .group = GROUP_OUTPUT,
        .words = "auto|none|stderr|both", .spec_key = "output.capture",
        .arg = "WHAT", .dflt = "auto",
        .help = "what of the ranks' output passes through rankinit: none, stderr, both, or auto "
                "(both, but none in init mode and for one rank on a terminal)" },
    [OPT_LOG_PREFIX] = {
        .name = "log-prefix", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
        .spec_key = "output.prefix", .arg = "auto|always|never|TEMPLATE", .dflt = "auto",
        .help = "before each relayed line; auto: \"[rank N] \" on a terminal with several ranks" },
    [OPT_LOG_DIR] = {
        .name = "log-dir", .type = OPTION_TEXT, .group = GROUP_OUTPUT, .pet = true,
        .spec_key = "output.log_dir", .arg = "DIR",
        .help = "where files of ranks' output and error files are made; /dev/null: nowhere" },
    [OPT_REDIRECTS] = {
        .name = "redirects", .letter = 'r', .type = OPTION_STREAMS, .group = GROUP_OUTPUT,
        .pet = true, .spec_key = "output.redirects", .arg = "0-3|RANK:0-3,...", .dflt = "0",
        .help = "ranks' output to files instead of the console: 1 stdout, 2 stderr, 3 both" },
    [OPT_TEE] = {
        .name = "tee", .letter = 't', .type = OPTION_STREAMS, .group = GROUP_OUTPUT,
        .pet = true, .spec_key = "output.tee", .arg = "0-3|RANK:0-3,...", .dflt = "0",
        .help = "the same, to files and to the console" },
    [OPT_LOCAL_RANKS_FILTER] = {
        .name = "local-ranks-filter", .type = OPTION_RANKS, .group = GROUP_OUTPUT, .pet = true,
        .arg = "LIST", .help = "only these local ranks are on the console" },
    [OPT_DUPLICATE_STDOUT_FILTERS] = {
        .name = "duplicate-stdout-filters", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
        .pet = true, .arg = "TEXT,...",
        .help = "lines of tee'd stdout with one of these also to filtered_stdout.log" },
    [OPT_DUPLICATE_STDERR_FILTERS] = {
        .name = "duplicate-stderr-filters", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
        .pet = true, .arg = "TEXT,...",
        .help = "lines of tee'd stderr with one of these also to filtered_stderr.log" },
    [OPT_LOGS_SPECS] = {
        .name = "logs-specs", .type = OPTION_TEXT, .status = OPTION_REFUSED,
        .group = GROUP_OUTPUT, .note = "it names a Python plug-in and rankinit runs no Python" },
    [OPT_OUTPUT_MAX_BYTES] = {
        .name = "output-max-bytes", .spec_only = true, .type = OPTION_SIZE,
        .group = GROUP_OUTPUT, .spec_key = "output.max_bytes", .dflt = "0",
        .help = "of a file of output; then it becomes FILE.1 and a new one is begun (0: no limit)" },

    /* verdict */
    [OPT_REPORT] = {
        .name = "report", .type = OPTION_WORD, .group = GROUP_VERDICT,
        .words = "auto|always|never", .arg = "auto|always|never", .dflt = "auto",
        .help = "report and verdict (JSON) on stderr; auto: only for ranks" },
    [OPT_SUMMARY] = {
        .name = "summary", .type = OPTION_TEXT, .group = GROUP_VERDICT,
        .spec_key = "summary.file", .arg = "FILE", .help = "write the whole verdict (JSON) to FILE" },
    [OPT_TERMINATION_LOG] = {
        .name = "termination-log", .type = OPTION_TEXT, .group = GROUP_VERDICT,
        .spec_key = "summary.termination_log", .arg = "FILE",
        .help = "keep a short verdict there (for ranks: /dev/termination-log if it exists)" },
    [OPT_TAIL_LINES] = {
        .name = "tail-lines", .type = OPTION_INT, .group = GROUP_VERDICT, .min = 0, .max = 1000,
        .spec_key = "output.tail_lines", .arg = "N", .dflt = "20",
        .help = "last stderr lines of the failed rank in the verdict" },
    [OPT_MAX_BYTES] = {
        .name = "max-bytes", .type = OPTION_INT, .group = GROUP_VERDICT,
        .min = 700, .max = 4096, .spec_key = "summary.max_bytes", .arg = "N", .dflt = "2048",
        .help = "size of the termination log at most; the kubelet reads no more than 4096" },
    [OPT_EXIT_MAP] = {
        .name = "exit-map", .type = OPTION_CODE_MAP, .group = GROUP_VERDICT,
        .spec_key = "exit.map", .arg = "FROM:TO",
        .help = "return TO instead of exit code FROM; repeatable" },
    [OPT_EXIT_PRESET] = {
        .name = "exit-preset", .type = OPTION_WORD, .group = GROUP_VERDICT,
        .words = "none|kubeflow-v1", .spec_key = "exit.preset", .arg = "PRESET", .dflt = "none",
        .help = "kubeflow-v1: our codes 69, 75, 76 become 197, 203, 204, which it retries" },
    [OPT_STOP_EXIT] = {
        .name = "stop-exit", .type = OPTION_WORD, .group = GROUP_VERDICT,
        .words = "signal|rank", .spec_key = "stop.exit", .arg = "signal|rank", .dflt = "signal",
        .help = "after a stop return 128+N, or the first code of a rank that is not 0" },
    [OPT_OOM] = {
        .name = "oom", .type = OPTION_WORD, .group = GROUP_VERDICT,
        .words = "note|fail", .spec_key = "exit.oom", .arg = "note|fail", .dflt = "note",
        .help = "fail: an OOM kill is a failure (137) even if all ranks end with 0" },

    /* privileges */
    [OPT_USER] = {
        .name = "user", .type = OPTION_TEXT, .group = GROUP_SECURITY, .arg = "USER[:GROUP]",
        .spec_key = "security.user",
        .help = "the ranks' user and group, by name or number (rankinit's own)" },
    [OPT_CAP_DROP] = {
        .name = "cap-drop", .type = OPTION_NAMES, .group = GROUP_SECURITY, .arg = "LIST|ALL",
        .spec_key = "security.drop",
        .help = "capabilities that ranks must not have, such as NET_RAW,MKNOD; repeatable" },
    [OPT_CAP_KEEP] = {
        .name = "cap-keep", .type = OPTION_NAMES, .group = GROUP_SECURITY, .arg = "LIST|ALL",
        .spec_key = "security.keep",
        .help = "capabilities that ranks keep, also as another user; repeatable" },
    [OPT_NO_NEW_PRIVS] = {
        .name = "no-new-privs", .group = GROUP_SECURITY, .spec_key = "security.no_new_privs",
        .dflt = "false", .help = "ranks gain no privilege by running setuid programs" },
    [OPT_SECCOMP] = {
        .name = "seccomp", .type = OPTION_WORD, .group = GROUP_SECURITY, .words = "off|default",
        .arg = "off|default", .spec_key = "security.seccomp", .dflt = "off",
        .help = "default: ranks cannot use the system calls that training never needs" },
    [OPT_SECCOMP_ALLOW] = {
        .name = "seccomp-allow", .spec_only = true, .type = OPTION_NAMES,
        .group = GROUP_SECURITY, .spec_key = "security.allow",
        .help = "system calls that the default filter leaves alone" },
    [OPT_SECCOMP_DENY] = {
        .name = "seccomp-deny", .spec_only = true, .type = OPTION_NAMES,
        .group = GROUP_SECURITY, .spec_key = "security.deny",
        .help = "further system calls that the filter denies" },
    [OPT_RLIMIT] = {
        .name = "rlimit", .type = OPTION_RLIMITS, .group = GROUP_SECURITY,
        .arg = "NAME=SOFT[:HARD]", .spec_key = "security.rlimits",
        .help = "a resource limit of the ranks, such as core=0 or memlock=unlimited; repeatable" },
    [OPT_OOM_SCORE_ADJ] = {
        .name = "oom-score-adj", .spec_only = true, .type = OPTION_INT,
        .group = GROUP_SECURITY, .min = -1000, .max = 1000,
        .spec_key = "security.oom_score_adj",
        .help = "oom_score_adj of the ranks" },
    [OPT_UMASK] = {
        .name = "umask", .spec_only = true, .type = OPTION_UMASK, .group = GROUP_SECURITY,
        .spec_key = "security.umask", .help = "file mode creation mask of the ranks" },
    [OPT_NICE] = {
        .name = "nice", .spec_only = true, .type = OPTION_INT, .group = GROUP_SECURITY,
        .min = -20, .max = 19, .spec_key = "security.nice", .help = "nice value of the ranks" },
    [OPT_INHERIT_SIGNALS] = {
        .name = "inherit-signals", .group = GROUP_STOPPING, .dflt = "false",
        .help = "ranks keep the signal mask and ignored signals given to us" },

    /* tini's */
    [OPT_SUBREAPER] = {
        .name = "subreaper", .letter = 's', .status = OPTION_NO_EFFECT, .group = GROUP_TINI,
        .note = "rankinit always adopts and reaps orphans",
        .help = "no effect: rankinit always adopts and reaps orphans" },
    [OPT_KILL_GROUP] = {
        .name = "kill-group", .letter = 'g', .group = GROUP_TINI,
        .help = "the same as --stop-scope group" },
    [OPT_WARN_REAPED] = {
        .name = "warn-reaped", .letter = 'w', .group = GROUP_TINI,
        .help = "say when an orphan is reaped" },
    [OPT_PARENT_DEATH_SIGNAL] = {
        .name = "parent-death-signal", .letter = 'p', .type = OPTION_SIGNAL,
        .group = GROUP_TINI, .arg = "SIG", .help = "get SIG when our parent dies" },
    [OPT_EXIT_ZERO] = {
        .name = "exit-zero", .letter = 'e', .type = OPTION_CODES, .group = GROUP_TINI,
        .arg = "CODE", .help = "return 0 instead of this exit code; repeatable" },

    /* asking */
    [OPT_PLAN] = {
        .name = "plan", .optional_value = true, .type = OPTION_WORD, .group = GROUP_OTHER,
        .words = "text|json", .arg = "text|json",
        .help = "print what would run and where every value came from; run nothing" },
    [OPT_EXPLAIN] = {
        .name = "explain", .type = OPTION_TEXT, .group = GROUP_OTHER, .arg = "FILE...|-",
        .help = "tell what saved summary documents or pods (kubectl get pods -o json) say" },
    [OPT_STATUS] = {
        .name = "status", .optional_value = true, .type = OPTION_WORD, .group = GROUP_OTHER,
        .words = "text|json", .arg = "text|json",
        .help = "show the ranks of the rankinit that runs in this container (or of PID)" },
    [OPT_PROBE] = {
        .name = "probe", .type = OPTION_WORD, .group = GROUP_OTHER,
        .words = "started|ready|live", .arg = "started|ready|live",
        .help = "ask it one question: exit code 0 (yes) or 1 (no)" },
    [OPT_INSTALL] = {
        .name = "install", .type = OPTION_TEXT, .group = GROUP_OTHER, .arg = "PATH",
        .help = "copy this program to PATH, mode 0755, whole or not at all" },
    [OPT_SYSROOT] = {
        .name = "sysroot", .type = OPTION_TEXT, .group = GROUP_OTHER, .arg = "DIR",
        .help = "look for /proc, /sys, /dev and /etc below DIR when deciding" },
    [OPT_QUIET] = {
        .name = "quiet", .letter = 'q', .group = GROUP_OTHER, .help = "errors only, no notices" },
    [OPT_VERBOSE] = {
        .name = "verbose", .letter = 'v', .type = OPTION_COUNT, .group = GROUP_OTHER,
        .help = "say more; -vv: still more" },
    [OPT_VERSION] = {
        .name = "version", .group = GROUP_OTHER, .help = "print the version" },
    [OPT_HELP] = {
        .name = "help", .letter = 'h', .group = GROUP_OTHER, .help = "print this text" },
};
/* clang-format on */
