#!/usr/bin/env bats
# bats file_tags=smoke
# What a pod's status keeps of the verdict, by a stand-in for the kubelet.

load lib

# kubelet CONTAINERS TERMINATION-LOG [CONTAINER-LOG]: what the status of a pod says that a container left. As the kubelet
# does it: the last 4096 bytes of the termination log; where that is empty and a CONTAINER-LOG is given (policy
# FallbackToLogsOnError, after a failure), its last 80 lines, at most 2048 bytes; of all that the first 12288 / CONTAINERS.
kubelet() {
    if [ -s "$2" ] || [ -z "${3:-}" ]; then tail -c 4096 "$2"; else tail -n 80 "$3" | tail -c 2048; fi |
        head -c $((12288 / $1))
}

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
        assert_schema "$T/log"
        for n in 1 2 3 4 5 6; do
            kubelet $n "$T/log" | cmp "$T/log" -
        done
        want=$(json_get "$T/log" .message)
        # A debug container too many: what is left begins with the story, and --explain reads it.
        for n in 8 12 17; do
            kubelet $n "$T/log" >"$T/message"
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
        kubelet 6 "$T/empty" "$T/out" | tail -n 1 >"$T/message"
        assert_schema "$T/message"
        assert_json "$T/message" .verdict failed
        kubelet 6 "$T/empty" "$T/out" >"$T/whole"
        "$RANKINIT" --explain "$T/whole" | grep -q 'rankinit: failed'
    done
}

@test "killed whole at any moment: the message is the document of before" {
    install -m 666 /dev/null "$T/log"
    start --nproc-per-node 2 --grace 20s --termination-log "$T/log" sh -c 'trap "" TERM; echo >>"$0"; while :; do sleep 1; done' "$T/ready"
    wait_lines "$T/ready" 2
    kubelet 6 "$T/log" >"$T/message"
    assert_schema "$T/message"
    assert_json "$T/message" .verdict running
    kill -TERM "$RUN_PID"
    wait_until 'jq -e .stop "$0" >/dev/null' "$T/log"
    children=$(cat "/proc/$RUN_PID/task/$RUN_PID/children")
    kill -KILL "$RUN_PID"
    finish
    kubelet 6 "$T/log" >"$T/message"
    assert_schema "$T/message"
    assert_json "$T/message" .stop.signal SIGTERM
    # shellcheck disable=SC2086 # several
    for pid in $children; do wait_gone $pid; done
}
