#!/usr/bin/env bats
# bats file_tags=smoke
# What a pod's status keeps of the verdict, by a stand-in for the kubelet.

load lib

# An outcome a run: how each rank ends. Messages of all lengths and kinds, few ranks and many.
runs() {
    RUNS=(
        "2 true"
        "1 exit 3"
        "3 kill -KILL \$\$"
        '2 printf "Traceback (most recent call last):\n" >&2
            for i in $(seq 200); do printf "  File \"/app/a/rather/long/path/train.py\", line %d, in f\n    f()\n" $i >&2; done
            printf "RecursionError: \"quoted\" \\\\ %2000s\n" x >&2; exit 1'
        '2 head -c 60000 /dev/urandom >&2; exit 1'
        '64 echo "ValueError: rank $RANK, word $(echo $RANK | tr 0-9 a-j)" >&2; exit $((RANK + 1))'
        '1 printf "\303\251\342\202\254%.0s" $(seq 900) >&2; exit 1'
        '300 exit 7'
    )
}

@test "with up to six containers the message is a whole document, with any number it tells the story" {
    local run count script n
    runs
    for run in "${RUNS[@]}"; do
        count=${run%% *} script=${run#* }
        install -m 666 /dev/null "$T/log"
        run "$RANKINIT" --nproc-per-node "$count" --device-share --termination-log "$T/log" --summary "$T/s.json" sh -c "$script"
        for n in 1 2 3 4 5 6; do
            "$ROOT/tests/kubelet" $n "$T/log" >"$T/message"
            assert_schema "$T/message"
            cmp "$T/log" "$T/message"
        done
        want=$(json_get "$T/log" .message)
        # A debug container too many: what is left begins with the story, and --explain reads it.
        for n in 8 12 17; do
            "$ROOT/tests/kubelet" $n "$T/log" >"$T/message"
            "$RANKINIT" --explain "$T/message" >"$T/page"
            assert_has "$(tr -s ' \n' ' ' <"$T/page")" "$(tr -s ' ' <<<"${want:0:150}")"
        done
    done
}

@test "without a termination log the last line of the output is the document" {
    local run count script n
    runs
    : >"$T/empty"
    for run in "${RUNS[@]:1}"; do
        count=${run%% *} script=${run#* }
        "$RANKINIT" --nproc-per-node "$count" --device-share sh -c "$script" >"$T/out" 2>&1 </dev/null || true
        # Containers write both streams into one log.
        "$ROOT/tests/kubelet" 6 "$T/empty" "$T/out" | tail -n 1 >"$T/message"
        assert_schema "$T/message"
        assert_json "$T/message" .verdict failed
        "$ROOT/tests/kubelet" 6 "$T/empty" "$T/out" >"$T/whole"
        "$RANKINIT" --explain "$T/whole" | grep -q 'rankinit: failed'
    done
}

@test "killed whole at any moment: the message is the document of before" {
    install -m 666 /dev/null "$T/log"
    start --nproc-per-node 2 --grace 20s --termination-log "$T/log" sh -c 'trap "" TERM; echo >>"$0"; while :; do sleep 1; done' "$T/ready"
    wait_lines "$T/ready" 2
    "$ROOT/tests/kubelet" 6 "$T/log" >"$T/message"
    assert_schema "$T/message"
    assert_json "$T/message" .verdict running
    kill -TERM "$RUN_PID"
    wait_until 'jq -e .stop "$0" >/dev/null' "$T/log"
    children=$(cat "/proc/$RUN_PID/task/$RUN_PID/children")
    kill -KILL "$RUN_PID"
    finish
    "$ROOT/tests/kubelet" 6 "$T/log" >"$T/message"
    assert_schema "$T/message"
    assert_json "$T/message" .stop.signal SIGTERM
    # shellcheck disable=SC2086 # several
    for pid in $children; do wait_gone $pid; done
}
