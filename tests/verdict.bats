#!/usr/bin/env bats
# shellcheck disable=SC2154 # run sets stderr
# bats file_tags=smoke
# The documents: where they are, when they change, what they say, and that they are always valid.

load lib

# A rank that fails like a Python program, on cue.
RAISE='printf "%s\n" "Traceback (most recent call last):" "  File \"/app/train.py\", line 42, in step" \
    "    raise ValueError(\"bad batch\")" "ValueError: bad batch" >&2; exit 1'

# small JSON FILE: the checks that hold for whatever lies in a termination log.
small() {
    assert_schema "$1"
    [ "$(wc -c <"$1")" -le 2048 ]
    ! LC_ALL=C grep -q '[^ -~]' "$1"
    assert_has "$(head -c 700 "$1")" '"message":'
}

@test "success: a document that says so, nothing on stderr" {
    run --separate-stderr "$RANKINIT" --nproc-per-node 2 --summary "$T/s.json" --termination-log "$T/log" true
    assert_eq "$status" 0
    assert_json "$T/s.json" .verdict succeeded
    assert_json "$T/s.json" .reason completed
    assert_json "$T/s.json" .exit_code 0
    assert_json "$T/s.json" .ranks.succeeded 2
    assert_schema "$T/s.json"
    small "$T/log"
    assert_lacks "$stderr" '"schema"'
}

@test "a Python traceback in captured stderr is the root cause, with type, message, file and line" {
    run --separate-stderr "$RANKINIT" --nproc-per-node 2 --termination-log "$T/log" \
        sh -c '[ "$RANK" = 0 ] && exec sleep 30; '"$RAISE"
    assert_eq "$status" 1
    assert_json "$T/log" .root_cause.rank 1
    assert_json "$T/log" .root_cause.kind traceback
    assert_json "$T/log" .root_cause.error.type ValueError
    assert_json "$T/log" .root_cause.error.message "bad batch"
    assert_json "$T/log" .root_cause.error.file /app/train.py
    assert_json "$T/log" .root_cause.error.line 42
    small "$T/log"
    assert_has "$stderr" "ValueError: bad batch"
    tail -n 1 <<<"$stderr" >"$T/line"
    assert_schema "$T/line"
    [ "$(wc -c <"$T/line")" -le 2000 ]
}

@test "an echo of a lost peer yields to the real failure, though it died first" {
    run "$RANKINIT" --nproc-per-node 2 --summary "$T/s.json" sh -c '
        if [ $RANK = 0 ]; then
            echo $$ >"$0/pid0"
            echo "RuntimeError: [pair.cc:534] Connection closed by peer [127.0.0.1]:1" >&2
            exit 1
        fi
        while [ ! -s "$0/pid0" ]; do :; done
        while kill -0 $(cat "$0/pid0") 2>/dev/null; do :; done
        '"$RAISE" "$T"
    assert_eq "$status" 1
    assert_json "$T/s.json" .root_cause.rank 1
    assert_json "$T/s.json" '.failures[] | select(.ranks == "0") | .class' consequence
    assert_schema "$T/s.json"
}

@test "an echo without a real failure is the cause after the settle time" {
    run "$RANKINIT" --nproc-per-node 2 --settle 100ms --summary "$T/s.json" sh -c '
        [ $RANK = 1 ] && exec sleep 30
        echo "RuntimeError: Connection reset by peer" >&2; exit 1'
    assert_eq "$status" 1
    assert_json "$T/s.json" .root_cause.rank 0
}

@test "a rank that raised but still lives is the cause when its peer dies of it" {
    run "$RANKINIT" --nproc-per-node 2 --summary "$T/s.json" sh -c '
        if [ $RANK = 1 ]; then
            printf "%s\n" "Traceback (most recent call last):" "  File \"a.py\", line 7, in f" "KeyError: 3" >&2
            echo >"$0/raised"
            exec sleep 30
        fi
        while [ ! -s "$0/raised" ]; do :; done
        echo "RuntimeError: Connection closed by peer" >&2; exit 1' "$T"
    assert_json "$T/s.json" .root_cause.rank 1
    assert_json "$T/s.json" .root_cause.error.type KeyError
    assert_schema "$T/s.json"
}

@test "killed by a signal: 128+N, named" {
    run "$RANKINIT" --nproc-per-node 2 --summary "$T/s.json" sh -c '[ $RANK = 1 ] && kill -KILL $$; sleep 30'
    assert_eq "$status" 137
    assert_json "$T/s.json" .root_cause.rank 1
    assert_json "$T/s.json" .root_cause.signal SIGKILL
    assert_json "$T/s.json" .reason rank_signaled
    assert_schema "$T/s.json"
}

# bats test_tags=memcheck
@test "torch's error file is read, nested and flat" {
    cat >"$T/nested.json" <<'EOF'
{"message": {"message": "MyError: it broke", "extraInfo": {"py_callstack":
"Traceback (most recent call last):\n  File \"/a/b.py\", line 3, in g\nMyError: it broke\n", "timestamp": "1700000000"}}}
EOF
    run "$RANKINIT" --nproc-per-node 2 --summary "$T/s.json" sh -c '[ $RANK = 0 ] && exec sleep 30
        cat "$0" >$TORCHELASTIC_ERROR_FILE; exit 1' "$T/nested.json"
    assert_json "$T/s.json" .root_cause.kind error_file
    assert_json "$T/s.json" .root_cause.error.type MyError
    assert_json "$T/s.json" .root_cause.error.file /a/b.py
    assert_schema "$T/s.json"
    run "$RANKINIT" --nproc-per-node 1 --summary "$T/s.json" sh -c 'echo "{\"message\": \"flat: yes\", \"timestamp\": 12}" >$TORCHELASTIC_ERROR_FILE; exit 4'
    assert_eq "$status" 4
    assert_json "$T/s.json" .root_cause.kind error_file
    run "$RANKINIT" --nproc-per-node 1 --summary "$T/s.json" sh -c 'echo "[[[ garbage" >$TORCHELASTIC_ERROR_FILE; exit 4'
    assert_eq "$status" 4
    assert_json "$T/s.json" .root_cause.kind exit_code
}

@test "no error file, folder or temporary file is left behind" {
    mkdir "$T/tmp"
    TMPDIR=$T/tmp run "$RANKINIT" --nproc-per-node 2 --summary "$T/out.json" sh -c 'test -f "$TORCHELASTIC_ERROR_FILE"'
    assert_eq "$status" 0
    assert_eq "$(ls -A "$T/tmp")" ""
    assert_eq "$(ls -A "$T")" $'out.json\ntmp'
}

@test "the termination log is in place from the start and at every change" {
    start --nproc-per-node 2 --grace 1h --termination-log "$T/log" sh -c 'exec "$PAYLOAD" trap "$0/ready" 2 0 TERM USR1' "$T"
    wait_lines "$T/ready" 2
    small "$T/log"
    assert_json "$T/log" .verdict running
    kill -TERM "$RUN_PID"
    wait_lines "$T/out" 2
    small "$T/log"
    assert_json "$T/log" .verdict stopped
    assert_json "$T/log" .stop.signal SIGTERM
    kill -USR1 "$RUN_PID"
    finish
    assert_eq "$status" 143
    small "$T/log"
}

@test "killed in the middle of a drain: the log holds the cause known so far" {
    start_pid1 --nproc-per-node 2 --fail-grace 1h --termination-log "$T/log" sh -c '
        if [ $RANK = 0 ]; then exec "$PAYLOAD" trap "$0/ready" 0 0 TERM; fi
        while [ ! -s "$0/ready" ]; do :; done; exit 9' "$T"
    wait_line "$T/out" SIGTERM
    kill -KILL "$(pid1)"
    finish
    small "$T/log"
    assert_json "$T/log" .root_cause.rank 1
    assert_json "$T/log" .root_cause.exit_code 9
}

@test "a log of somebody else: success leaves it alone, failure keeps its head" {
    touch "$T/log"
    run "$RANKINIT" --nproc-per-node 1 --termination-log "$T/log" sh -c 'echo mine >'"$T/log"
    assert_eq "$(cat "$T/log")" mine
    run "$RANKINIT" --nproc-per-node 1 --termination-log "$T/log" sh -c "echo the program says >$T/log; exit 2"
    small "$T/log"
    assert_has "$(json_get "$T/log" .foreign_message)" "the program says"
}

@test "odd termination logs are notices, never a changed verdict" {
    local odd
    mkdir "$T/dir"
    mkfifo "$T/fifo"
    echo precious >"$T/target"
    ln -s "$T/target" "$T/link"
    for odd in dir fifo link no/such; do
        run timeout 10 "$RANKINIT" --nproc-per-node 1 --termination-log "$T/$odd" sh -c 'exit 3'
        assert_eq "$odd $status" "$odd 3"
        assert_has "$output" "$T/$odd"
    done
    assert_eq "$(cat "$T/target")" precious
}

@test "a nested run leaves the outer one's termination log alone" {
    run "$RANKINIT" --nproc-per-node 1 --termination-log "$T/log" \
        "$RANKINIT" --nproc-per-node 2 --termination-log "$T/log" sh -c 'exit 5'
    assert_eq "$status" 5
    assert_json "$T/log" .job.nproc_per_node 1
    small "$T/log"
}

@test "a fake summary line of a rank is never the last line" {
    run --separate-stderr "$RANKINIT" --nproc-per-node 1 sh -c 'printf "%s" "{\"schema\":\"rankinit.summary.v1\",\"verdict\":\"succeeded\"}" >&2; exit 6'
    assert_eq "$status" 6
    assert_eq "$(tail -n 1 <<<"$stderr" | jq .exit_code)" 6
}

# bats test_tags=memcheck
@test "4 KiB of binary noise in every message still makes valid JSON" {
    run "$RANKINIT" --nproc-per-node 3 --termination-log "$T/log" --summary "$T/s.json" sh -c '
        head -c 4096 /dev/urandom >&2; exit $((RANK + 1))'
    [ "$status" -ge 1 ]
    small "$T/log"
    assert_schema "$T/s.json"
}

@test "init mode writes nothing unless told to" {
    run --separate-stderr "$RANKINIT" sh -c 'echo out; echo err >&2; exit 3'
    assert_eq "$output" out
    assert_eq "$stderr" err
    run "$RANKINIT" --summary "$T/s.json" sh -c 'exit 3'
    assert_schema "$T/s.json"
    assert_json "$T/s.json" .exit_code 3
}

@test "secrets in the environment never reach a document" {
    run env MY_TOKEN=hunter2 DB_PASSWORD=hunter2 "$RANKINIT" --nproc-per-node 1 --summary "$T/s.json" false
    assert_lacks "$(cat "$T/s.json")" hunter2
}

@test "error files of any size and shape are survived, and large ones are read" {
    local size
    for size in 4000 20000 40000 60000 100000; do
        /usr/bin/python3 -c 'import json, sys; json.dump({"message": {"message": "MyError: " + "x" * int(sys.argv[1]),
            "extraInfo": {"py_callstack": "Traceback (most recent call last):\nMyError: x"}}}, sys.stdout)' $size >"$T/e.json"
        run "$RANKINIT" --nproc-per-node 2 --summary "$T/s.json" sh -c '[ $RANK = 0 ] && exec sleep 30
            cat "$0" >$TORCHELASTIC_ERROR_FILE; exit 9' "$T/e.json"
        assert_eq "$size $status" "$size 9"
        assert_schema "$T/s.json"
        [ $size = 100000 ] || assert_json "$T/s.json" .root_cause.error.type MyError
    done
    for size in 100 60000; do
        printf '[%.0s' $(seq $size) >"$T/e.json"
        run "$RANKINIT" --nproc-per-node 1 sh -c 'cat "$0" >$TORCHELASTIC_ERROR_FILE; exit 9' "$T/e.json"
        assert_eq "$size $status" "$size 9"
    done
}

@test "a file size limit is ours to bear: ranks get no SIGXFSZ and the verdict is theirs" {
    run bash -c 'ulimit -f 0; exec "$RANKINIT" --nproc-per-node 2 --termination-log "$0/log" --summary "$0/s" sh -c "exit 4"' "$T"
    assert_eq "$status" 4
}

@test "what rankinit itself refuses has a document too, with its own reason" {
    local port
    /usr/bin/python3 -c 'import signal, socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True); signal.pause()' \
        >"$T/port" 3>&- &
    STARTED+=($!)
    wait_for "$T/port"
    port=$(cat "$T/port")
    refused() { # CODE REASON ARG...
        local code=$1 reason=$2
        shift 2
        rm -f "$T/log" "$T/s.json"
        touch "$T/log"
        run --separate-stderr "$RANKINIT" --termination-log "$T/log" --summary "$T/s.json" "$@"
        assert_eq "$reason $status" "$reason $code"
        small "$T/log"
        assert_schema "$T/s.json"
        assert_json "$T/log" .verdict failed
        assert_json "$T/log" .reason "$reason"
        assert_json "$T/log" .exit_code "$code"
        assert_json "$T/log" .exit_origin rankinit
    }
    refused 64 bad_usage --nproc-per-node 2
    refused 78 bad_spec --nnodes 2 true
    refused 69 device_shortage --nproc-per-node 2 --device-mode isolated true
    refused 75 port_in_use --nproc-per-node 2 --master-port "$port" true
    tail -n 1 <<<"$stderr" >"$T/line"
    assert_schema "$T/line"
}

@test "the exit code is mapped last of all; whose it was stays true" {
    run "$RANKINIT" --nproc-per-node 1 --exit-map 3:200,4:0 --summary "$T/s.json" sh -c 'exit 3'
    assert_eq "$status" 200
    assert_json "$T/s.json" .exit_code 200
    assert_json "$T/s.json" .exit_origin rank
    assert_json "$T/s.json" .root_cause.exit_code 3
    assert_schema "$T/s.json"
    run env RANKINIT_EXIT_MAP=4:0 "$RANKINIT" --nproc-per-node 1 --summary "$T/s.json" sh -c 'exit 4'
    assert_eq "$status" 0
    assert_json "$T/s.json" .verdict failed
    assert_schema "$T/s.json"
    run "$RANKINIT" --exit-map 78:9 --nproc-per-node 1 --spec /nowhere true
    assert_eq "$status" 9
    run "$RANKINIT" --exit-map 3 true
    assert_eq "$status" 64
}

@test "kubeflow-v1: our codes that are worth another try are retried, a rank's own are not" {
    mkdir -p "$T/sys/dev"
    run "$RANKINIT" --exit-preset kubeflow-v1 --sysroot "$T/sys" --nproc-per-node gpu true
    assert_eq "$status" 197
    run "$RANKINIT" --exit-preset kubeflow-v1 --nproc-per-node 1 sh -c 'exit 69'
    assert_eq "$status" 69
}

@test "--stop-exit rank: a stop returns what the ranks return" {
    start --nproc-per-node 2 --stop-exit rank --summary "$T/s.json" sh -c '
        trap "exit $((RANK * 6))" TERM; echo >>"$0/ready"; while :; do sleep 1 & wait $!; done' "$T"
    wait_lines "$T/ready" 2
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 6
    assert_json "$T/s.json" .verdict stopped
    assert_json "$T/s.json" .exit_origin rank
    assert_schema "$T/s.json"
}

@test "a fatal signal that was only passed on: the verdict says whose it was" {
    start --nproc-per-node 2 --summary "$T/s.json" "$PAYLOAD" hold "$T/ready"
    wait_lines "$T/ready" 2
    kill -USR1 "$RUN_PID"
    finish
    assert_eq "$status" 138
    assert_has "$(json_get "$T/s.json" .message)" "killed by SIGUSR1, which rankinit was sent by pid $$ "
    run "$RANKINIT" --nproc-per-node 2 --summary "$T/s.json" sh -c '[ $RANK = 1 ] && kill -SEGV $PPID; exec "$PAYLOAD" hold'
    assert_eq "$status" 139
    assert_has "$(json_get "$T/s.json" .message)" "which rankinit was sent by rank 1 and passed on"
    assert_json "$T/s.json" '.failures[0].class' killed_from_outside
    assert_schema "$T/s.json"
}

@test "one line on success, none with -q; a failure is told either way" {
    run "$RANKINIT" --nproc-per-node 2 true
    assert_eq "${#lines[@]}" 1
    run "$RANKINIT" -q --nproc-per-node 2 true
    assert_eq "$output" ""
    run "$RANKINIT" -q --nproc-per-node 2 sh -c 'exit 3'
    assert_has "$output" 'rankinit: failed, exit code 3'
    assert_has "$output" 'rank 0 |'
    assert_lacks "$output" $'\033'
}

@test "the page has colours on a terminal only, and not against NO_COLOR" {
    run "$ROOT/tests/pty" -- env -u NO_COLOR TERM=xterm "$RANKINIT" --nproc-per-node 2 sh -c 'exit 3'
    assert_eq "$status" 3
    assert_has "$output" $'\033[1;31mrankinit: failed'
    run "$ROOT/tests/pty" -- env NO_COLOR=1 TERM=xterm "$RANKINIT" --nproc-per-node 2 sh -c 'exit 3'
    assert_has "$output" 'rankinit: failed'
    assert_lacks "$output" $'\033'
}

@test "hints stand in the document and on the page" {
    run "$RANKINIT" --nproc-per-node 1 --summary "$T/s.json" sh -c '
        echo "OSError: [Errno 28] No space left on device" >&2; exit 1'
    assert_has "$(json_get "$T/s.json" '.hints[0]')" 'df -h'
    assert_has "$output" 'hint: a disk, /dev/shm or a quota is full'
    assert_schema "$T/s.json"
    printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\x28\0 cut' >"$T/program"
    chmod +x "$T/program"
    run "$RANKINIT" --nproc-per-node 1 --summary "$T/s.json" "$T/program"
    assert_eq "$status" 126
    assert_has "$(json_get "$T/s.json" '.hints[0]')" 'another architecture'
    assert_schema "$T/s.json"
}

# bats test_tags=memcheck
@test "collective timeouts: the rank that is silent is named, the one that gave up first is a victim" {
    run "$RANKINIT" --nproc-per-node 3 --settle 2s --summary "$T/s.json" sh -c '
        [ $RANK = 1 ] && exec sleep 60
        echo "[rank$RANK]:[E1130 23:10:07.114 ProcessGroupNCCL.cpp:632] [Rank $RANK] Watchdog caught collective" \
            "operation timeout: WorkNCCL(SeqNum=31, OpType=REDUCE, NumelIn=5, NumelOut=5, Timeout(ms)=7000)" \
            "ran for 7003 milliseconds before timing out." >&2
        kill -ABRT $$'
    assert_eq "$status" 134
    assert_json "$T/s.json" .reason collective_timeout
    assert_json "$T/s.json" .root_cause.kind watchdog
    assert_json "$T/s.json" '.failures[0] | [.ranks, .class] | @csv' '"0,2","victim"'
    assert_has "$(json_get "$T/s.json" .message)" 'rank 1 was silent in a collective; rank '
    assert_has "$(json_get "$T/s.json" .message)" 'in REDUCE, SeqNum 31'
    assert_json "$T/s.json" '.collective | [.op, .seq, .waited, .silent] | @csv' '"REDUCE",31,"0,2","1"'
    assert_schema "$T/s.json"
}

@test "what a rank says and does at our signal is no cause, however fast it does it" {
    for i in 1 2 3 4 5 6 7 8 9 10; do
        mkfifo "$T/ready.$i"
        run "$RANKINIT" --nproc-per-node 2 --summary "$T/s.json" bash -c '
            [ $RANK = 1 ] && { read -r <"$0"; exit 7; }
            trap "printf \"Traceback (most recent call last):\n  File \\\"a.py\\\", line 4, in f\nValueError: x\n\" >&2; exit 3" TERM
            echo >"$0"
            while :; do read -rt 0.01 <>"$0"; done' "$T/ready.$i"
        assert_eq "$status" 7
        assert_json "$T/s.json" .root_cause.rank 1
        assert_json "$T/s.json" '[.failures[].ranks] | @csv' '"1"'
    done
}
