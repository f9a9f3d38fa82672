#!/usr/bin/env bats
# Stopping under bad circumstances: what does not die, signals that come too early, leaders that
# end before their groups, and everybody who must not be hit.

load lib

# A spec that makes the ladder short.
quick_spec() {
    printf 'apiVersion: rankinit/v1\nstop: {grace: 100ms, fail_grace: 100ms, orphan_grace: 100ms}\n' >"$T/spec.yaml"
}

FREEZER=/sys/fs/cgroup/freezer/rankinit-test-$$

# freeze [--thread] ID...: not even SIGKILL ends it until thaw. cgroup v2 has nothing like that.
freeze() {
    local file=cgroup.procs id
    [ "$1" != --thread ] || { file=tasks && shift; }
    [ -w /sys/fs/cgroup/freezer/tasks ] || skip "no freezer of cgroup v1"
    mkdir -p "$FREEZER"
    for id in "$@"; do echo "$id" >"$FREEZER/$file"; done
    echo FROZEN >"$FREEZER/freezer.state"
    until grep -qx FROZEN "$FREEZER/freezer.state"; do :; done
}

thaw() {
    local pid
    [ -d "$FREEZER" ] || return 0
    echo THAWED >"$FREEZER/freezer.state"
    while read -r pid; do kill -KILL "$pid" && wait_gone "$pid"; done <"$FREEZER/cgroup.procs"
    rmdir "$FREEZER"
}

teardown() {
    thaw 2>/dev/null
    stop_all
}

# traced OPTION... -- COMMAND...: puts COMMAND below strace, but as the process that was started.
traced() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    TRACED=(strace -DDD -f -qq "${options[@]}" "$@")
}

@test "an unkillable process: the run ends by its deadline, named before the last wait and after" {
    local pid
    quick_spec
    traced -s 3000 -e trace=pwrite64 -o "$T/trace" -- "$RANKINIT"
    touch "$T/log"
    RANKINIT=${TRACED[0]} start "${TRACED[@]:1}" --spec "$T/spec.yaml" --nproc-per-node 2 --summary "$T/s.json" \
        --termination-log "$T/log" "$PAYLOAD" hold "$T/ready"
    wait_lines "$T/ready" 2
    read -r pid <"$T/ready"
    freeze "$pid"
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    assert_schema "$T/s.json" "$T/log"
    assert_json "$T/s.json" .ranks.unreaped 1
    assert_json "$T/s.json" '.hints | length' 1
    [[ $(json_get "$T/s.json" '.hints[0]') =~ ^"pid $pid (payload) of rank "[01]" is left: state D in __refrigerator: SIGKILL has no effect" ]]
    assert_has "$(cat "$T/err")" "pid $pid (payload) of rank"
    [ "$(grep -cF "is left: state D" "$T/trace")" -ge 2 ]
}

@test "the same after a failure: the failed rank's code, not that of the one that is left" {
    local pid
    quick_spec
    mkfifo "$T/go"
    start --spec "$T/spec.yaml" --nproc-per-node 2 --summary "$T/s.json" sh -c '
        if [ $RANK = 0 ]; then exec "$PAYLOAD" hold "$0/ready"; fi
        exec "$PAYLOAD" gate "$0/go" exit 9' "$T"
    wait_for "$T/ready"
    read -r pid <"$T/ready"
    freeze "$pid"
    : >"$T/go"
    finish
    assert_eq "$status" 9
    assert_json "$T/s.json" .root_cause.rank 1
    assert_has "$(json_get "$T/s.json" '.hints[0]')" "pid $pid (payload) of rank 0 is left: state D"
}

@test "a zombie leader whose thread is stuck is told apart, and a zombie whose parent does not wait" {
    local leader parent zombie tid
    quick_spec
    start --spec "$T/spec.yaml" --nproc-per-node 2 --summary "$T/s.json" sh -c '
        if [ $RANK = 0 ]; then exec "$PAYLOAD" zombie-leader "$0/leader"; fi
        exec "$PAYLOAD" zombie "$0/parent"' "$T"
    wait_for "$T/leader"
    wait_for "$T/parent"
    read -r leader <"$T/leader"
    read -r parent <"$T/parent"
    zombie=$(tr -d " " <"/proc/$parent/task/$parent/children")
    for tid in "/proc/$leader/task"/*; do tid=${tid##*/}; done
    [ "$tid" != "$leader" ]
    freeze --thread "$tid"
    freeze "$parent"
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    assert_schema "$T/s.json"
    assert_json "$T/s.json" .ranks.unreaped 3
    json_get "$T/s.json" '.hints[]' >"$T/hints"
    grep -F "pid $leader (payload) of rank 0 is left: a zombie of which 1 thread lives on, state D in __refrigerator: the kernel or a driver holds it" "$T/hints"
    grep -F "pid $parent (payload) of rank 1 is left: state D" "$T/hints"
    grep -F "pid $zombie (payload) of rank 1 is left: a zombie whose parent, pid $parent, lives and does not wait for it" "$T/hints"
}
