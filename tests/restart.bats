#!/usr/bin/env bats
# shellcheck disable=SC2016 # the ranks expand it
# shellcheck disable=SC2154 # run sets stderr
# Ranks that are started again: when, with what, and what the verdict tells of it.

load lib

setup() {
    unset "${!PET_@}" "${!TORCHELASTIC_@}" "${!CUDA_@}" "${!NVIDIA_@}"
    export TMPDIR=$T
}

# spec KEY...: a spec with these keys of restart:.
spec() {
    printf 'apiVersion: rankinit/v1\nrestart: {%s}\n' "$1" >"$T/spec.yaml"
}

# bats test_tags=smoke,memcheck
@test "ranks see the attempt's number, a new port, and files of their own; the verdict tells each cause" {
    spec "max: 2, backoff: 10ms"
    run_pid1 --separate-stderr --spec "$T/spec.yaml" --nproc-per-node 2 --summary "$T/s.json" sh -c '
        [ -z "$(cat "$TORCHELASTIC_ERROR_FILE")" ] && [ ! -e "$RANKINIT_THIS_READY_FILE" ] || exit 99
        : >"$RANKINIT_THIS_READY_FILE"
        echo "$TORCHELASTIC_RESTART_COUNT/$RANKINIT_THIS_ATTEMPT/$TORCHELASTIC_MAX_RESTARTS $MASTER_PORT ${TORCHELASTIC_ERROR_FILE#$TMPDIR/}" >"$0/$RANK.$TORCHELASTIC_RESTART_COUNT"
        [ $RANK = 1 ] || exec "$PAYLOAD" hold
        while [ ! -s "$0/0.$TORCHELASTIC_RESTART_COUNT" ]; do :; done
        echo "{\"message\": \"bad in attempt $TORCHELASTIC_RESTART_COUNT\"}" >"$TORCHELASTIC_ERROR_FILE"
        exit $((3 + $TORCHELASTIC_RESTART_COUNT))' "$T"
    assert_eq "$status" 5
    for attempt in 0 1 2; do
        for rank in 0 1; do
            read -r counters port file <"$T/$rank.$attempt"
            assert_eq "$counters" "$attempt/$attempt/2"
            assert_eq "${file#*/}" "attempt_$attempt/$rank/error.json"
        done
        echo "$port"
    done | sort -u >"$T/ports"
    [ "$(wc -l <"$T/ports")" -ge 2 ] # one may come twice by chance
    assert_json "$T/s.json" .exit_code 5
    assert_json "$T/s.json" .root_cause.error.message "bad in attempt 2"
    assert_json "$T/s.json" .job.restarts 2
    assert_json "$T/s.json" '.job.attempts | map("\(.attempt) \(.reason) \(.exit_code) \(.rank)") | join(",")' \
        "0 rank_exited 3 1,1 rank_exited 4 1"
    assert_has "$(jq -r '.job.attempts[1].message' "$T/s.json")" "bad in attempt 1"
    assert_has "$(jq -r '.hints[]' "$T/s.json")" "not restarted again: 2 restarts are allowed"
    assert_has "$(jq -r .message "$T/s.json")" "; after 2 restarts"
    assert_schema "$T/s.json"
    tail -n 1 <<<"$stderr" >"$T/line"
    assert_schema "$T/line"
    assert_has "$stderr" "attempt 0: rank 1"
    run find "$T" -name 'rankinit_*'
    assert_eq "$output" ""
}

# bats test_tags=smoke
@test "a second attempt that succeeds is a success" {
    run_pid1 --max-restarts 3 --nproc-per-node 2 --summary "$T/s.json" \
        sh -c '[ "$RANKINIT_THIS_ATTEMPT" = 1 ] || "$PAYLOAD" die KILL'
    assert_eq "$status" 0
    assert_json "$T/s.json" .verdict succeeded
    assert_json "$T/s.json" .job.restarts 1
    assert_json "$T/s.json" '.job.attempts[0].exit_code' 137
    assert_schema "$T/s.json"
}

# bats test_tags=smoke
@test "all that an attempt left is gone before the next one starts: groups, daemons, orphans" {
    spec "max: 1, backoff: 0s"
    run_pid1 --spec "$T/spec.yaml" --nproc-per-node 2 --fail-grace 1s sh -c '
        if [ "$RANKINIT_THIS_ATTEMPT" = 0 ]; then
            "$PAYLOAD" daemon ignore "$0/daemon.$RANK" TERM
            "$PAYLOAD" hold "$0/child.$RANK" &
            while [ ! -s "$0/daemon.$RANK" ] || [ ! -s "$0/child.$RANK" ]; do :; done
            exit 1
        fi
        for left in "$0"/daemon.* "$0"/child.*; do
            kill -0 "$(cat "$left")" 2>/dev/null && exit 9
        done
        exit 0' "$T"
    assert_eq "$status" 0
}

# bats test_tags=smoke
@test "never after a stop request, an exec failure, a code in restart.never; only after those in only" {
    spec "max: 5, backoff: 10ms, never: [3], only: [3, 7]"
    for code in 3 4; do
        run_pid1 --spec "$T/spec.yaml" --nproc-per-node 1 --capture both --summary "$T/s.json" sh -c \
            'echo x >>"$0/tries"; exit '$code "$T"
        assert_eq "$status" "$code"
        assert_json "$T/s.json" '.job.restarts // 0' 0
    done
    assert_has "$(jq -r '.hints[]' "$T/s.json")" "exit code 4 is not in restart.only"
    run_pid1 --spec "$T/spec.yaml" --nproc-per-node 1 --summary "$T/s.json" sh -c 'exit 7'
    assert_json "$T/s.json" .job.restarts 5
    run -127 "${PID1[@]}" "$RANKINIT" --max-restarts 5 --nproc-per-node 2 --summary "$T/s.json" "$T/no-such-program"
    assert_eq "$status" 127
    assert_json "$T/s.json" '.job.restarts // 0' 0
    start_pid1 --max-restarts 5 --nproc-per-node 1 --capture both --summary "$T/s.json" \
        "$PAYLOAD" trap "$T/ready" 1 5 TERM
    wait_for "$T/ready"
    kill -TERM "$(pid1)"
    finish
    assert_eq "$status" 143
    assert_json "$T/s.json" '.job.restarts // 0' 0
}

# bats test_tags=smoke
@test "a stop request during the pause before a restart is honoured at once" {
    spec "max: 5, backoff: 1h"
    start_pid1 --spec "$T/spec.yaml" --nproc-per-node 2 --summary "$T/s.json" "$PAYLOAD" exit 3
    wait_line "$T/err" "restart 1 of at most 5"
    kill -TERM "$(pid1)"
    finish
    assert_eq "$status" 143
    assert_json "$T/s.json" .verdict stopped
    assert_json "$T/s.json" .job.restarts 1
    assert_has "$(jq -r .message "$T/s.json")" "no rank was running"
    assert_schema "$T/s.json"
}

# bats test_tags=smoke
@test "the time limit holds over all attempts; a hang is restarted" {
    spec "max: 1000, backoff: 1h"
    run_pid1 --spec "$T/spec.yaml" --timeout 2s --nproc-per-node 2 --summary "$T/s.json" "$PAYLOAD" exit 3
    assert_eq "$status" 124
    assert_json "$T/s.json" .reason timed_out
    run_pid1 --max-restarts 1 --idle-timeout 2s --nproc-per-node 2 --summary "$T/s.json" \
        sh -c '[ "$RANKINIT_THIS_ATTEMPT" = 1 ] || exec "$PAYLOAD" hold'
    assert_eq "$status" 0
    assert_json "$T/s.json" '.job.attempts[0].reason' hung
}

# bats test_tags=smoke
@test "restart.min_uptime ends it when a rank fails at once again; restart.window forgets old restarts" {
    spec "max: 100, backoff: 0s, min_uptime: 90500ms"
    run_pid1 --spec "$T/spec.yaml" --nproc-per-node 2 --summary "$T/s.json" \
        sh -c '[ $RANK = 1 ] || exec "$PAYLOAD" hold; exit 3'
    assert_eq "$status" 3
    assert_json "$T/s.json" .job.restarts 1
    assert_has "$(jq -r '.hints[]' "$T/s.json")" "failed twice in a row within restart.min_uptime (90.5 s)"
    # Each attempt takes longer than the window, so that no restart counts.
    spec "max: 1, backoff: 0s, window: 500ms"
    run_pid1 --spec "$T/spec.yaml" --nproc-per-node 1 --summary "$T/s.json" sh -c \
        '[ $RANKINIT_THIS_ATTEMPT -lt 3 ] || exit 0; sleep 0.6; exit 3'
    assert_eq "$status" 0
    assert_json "$T/s.json" .job.restarts 3
    spec "max: 1, backoff: 0s, window: 1h"
    run_pid1 --spec "$T/spec.yaml" --nproc-per-node 1 --summary "$T/s.json" "$PAYLOAD" exit 3
    assert_eq "$status" 3
    assert_json "$T/s.json" .job.restarts 1
    assert_has "$(jq -r '.hints[]' "$T/s.json")" "1 restart is allowed (--max-restarts) within 3600 s"
}

# bats test_tags=smoke
@test "the next attempt starts where the first one did, with the same descriptors" {
    mkdir "$T/work"
    cd "$T/work"
    printf '#!/bin/sh\n[ "$PWD" = "$1" ] && read -r line <&7 && [ "$line" = "$RANKINIT_THIS_ATTEMPT" ] || exit 9\n%s\n' \
        '[ "$RANKINIT_THIS_ATTEMPT" = 1 ]' >job
    chmod +x job
    printf '0\n1\n' >"$T/lines"
    exec 7<"$T/lines"
    run_pid1 --max-restarts 1 --nproc-per-node 1 --capture both ./job "$T/work"
    assert_eq "$status" 0
    exec 7<&-
}

@test "a stated port that somebody has taken meanwhile: 75 at the restart, naming it" {
    local port=29874
    mkfifo "$T/go"
    start --nproc-per-node 1 --master-port $port --max-restarts 2 --summary "$T/s.json" \
        sh -c 'echo >"$0/runs"; read -r line <"$0/go"; exit 3' "$T"
    wait_for "$T/runs"
    "$PYTHON" -c 'import signal, socket, sys
s = socket.socket(); s.bind(("", int(sys.argv[1]))); s.listen(); print("bound", flush=True); signal.pause()' \
        $port >"$T/taken" 3>&- &
    STARTED+=($!)
    wait_for "$T/taken"
    echo >"$T/go"
    finish
    assert_eq "$status" 75
    assert_has "$(json_get "$T/s.json" .message)" $port
    assert_json "$T/s.json" '.job.attempts[0].exit_code' 3
    assert_schema "$T/s.json"
}

# bats test_tags=smoke
@test "NVIDIA/nvidia-container-toolkit#48: a device that has gone is 69 and no restart" {
    mkdir -p "$T/machine/dev"
    : >"$T/machine/dev/nvidia0"
    : >"$T/machine/dev/nvidia1"
    run_pid1 --sysroot "$T/machine" --max-restarts 3 --nproc-per-node 2 --summary "$T/s.json" \
        sh -c 'rm -f "$0/machine/dev/nvidia1"; exit 3' "$T"
    assert_eq "$status" 69
    assert_json "$T/s.json" .reason device_lost
    assert_has "$(jq -r .message "$T/s.json")" "/dev/nvidia1 was there at the start and has gone"
    assert_json "$T/s.json" '.job.attempts[0].exit_code' 3
    assert_schema "$T/s.json"
}

# bats test_tags=smoke
@test "several nodes: refused with a pointer; PET_MAX_RESTARTS is a notice" {
    nodes=(--nnodes 2 --node-rank 0 --master-addr 127.0.0.1 --master-port 29413 --nproc-per-node 1 --capture both)
    run "$RANKINIT" "${nodes[@]}" --max-restarts 1 true
    assert_eq "$status" 78
    assert_has "$output" "let the cluster's engine restart the pods (see k8s/)"
    PET_MAX_RESTARTS=3 run "$RANKINIT" "${nodes[@]}" sh -c 'echo max $TORCHELASTIC_MAX_RESTARTS'
    assert_eq "$status" 0
    assert_has "$output" "PET_MAX_RESTARTS=3 has no effect on a job of 2 nodes"
    assert_has "$output" "max 0"
}

@test "real PyTorch: a rank killed at step 20 resumes from its checkpoint; a forked child of rank 0 does not hold the port" {
    [ -x "$PYTHON" ] || skip "no PyTorch here"
    cat >"$T/train.py" <<'PY'
import os, signal, sys, time
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
if rank == 0 and attempt == 0 and os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.setsid()
    time.sleep(3600)  # with the store's listening socket
saved = sys.argv[1] + "/checkpoint.pt"
state = torch.load(saved) if os.path.exists(saved) else {"step": 0, "sum": 0.0}
print("rank", rank, "attempt", attempt, "resumes at", state["step"], flush=True)
for step in range(state["step"], 40):
    if step == 20 and attempt == 0:
        dist.barrier()
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    t = torch.ones(1)
    dist.all_reduce(t)
    state = {"step": step + 1, "sum": state["sum"] + t.item()}
    if rank == 0 and step % 5 == 4:
        torch.save(state, saved + ".new")
        os.replace(saved + ".new", saved)
print("rank", rank, "sum", state["sum"], flush=True)
dist.destroy_process_group()
PY
    PYTHON_EXEC=$PYTHON OMP_NUM_THREADS=1 run_pid1 --max-restarts 1 --fail-grace 1s --nproc-per-node 2 \
        --summary "$T/s.json" "$T/train.py" "$T"
    assert_eq "$status" 0
    assert_has "$output" "rank 1 attempt 1 resumes at 20"
    assert_has "$output" "rank 0 sum 80.0"
    assert_has "$output" "rank 1 sum 80.0"
    assert_json "$T/s.json" '.job.attempts[0].exit_code' 137
    assert_json "$T/s.json" '.job.attempts[0].rank' 1
}
