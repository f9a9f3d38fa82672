#!/usr/bin/env bats
# shellcheck disable=SC2154 # run sets stderr
# bats file_tags=smoke
# Starting, ending, failing, stopping: what happens to ranks and what our exit code says.

load lib

@test "init mode passes every exit code on" {
    local code
    for code in 0 1 2 7 64 75 126 127 128 129 143 200 255; do
        run "-$code" "$RANKINIT" "$PAYLOAD" exit $code
        assert_eq "$output" ""
    done
    run_pid1 "$PAYLOAD" exit 7
    assert_eq "$status" 7
}

@test "init mode: death by signal N is 128+N" {
    run_pid1 "$PAYLOAD" die KILL
    assert_eq "$status" 137
    run "$RANKINIT" "$PAYLOAD" die SEGV
    assert_eq "$status" 139
    run "$RANKINIT" "$PAYLOAD" die RTMIN+3
    assert_eq "$status" 165
}

@test "not found is 127, not executable 126, a directory 126, and it is said" {
    run -127 "$RANKINIT" /no/such/program
    assert_has "$output" /no/such/program
    touch "$T/plain"
    run "$RANKINIT" "$T/plain"
    assert_eq "$status" 126
    run "$RANKINIT" "$T"
    assert_eq "$status" 126
    run -127 "$RANKINIT" no-such-word
    assert_has "$output" no-such-word
}

@test "an exit code of 127 is not a failed start" {
    run -127 "$RANKINIT" --nproc-per-node 1 --summary "$T/s.json" "$PAYLOAD" exit 127
    assert_json "$T/s.json" .reason rank_exited
    assert_json "$T/s.json" .exit_origin rank
    run -127 "$RANKINIT" --nproc-per-node 2 --summary "$T/s.json" /no/such
    assert_json "$T/s.json" .reason exec_failed
    assert_json "$T/s.json" .exit_origin rankinit
    assert_schema "$T/s.json"
}

@test "a script without #! runs under the shell, as with execvp" {
    echo 'echo plain script $1; exit 5' >"$T/script"
    chmod +x "$T/script"
    run "$RANKINIT" "$T/script" word
    assert_eq "$status" 5
    assert_eq "$output" "plain script word"
    printf '\177ELFbroken\0\0' >"$T/broken"
    chmod +x "$T/broken"
    run "$RANKINIT" "$T/broken"
    assert_eq "$status" 126
}

@test "the first failure ends the job within a second, with its code and its rank" {
    local before after
    before=$(elapsed_ms)
    run --separate-stderr "$RANKINIT" --nproc-per-node 3 --summary "$T/s.json" \
        sh -c 'test $RANK = 1 && exit 7; sleep 30'
    after=$(elapsed_ms)
    assert_eq "$status" 7
    [ $((after - before)) -lt 1000 ]
    assert_json "$T/s.json" .verdict failed
    assert_json "$T/s.json" .root_cause.rank 1
    assert_json "$T/s.json" .root_cause.exit_code 7
    assert_schema "$T/s.json"
    assert_schema <(tail -n 1 <<<"$stderr")
}

@test "a failed rank's orphaned workers are ended too (they hold GPU memory)" {
    local pid
    run "$RANKINIT" --nproc-per-node 2 sh -c '
        if [ $RANK = 0 ]; then exec "$PAYLOAD" hold; fi
        "$PAYLOAD" workers 2 ignore "$0/pids" TERM &
        while [ "$(cat "$0/pids" 2>/dev/null | wc -l)" -lt 2 ]; do :; done
        exit 3' "$T"
    assert_eq "$status" 3
    assert_eq "$(wc -l <"$T/pids")" 2
    while read -r pid; do [ ! -e "/proc/$pid" ]; done <"$T/pids"
}

@test "a rank's zombies and 1,000 double-forked orphans of PID 1 are reaped" {
    run_pid1 sh -c '"$PAYLOAD" orphans 1000; while grep -qs "^State:.Z" /proc/[0-9]*/status; do :; done; echo clean'
    assert_eq "$status" 0
    assert_eq "$output" clean
}

@test "all ranks 0 is 0, and one that ends early ends nothing" {
    mkfifo "$T/fifo"
    start --nproc-per-node 2 sh -c 'if [ $RANK = 0 ]; then echo early; else cat "$0"; fi' "$T/fifo"
    wait_line "$T/out" early
    echo late >"$T/fifo"
    finish
    assert_eq "$status" 0
    assert_eq "$(sort "$T/out")" $'early\nlate'
}

@test "TERM in fan-out: forwarded, drained, 143, verdict stopped, sender told" {
    start_pid1 --nproc-per-node 2 --summary "$T/s.json" sh -c 'exec "$PAYLOAD" trap "$0/ready" 1 0 TERM' "$T"
    wait_lines "$T/ready" 2
    kill -TERM "$(pid1)"
    finish
    assert_eq "$status" 143
    assert_eq "$(grep -c '^SIGTERM' "$T/out")" 2
    assert_json "$T/s.json" .verdict stopped
    assert_json "$T/s.json" .reason stop_requested
    assert_json "$T/s.json" .stop.signal SIGTERM
    assert_json "$T/s.json" .stop.sender outside
    assert_schema "$T/s.json"
}

@test "ranks get the signal that came: INT is INT and ends with 130" {
    start --nproc-per-node 1 sh -c 'exec "$PAYLOAD" trap "$0/ready" 1 9 INT TERM' "$T"
    wait_for "$T/ready"
    kill -INT "$RUN_PID"
    finish
    assert_eq "$status" 130
    assert_has "$(cat "$T/out")" SIGINT
}

@test "USR1 and real-time signals pass and stop nothing" {
    start --nproc-per-node 1 "$PAYLOAD" trap "$T/ready" 3 6 USR1 RTMIN+5 ABRT
    wait_for "$T/ready"
    kill -USR1 "$RUN_PID"
    wait_line "$T/out" SIGUSR1
    kill -RTMIN+5 "$RUN_PID"
    wait_line "$T/out" 'RTMIN\+5'
    kill -ABRT "$RUN_PID"
    finish
    assert_eq "$status" 6
}

@test "a rank that ignores TERM is killed after the grace" {
    start --nproc-per-node 1 --grace 100ms --summary "$T/s.json" "$PAYLOAD" ignore "$T/ready" TERM
    wait_for "$T/ready"
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    assert_json "$T/s.json" .stop.escalated true
}

@test "a peer that ignores TERM after a failure is killed after fail-grace" {
    run "$RANKINIT" --nproc-per-node 2 --fail-grace 200ms --summary "$T/s.json" sh -c '
        if [ $RANK = 0 ]; then exec "$PAYLOAD" ignore "$0/ready" TERM; fi
        while [ ! -s "$0/ready" ]; do :; done; exit 9' "$T"
    assert_eq "$status" 9
    assert_json "$T/s.json" .root_cause.rank 1
    assert_json "$T/s.json" .ranks.failed 1
}

@test "a second TERM more than a second later shortens the ladder" {
    start --nproc-per-node 1 --grace 1h "$PAYLOAD" trap "$T/ready" 0 0 TERM
    wait_for "$T/ready"
    kill -TERM "$RUN_PID"
    wait_line "$T/out" SIGTERM
    kill -TERM "$RUN_PID" # too soon to mean anything
    wait_lines "$T/out" 2
    wait_gone "$RUN_PID" 1.2 || true
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
}

@test "init mode forwards and never escalates" {
    start "$PAYLOAD" trap "$T/ready" 3 4 TERM HUP
    wait_for "$T/ready"
    kill -HUP "$RUN_PID"
    wait_line "$T/out" SIGHUP
    kill -TERM "$RUN_PID"
    wait_line "$T/out" SIGTERM
    kill -HUP "$RUN_PID"
    finish
    assert_eq "$status" 4
}

@test "a leader that dies at TERM leaves its child the rest of the grace" {
    start --nproc-per-node 1 --grace 20s bash -c '"$PAYLOAD" trap "$0/ready" 2 0 TERM USR1; true' "$T"
    wait_for "$T/ready"
    kill -TERM "$RUN_PID"
    wait_line "$T/out" SIGTERM # bash is gone; its child was told and works on
    wait_gone "$RUN_PID" 2.5 2>/dev/null && return 1
    kill -USR1 "$(cat "$T/ready")"
    finish
    assert_eq "$status" 143
}

# bats test_tags=memcheck
@test "leaders only: a trainer's workers do not get the TERM; with -g they do" {
    local scope
    for scope in leader group; do
        rm -f "$T"/*
        start --nproc-per-node 1 --grace 3s --stop-scope $scope sh -c '"$PAYLOAD" trap "$0/worker" 0 0 TERM USR1 >"$0/worker.out" &
            exec "$PAYLOAD" trap "$0/leader" 2 0 TERM USR1' "$T"
        wait_for "$T/worker"
        wait_for "$T/leader"
        kill -TERM "$RUN_PID"
        wait_line "$T/out" SIGTERM
        [ $scope = leader ] || wait_line "$T/worker.out" SIGTERM
        [ $scope = group ] || assert_lacks "$(cat "$T/worker.out")" SIGTERM
        kill -USR1 "$(cat "$T/leader")"
        finish
        assert_eq "$status" 143
    done
}

@test "each rank leads its own process group and starts with a clean slate" {
    run env --ignore-signal=HUP,USR1 --block-signal=USR2 "$RANKINIT" --nproc-per-node 2 --capture none \
        sh -c 'exec "$PAYLOAD" state "$0/state.$RANK"' "$T"
    assert_eq "$status" 0
    local rank
    for rank in 0 1; do
        grep -E '^Sig(Blk|Ign|Cgt)' "$T/state.$rank" | grep -qv '0000000000000000$' && return 1
        assert_eq "$(awk '/^pgid/ { print $2 }' "$T/state.$rank")" "$(awk '/^pid/ { print $2 }' "$T/state.$rank")"
        assert_lacks "$(grep '^fd' "$T/state.$rank")" 'anon_inode'
        assert_eq "$(grep -cE '^fd [0-2]:' "$T/state.$rank")" 3
    done
}

@test "several ranks: rank 0 has stdin when it is no terminal, others /dev/null" {
    run --separate-stderr "$RANKINIT" --nproc-per-node 2 sh -c 'echo "$RANK: $(cat)"' <<<word
    assert_eq "$(sort <<<"$output")" $'0: word\n1: '
}

# bats test_tags=memcheck
@test "closed stdio does not matter" {
    run bash -c '"$RANKINIT" "$PAYLOAD" exit 3 <&- >&- 2>&-'
    assert_eq "$status" 3
    run bash -c '"$RANKINIT" --nproc-per-node 2 "$PAYLOAD" exit 3 <&- >&- 2>&-'
    assert_eq "$status" 3
}

@test "SIGCHLD inherited as ignored does not matter" {
    run timeout 10 /usr/bin/python3 -c 'import signal,os,sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$RANKINIT" "$PAYLOAD" exit 7
    assert_eq "$status" 7
}

@test "fork refused is 71 with the reason" {
    # By descriptor: another user may not be allowed to walk to where the program lies.
    # (A leak check would need one more process than there may be.)
    run timeout 20 setpriv --reuid 4242 --regid 4242 --clear-groups env ASAN_OPTIONS=detect_leaks=0 \
        bash -c 'ulimit -u 1; exec /proc/self/fd/9 --fail-grace 1h --nproc-per-node 2 true' 9<"$RANKINIT"
    assert_eq "$status" 71
    assert_has "$output" "cannot start a process"
}

@test "workdir of the spec; a missing one is 78" {
    printf 'apiVersion: rankinit/v1\njob: {nproc_per_node: 1}\nworkdir: %s\n' "$T" >"$T/spec.yaml"
    run --separate-stderr "$RANKINIT" --spec "$T/spec.yaml" pwd
    assert_eq "$output" "$T"
    printf 'apiVersion: rankinit/v1\njob: {nproc_per_node: 1}\nworkdir: /no/such\n' >"$T/spec.yaml"
    run "$RANKINIT" --spec "$T/spec.yaml" pwd
    assert_eq "$status" 78
    assert_has "$output" /no/such
}

@test "not PID 1: orphans are adopted, swept and reaped all the same" {
    run "$RANKINIT" --nproc-per-node 1 --summary "$T/s.json" "$PAYLOAD" orphans 5
    assert_eq "$status" 0
    [ "$(json_get "$T/s.json" .orphans_reaped)" -ge 5 ]
}

@test "PID 1 ends what the program left behind, with TERM first" {
    run_pid1 sh -c 'setsid sh -c '\''trap "echo told >\"$0/told\"; exit" TERM; echo up >"$0/up"; while :; do sleep 0.01; done'\'' "$0" &
        while [ ! -s "$0/up" ]; do :; done; exit 5' "$T"
    assert_eq "$status" 5
    assert_eq "$(cat "$T/told")" told
}

@test "inherited descriptors reach ranks and are closed in rankinit; its own cwd is /" {
    mkfifo "$T/fifo"
    cd "$T"
    start_with_fd() { exec 9<>"$T/fifo"; start --nproc-per-node 1 sh -c 'ls -l /proc/self/fd/9; exec "$PAYLOAD" hold "$0/ready"' "$T"; exec 9>&-; }
    start_with_fd
    wait_for "$T/ready"
    assert_has "$(cat "$T/out")" "$T/fifo"
    assert_eq "$(readlink "/proc/$RUN_PID/cwd")" /
    [ ! -e "/proc/$RUN_PID/fd/9" ]
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
}

@test "ranks that flood real-time signals do not hold up deadlines" {
    cat >"$T/flood.py" <<'EOF'
import os, signal, sys
signal.signal(34, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
open(sys.argv[1]).close()  # a fifo: all are up
os.kill(os.getppid(), 34)
print("flooding", flush=True)
while True:
    try:
        os.kill(os.getppid(), 34)
    except BlockingIOError:
        pass
EOF
    mkfifo "$T/go"
    start --nproc-per-node 3 --grace 500ms /usr/bin/python3 "$T/flood.py" "$T/go"
    wait_lines "$T/out" 3
    exec 8>"$T/go"
    exec 8>&-
    wait_line "$T/out" flooding
    kill -TERM "$RUN_PID"
    finish # which has a deadline itself; the flood has none
    assert_eq "$status" 143
}

@test "a spec that is a silent pipe, an empty PROGRAM: told, not waited for or tried" {
    mkfifo "$T/fifo"
    run timeout 15 "$RANKINIT" --spec "$T/fifo" true
    assert_eq "$status" 78
    run -127 "$RANKINIT" ""
}
