#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # $0 is for another shell; bats sets status and stderr
# What we may be started with and it must not matter, tini's command line, and what we cost ourselves.

load lib

# ---- entry conditions -------------------------------------------------------------------------

@test "no argv[0] at all: the usage, or what the spec says" {
    local no_argv='import ctypes, os, sys
words = [v.encode() for v in sys.argv[2:]]
libc = ctypes.CDLL(None, use_errno=True)
none = (ctypes.c_char_p * 1)(None)
libc.execve(sys.argv[1].encode(), none, (ctypes.c_char_p * (len(words) + 1))(*words, None))'
    run /usr/bin/python3 -c "$no_argv" "$RANKINIT"
    assert_eq "$status" 64
    run /usr/bin/python3 -c "$no_argv" "$RANKINIT" \
        "RANKINIT_SPEC={\"apiVersion\": \"rankinit/v1\", \"command\": [\"$PAYLOAD\", \"exit\", \"4\"]}"
    assert_eq "$status" 4
}

@test "an environment of 1 MB reaches the program" {
    local shape
    for shape in --init-only --nproc-per-node=2; do
        run /usr/bin/python3 -c 'import os, sys
os.execve(sys.argv[1], sys.argv[1:], {**os.environ, **{f"BIG_{i}": "x" * 100000 for i in range(10)}})' \
            "$RANKINIT" $shape sh -c '[ "$("$PAYLOAD" env | wc -c)" -gt 1000000 ] && exit 3'
        assert_eq "$status" 3
    done
}

@test "few descriptors: our own soft limit is raised, ranks keep theirs; a hard one is 71 with the reason" {
    run prlimit --nofile=5:1024 "$RANKINIT" --report never --nproc-per-node 8 sh -c 'ulimit -Sn' 3>&-
    assert_eq "$status" 0
    assert_eq "$(sort -u <<<"$output")" 5
    # Nothing was started, so there is nothing to wait for either: not for an hour.
    run timeout "$DEADLINE" prlimit --nofile=20:20 "$RANKINIT" --fail-grace 1h --nproc-per-node 16 "$PAYLOAD" hold 3>&-
    assert_eq "$status" 71
    assert_has "$output" "Too many open files"
}

@test "hundreds of inherited descriptors: the rank has them all, rankinit none" {
    touch "$T/file"
    start_program /usr/bin/python3 -c 'import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
fd = os.open(sys.argv[1], os.O_RDONLY)
for i in range(100, 1500): os.dup2(fd, i)
os.execv(sys.argv[2], sys.argv[2:])' "$T/file" "$RANKINIT" "$PAYLOAD" hold "$T/ready"
    wait_for "$T/ready"
    [ "$(find "/proc/$(cat "$T/ready")/fd" -lname "$T/file" | wc -l)" -eq 1400 ]
    wait_until '[ "$(find "/proc/$0/fd" -lname "$1" | wc -l)" -eq 0 ]' "$RUN_PID" "$T/file"
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
}

@test "no /proc: codes, stops and sweeps all the same" {
    local pid no_proc='mount --make-rprivate / && mount -t tmpfs none /proc && exec "$@"'
    quick_spec
    run unshare --mount --pid --fork --kill-child sh -c "$no_proc" - "$RANKINIT" \
        --spec "$T/spec.yaml" --nproc-per-node 2 --report never "$PAYLOAD" exit 7
    assert_eq "$status" 7
    start_program unshare --mount sh -c "$no_proc" - "$RANKINIT" \
        --spec "$T/spec.yaml" --nproc-per-node 2 sh -c '
        "$PAYLOAD" ignore "$0/pids" TERM & exec "$PAYLOAD" hold "$0/pids"' "$T"
    wait_lines "$T/pids" 4
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    while read -r pid; do [ ! -e "/proc/$pid" ]; done <"$T/pids"
}

# A child from before our exec; a daemon that is a child of ours, and one below a daemon that does
# not listen.
@test "no /proc: daemons are told and have time, what is below them is found, earlier children are spared" {
    local pid kind no_proc='mount --make-rprivate / && mount -t tmpfs none /proc && exec "$@"'
    printf 'apiVersion: rankinit/v1\nstop: {grace: 1h, orphan_grace: 100ms}\n' >"$T/spec.yaml"
    for kind in "" "--pid --fork --kill-child"; do
        rm -f "$T"/*.ready
        # shellcheck disable=SC2086 # several words
        start_program unshare --mount $kind sh -c "$no_proc" - sh -c '
            "$PAYLOAD" trap "$0/before.ready" 0 0 TERM >"$0/before" & exec "$@"' "$T" \
            "$RANKINIT" --spec "$T/spec.yaml" --nproc-per-node 1 sh -c '
            "$PAYLOAD" daemon trap "$0/daemon.ready" 2 0 TERM USR1 >"$0/daemon"
            exec "$PAYLOAD" trap "$0/ready.ready" 1 0 TERM' "$T"
        wait_for "$T/daemon.ready"
        wait_for "$T/ready.ready"
        wait_for "$T/before.ready"
        kill -TERM "$(pgrep -f -- "^$RANKINIT --spec $T/spec.yaml")"
        wait_line "$T/daemon" SIGTERM
        pid=$(pgrep -f "$T/before.ready")
        kill -USR1 "$(pgrep -f "$T/daemon.ready")"
        finish
        assert_eq "$status" 143
        assert_eq "$(cat "$T/before")" ""
        [ -n "$kind" ] || kill -KILL "$pid"
    done
}

@test "a working directory that is gone does not matter" {
    mkdir "$T/gone"
    cd "$T/gone"
    rmdir "$T/gone"
    run "$RANKINIT" "$PAYLOAD" exit 3
    assert_eq "$status" 3
    run "$RANKINIT" --nproc-per-node 2 --report never "$PAYLOAD" exit 4
    assert_eq "$status" 4
    run_pid1 "$PAYLOAD" exit 5
    assert_eq "$status" 5
}

@test "passed sockets: LISTEN_PID names the one program, and goes when there are several" {
    local passed='export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_PIDFDID=7; exec "$RANKINIT" "$@"'
    local show='[ "$LISTEN_PID" = $$ ] && echo mine; echo "$LISTEN_FDS$LISTEN_PIDFDID"'
    run sh -c "$passed" - sh -c "$show"
    assert_eq "$output" $'mine\n1'
    run sh -c "$passed" - --report never --nproc-per-node 1 sh -c "$show"
    assert_eq "$output" $'mine\n1'
    run sh -c "$passed" - --report never --nproc-per-node 2 sh -c "$show"
    assert_eq "$output" ""
    LISTEN_PID=1 LISTEN_FDS=3 run "$RANKINIT" sh -c 'echo "$LISTEN_PID $LISTEN_FDS"'
    assert_eq "$output" "1 3" # somebody else's
}

@test "children from before our exec are spared, with what is below them" {
    local before
    quick_spec
    # The shell starts somebody and then becomes rankinit, whose child that is from then on.
    start_program sh -c '
        "$PAYLOAD" workers 1 trap "$0/below" 0 0 TERM USR1 >"$0/told" & echo $! >"$0/before"
        exec "$RANKINIT" --spec "$0/spec.yaml" --nproc-per-node 1 "$PAYLOAD" ignore "$0/ready" TERM' "$T"
    wait_for "$T/below"
    wait_for "$T/ready"
    before=$(cat "$T/before")
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    kill -0 "$before"
    kill -USR1 "$(cat "$T/below")"
    wait_line "$T/told" SIGUSR1
    assert_lacks "$(cat "$T/told")" SIGTERM
    kill -KILL "$(cat "$T/below")" # its parent ends by that
    wait_gone "$before"
}

@test "what the kernel tells us about our own writes is not for the ranks" {
    # Our documents meet a file size limit, and SIGXFSZ comes; the rank lifts the limit for itself.
    start_program bash -c 'ulimit -Sf 0
        exec "$RANKINIT" --nproc-per-node 1 --termination-log "$0/log" sh -c "
            ulimit -Sf unlimited; exec \"\$PAYLOAD\" trap \"\$0/ready\" 1 0 USR1" "$0"' "$T"
    wait_for "$T/ready"
    kill -USR1 "$RUN_PID"
    finish
    assert_eq "$status" 0
}

@test "--inherit-signals keeps what tini keeps: mask and ignored set" {
    local with=(env --ignore-signal=HUP --ignore-signal=CHLD --block-signal=USR2) direct
    # What a program finds without us: our own caller may ignore more, even 32 and 33.
    direct=$("${with[@]}" "$PAYLOAD" state)
    [ $((0x$(sed -n 's/^SigIgn:\t//p' <<<"$direct") & 0x10001)) -eq $((0x10001)) ]
    run "${with[@]}" "$RANKINIT" --inherit-signals "$PAYLOAD" state
    assert_eq "$status" 0
    assert_has "$output" "$(grep SigIgn: <<<"$direct")"
    assert_has "$output" "$(grep SigBlk: <<<"$direct")"
    run "${with[@]}" "$RANKINIT" "$PAYLOAD" state
    assert_eq "$status" 0
    assert_has "$output" "SigIgn:	0000000000000000"
    assert_has "$output" "SigBlk:	0000000000000000"
}

# ---- tini's command line ----------------------------------------------------------------------

@test "tini's letters, in clusters and with their values attached or not" {
    local flags
    for flags in -s -g -v -vvv -gs "-gsv" "-e 7" -e7 "-gse7" "-e 3 -e 7" "-p SIGKILL" -pKILL "-sgp 9" "-w" "-wse 7"; do
        # shellcheck disable=SC2086 # several words
        run --separate-stderr "$RANKINIT" $flags "$PAYLOAD" exit 7
        case $flags in *e*7) assert_eq "$status" 0 ;; *) assert_eq "$status" 7 ;; esac
    done
    run -64 "$RANKINIT" -e 256 true
    run -64 "$RANKINIT" -p NOSUCH true
    run -64 "$RANKINIT" -gx true
    assert_has "$output" "-x"
}

@test "-- ends the options, and so does the first word that is none" {
    run "$RANKINIT" -g -- "$PAYLOAD" args -s --grace -- -e
    assert_eq "$output" $'-s\n--grace\n--\n-e'
    run "$RANKINIT" "$PAYLOAD" args -g -e 7
    assert_eq "$output" $'-g\n-e\n7'
    run -64 "$RANKINIT" --
    run "$RANKINIT" --version
    [[ $output == "rankinit "* ]]
}

@test "-w says each orphan that is reaped; without it nobody does" {
    run_pid1 -w sh -c '"$PAYLOAD" orphans 3; while grep -qs "^State:.Z" /proc/[0-9]*/status; do :; done'
    assert_eq "$status" 0
    assert_eq "$(grep -c 'reaped pid [0-9]*, wait status 0' <<<"$output")" 3
    run_pid1 sh -c '"$PAYLOAD" orphans 3; while grep -qs "^State:.Z" /proc/[0-9]*/status; do :; done'
    assert_eq "$output" ""
}

@test "-p: the signal comes when our parent dies, and is passed on" {
    start_program sh -c '"$RANKINIT" -p SIGUSR2 "$PAYLOAD" trap "$0/ready" 1 0 USR2 & wait' "$T"
    wait_for "$T/ready"
    kill -KILL "$RUN_PID"
    wait_line "$T/out" SIGUSR2
    wait_gone "$(cat "$T/ready")"
}

@test "TINI_SUBREAPER, TINI_KILL_PROCESS_GROUP, TINI_VERBOSITY" {
    TINI_SUBREAPER='' run "$RANKINIT" "$PAYLOAD" exit 3
    assert_eq "$status:$output" "3:"
    export TINI_KILL_PROCESS_GROUP=1 TINI_VERBOSITY=2
    start sh -c '"$PAYLOAD" trap "$0/member" 1 0 TERM >"$0/told" & exec "$PAYLOAD" trap "$0/ready" 2 4 TERM USR1' "$T"
    unset TINI_KILL_PROCESS_GROUP TINI_VERBOSITY
    wait_for "$T/member"
    wait_for "$T/ready"
    kill -TERM "$RUN_PID"
    wait_line "$T/told" SIGTERM # while the leader still lives
    wait_line "$T/err" 'passed on'
    kill -USR1 "$RUN_PID"
    finish
    assert_eq "$status" 4
    TINI_VERBOSITY=0 run "$RANKINIT" -w "$PAYLOAD" orphans 2
    assert_eq "$output" ""
}

# ---- our own footprint ------------------------------------------------------------------------

@test "idle: not one wake-up" {
    local before
    start --nproc-per-node 4 sh -c 'printf "no newline"; exec "$PAYLOAD" hold "$0/ready"' "$T"
    wait_lines "$T/ready" 4
    wait_until '[ "$(grep -c "no newline" "$0")" = 4 ]' "$T/out" # the wait for the rest of a line is over
    for _ in 1 2 3; do # a busy machine may be late once, never each time
        before=$(grep voluntary "/proc/$RUN_PID/status")
        wait_gone "$RUN_PID" 2 2>/dev/null && return 1
        [ "$before" != "$(grep voluntary "/proc/$RUN_PID/status")" ] || break
        before=
    done
    kill -TERM "$RUN_PID"
    finish
    [ -n "$before" ]
}
