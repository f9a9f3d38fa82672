#!/usr/bin/env bats
# --status, --probe and --install: what is asked of rankinit instead of a run.
# shellcheck disable=SC2016 # ranks and shells inside expand it

load lib

# ask ARG...: rankinit ARG... about what was started; sets $status and $output.
ask() { run "$RANKINIT" "$@" "$RUN_PID"; }

# Two ranks that have said something and go on until they are told to end.
two_ranks() {
    start "$@" --nproc-per-node 2 sh -c 'echo "rank $RANK"; exec tail -f /dev/null'
    wait_line "$T/out" 'rank 0'
    wait_line "$T/out" 'rank 1'
}

# bats test_tags=smoke,memcheck
@test "--status: a table for people, a document by the schema" {
    two_ranks --rdzv-id llama
    ask --status
    assert_eq "$status" 0
    assert_has "${lines[0]}" "pid $RUN_PID on"
    assert_has "${lines[0]}" RUNNING
    assert_has "${lines[1]}" "job llama: node 0 of 1, 2 of 2 ranks here"
    assert_eq "${#lines[@]}" 5
    ask --status=json
    echo "$output" >"$T/status"
    assert_schema "$T/status"
    assert_json "$T/status" '[.ranks[] | .rank, .state] | @csv' '0,"running",1,"running"'
    assert_json "$T/status" '[.started, .ready, .live] | @csv' true,true,true
    assert_json "$T/status" .pid "$RUN_PID"
    [ "$(json_get "$T/status" .ranks[0].rss_bytes)" -gt 100000 ]
    pid=$(json_get "$T/status" .ranks[1].pid)
    assert_eq "$(tr '\0' ' ' <"/proc/$pid/cmdline")" "tail -f /dev/null "
    kill "$RUN_PID"
    finish
    assert_eq "$status" 143
}

@test "--probe: one line and 0 or 1; ready only when every rank has said something" {
    mkfifo "$T/go"
    start --nproc-per-node 2 sh -c \
        'if [ "$RANK" = 1 ]; then read -r line <"$T/go"; fi; echo "rank $RANK"; exec tail -f /dev/null'
    wait_line "$T/out" 'rank 0'
    ask --probe ready
    assert_eq "$status $output" "1 not ready: 1 of 2 ranks have not said anything yet"
    ask --probe started
    assert_eq "$status $output" "0 started: 2 ranks started"
    echo >"$T/go"
    wait_line "$T/out" 'rank 1'
    wait_until '"$0" --probe ready "$1"' "$RANKINIT" "$RUN_PID"
    ask --probe=ready
    assert_eq "$status $output" "0 ready: 2 ranks run"
}

@test "ready is also who made its ready file; a restart is counted, and makes unready again" {
    mkfifo "$T/go"
    start --nproc-per-node 1 --max-restarts 1 sh -c '
        if [ "$TORCHELASTIC_RESTART_COUNT" = 0 ]; then read -r line <"$0/go"; echo words; exit 3; fi
        echo >"$0/again"; read -r line <"$0/go"; : >"$RANKINIT_THIS_READY_FILE"; exec "$PAYLOAD" hold' "$T"
    echo >"$T/go"
    wait_for "$T/again"
    ask --probe ready
    assert_eq "$status $output" "1 not ready: 1 of 1 ranks have not said anything yet"
    echo >"$T/go"
    wait_until '"$0" --probe ready "$1"' "$RANKINIT" "$RUN_PID"
    ask --status=json
    echo "$output" >"$T/status"
    assert_schema "$T/status"
    assert_json "$T/status" '.ranks[0].restarts // .restarts' 1
    kill "$RUN_PID"
    finish
}

@test "of several nodes, a rank that is silent does not make its node unready" {
    start --nnodes 2 --node-rank 0 --master-addr 127.0.0.1 --master-port 29871 --nproc-per-node 1 \
        sh -c 'echo >"$T/runs"; exec tail -f /dev/null'
    wait_for "$T/runs"
    ask --probe ready
    assert_eq "$status $output" "0 ready: 1 rank runs"
}

@test "live stays true while a drain lasts, ready does not; the dead rank's end is shown" {
    start --grace 60s --nproc-per-node 2 sh -c \
        '[ "$RANK" = 1 ] || trap "" TERM; echo "rank $RANK"; if [ "$RANK" = 1 ]; then exec tail -f /dev/null; fi
         while :; do read -r line <"$T/never" || :; done'
    mkfifo "$T/never"
    wait_line "$T/out" 'rank 0'
    wait_line "$T/out" 'rank 1'
    kill "$RUN_PID"
    wait_until '"$0" --status "$1" | grep -q "SIGTERM  "' "$RANKINIT" "$RUN_PID"
    ask --probe live
    assert_eq "$status $output" "0 live: pid $RUN_PID is in DRAINING"
    ask --probe ready
    assert_eq "$status $output" "1 not ready: DRAINING"
    ask --status=json
    echo "$output" >"$T/status"
    assert_schema "$T/status"
    assert_json "$T/status" .stop_signal SIGTERM
    assert_json "$T/status" '.ranks[1] | [.state, .signal, .exit_code] | @csv' '"ended","SIGTERM",143'
}

@test "a rankinit that is stopped is not live" {
    two_ranks
    kill -STOP "$RUN_PID"
    wait_until 'grep -q "^State:.T" "/proc/$0/status"' "$RUN_PID"
    ask --probe live
    assert_eq "$status $output" "1 not live: pid $RUN_PID does not run: state T"
    kill -CONT "$RUN_PID"
}

@test "PID 1 is found without a pid, from a rank, in init mode, whatever RANKINIT_* says" {
    run_pid1 --init-only sh -c 'until "$RANKINIT" --probe started >/dev/null; do :; done
        RANKINIT_GRACE=nonsense "$RANKINIT" --probe live
        "$RANKINIT" --status=json >"$T/status"; exit 0'
    assert_eq "$status $output" "0 live: pid 1 is in RUNNING"
    assert_schema "$T/status"
    assert_json "$T/status" '[.mode, .pid, .ranks[0].pid] | @csv' '"init",1,2'
}

@test "not PID 1: the outermost one is found; of two, a pid has to choose" {
    run "${PID1[@]}" bash -c '
        mkfifo "$T/one" "$T/two"
        "$RANKINIT" --nproc-per-node 1 "$RANKINIT" --nproc-per-node 1 sh -c "echo >\$T/one; exec tail -f /dev/null" &
        first=$!
        read -r line <"$T/one"
        "$RANKINIT" --status=json >"$T/status"
        echo "$first" >"$T/first"
        "$RANKINIT" --nproc-per-node 1 sh -c "echo >\$T/two; exec tail -f /dev/null" 2>/dev/null &
        second=$!
        read -r line <"$T/two"
        "$RANKINIT" --probe live 2>&1
        "$RANKINIT" --probe live "$second" | sed "s/$second/second/"
        kill "$first" "$second"
        wait'
    assert_json "$T/status" .pid "$(cat "$T/first")"
    assert_has "${lines[0]}" "several run here; give the pid of one: $(cat "$T/first"), "
    assert_eq "${lines[1]}" "live: pid second is in RUNNING"
}

@test "where none runs, 1 and one line; so for a pid that is something else" {
    run "${PID1[@]}" sh -c '"$RANKINIT" --status; exit $?'
    assert_eq "$status $output" "1 rankinit: status: no rankinit of this program file runs here"
    run "$RANKINIT" --probe live $$
    assert_eq "$status $output" "1 rankinit: live: pid $$ is no running rankinit of this program file"
}

@test "a copy of the program is not taken for ours" {
    cp "$RANKINIT" "$T/other"
    two_ranks
    run "$T/other" --probe live "$RUN_PID"
    assert_eq "$status" 1
}

@test "nobody else can write the page" {
    two_ranks
    run "$PYTHON" - "$RUN_PID" <<'EOF'
import os, sys
folder = f"/proc/{sys.argv[1]}/fd"
(name,) = [n for n in os.listdir(folder) if "rankinit-status" in os.readlink(f"{folder}/{n}")]
fd = os.open(f"{folder}/{name}", os.O_RDWR)
for act in (lambda: os.write(fd, b"x"), lambda: os.ftruncate(fd, 1)):
    try:
        act()
        print("done")
    except PermissionError:
        print("refused")
EOF
    assert_eq "$output" "refused
refused"
}

@test "bad questions are bad usage, 64, one line" {
    for question in "--status=xml" "--probe" "--probe dead" "--probe live x" "--status 1 2" \
        "--status --probe live" "--install" "--install $T/x train.py"; do
        # shellcheck disable=SC2086 # words
        run "$RANKINIT" $question
        assert_eq "$question: $status ${#lines[@]}" "$question: 64 1"
    done
}

# bats test_tags=smoke
@test "--install: the same bytes, 0755 whatever the umask, replaced while it runs" {
    (umask 077 && "$RANKINIT" --install "$T/rankinit")
    cmp "$RANKINIT" "$T/rankinit"
    assert_eq "$(stat -c %a "$T/rankinit")" 755
    inode=$(stat -c %i "$T/rankinit")
    start_program "$T/rankinit" sh -c 'echo runs; exec tail -f /dev/null'
    wait_line "$T/out" runs
    (cd "$T" && "$RANKINIT" --install rankinit)
    [ "$(stat -c %i "$T/rankinit")" != "$inode" ]
    "$T/rankinit" --install "$T/rankinit"
    run "$T/rankinit" --version
    assert_eq "$status $output" "0 rankinit $(cat "$ROOT/.version")"
    assert_eq "$(find "$T" -name '*.tmp')" ""
}

@test "--install refuses what is no place for a file, and leaves it as it was" {
    mkdir "$T/folder"
    ln -s "$T/elsewhere" "$T/link"
    mkfifo "$T/fifo"
    for target in "$T/folder" "$T/new/" "$T/link" "$T/fifo" /dev/null "$T/none/rankinit"; do
        run "$RANKINIT" --install "$target"
        assert_eq "$target $status ${#lines[@]}" "$target 78 1"
        assert_has "$output" "$target"
    done
    [ -L "$T/link" ] && [ -p "$T/fifo" ] && [ -c /dev/null ] && [ ! -e "$T/elsewhere" ]
    assert_eq "$(ls -A "$T/folder")" ""
}

@test "--install without room: 71, and what was there stays" {
    USERNS=()
    [ "$(id -u)" = 0 ] || USERNS=(--user --map-root-user)
    run unshare --mount "${USERNS[@]}" sh -c '
        mount -t tmpfs -o size=64k none "$T" && echo old >"$T/rankinit" &&
        "$0" --install "$T/rankinit"; echo "$? $(cat "$T/rankinit") $(ls -A "$T")"' "$RANKINIT"
    assert_eq "${lines[1]}" "71 old rankinit"
}
