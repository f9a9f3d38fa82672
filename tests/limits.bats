#!/usr/bin/env bats
# shellcheck disable=SC2016 # the ranks expand it
# Time limits: of the whole run, of silence, and of a start; and what ranks say of where they hang.

load lib

setup() {
    unset "${!PET_@}" "${!TORCHELASTIC_@}"
    export TMPDIR=$T
    mkfifo "$T/never"
}

# bats test_tags=smoke
@test "--timeout is a normal stop: ranks get TERM and their grace, the code is 124" {
    run_pid1 --timeout 3s --grace 20s --nproc-per-node 2 --summary "$T/s.json" \
        sh -c 'trap "echo saved >\"$0/$RANK\"; exit 0" TERM; read -r line <"$0/never" & wait' "$T"
    assert_eq "$status" 124
    assert_eq "$(cat "$T/0" "$T/1")" "saved
saved"
    assert_json "$T/s.json" .reason timed_out
    assert_json "$T/s.json" .verdict failed
    assert_json "$T/s.json" .exit_origin rankinit
    assert_json "$T/s.json" .ranks.succeeded 2
    assert_has "$(jq -r .message "$T/s.json")" "time limit: stopped after"
    assert_schema "$T/s.json"
}

# bats test_tags=smoke
@test "--timeout with --rewrite TERM:USR1 asks for the checkpoint in the words the job knows" {
    run_pid1 --timeout 3s --rewrite TERM:USR1 --nproc-per-node 1 --capture both \
        sh -c 'trap "echo usr1; exit 3" USR1; read -r line <"$0/never" & wait' "$T"
    assert_eq "$status" 124
    assert_has "$output" usr1
}

# bats test_tags=smoke
@test "--timeout in init mode too: TERM, and then the grace" {
    run_pid1 --timeout 300ms --grace 300ms --summary "$T/s.json" "$PAYLOAD" ignore "$T/ready" TERM
    assert_eq "$status" 124
    assert_json "$T/s.json" .reason timed_out
    assert_has "$(jq -r .message "$T/s.json")" "SIGKILL was needed"
}

# bats test_tags=smoke
@test "a run that ends in time, and one whose ranks had failed before, are what they are" {
    run_pid1 --timeout 60s --idle-timeout 60s --start-timeout 60s --nproc-per-node 2 true
    assert_eq "$status" 0
    run_pid1 --timeout 60s --idle-timeout 60s --nproc-per-node 2 "$PAYLOAD" exit 7
    assert_eq "$status" 7
}

# bats test_tags=smoke
@test "--idle-timeout: while one rank writes, nobody hangs; silence is a hang, 76" {
    run_pid1 --idle-timeout 3s --nproc-per-node 2 --summary "$T/s.json" --fail-grace 5s \
        sh -c 'if [ "$RANK" = 0 ]; then for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.6; done; fi
               exec "$PAYLOAD" hold'
    assert_eq "$status" 76
    assert_has "$output" 8
    assert_json "$T/s.json" .reason hung
    assert_has "$(jq -r .message "$T/s.json")" "for 3.0 s (--idle-timeout): ranks 0-1 did not say where"
    assert_schema "$T/s.json"
}

# bats test_tags=smoke
@test "a hanging rank that ignores SIGABRT gets TERM and then KILL" {
    run_pid1 --idle-timeout 300ms --fail-grace 300ms --nproc-per-node 1 --capture both --summary "$T/s.json" \
        "$PAYLOAD" ignore "$T/ready" ABRT TERM
    assert_eq "$status" 76
    assert_json "$T/s.json" .reason hung
}

# bats test_tags=smoke
@test "no core is dumped of a rank that hangs" {
    cd "$T"
    run_pid1 --idle-timeout 1s --nproc-per-node 1 --capture both --summary "$T/s.json" \
        sh -c 'ulimit -c unlimited 2>/dev/null; exec "$PAYLOAD" hold "$0/ready"' "$T"
    assert_eq "$status" 76
    run find "$T" -name 'core*'
    assert_eq "$output" ""
}

# bats test_tags=smoke
@test "--start-timeout: output of one rank is enough, and so is its ready file" {
    for ready in 'echo up' ': >"$RANKINIT_THIS_READY_FILE"'; do
        run_pid1 --start-timeout 3s --timeout 6s --nproc-per-node 2 \
            sh -c '[ "$RANK" = 0 ] || { '"$ready"'; }; exec "$PAYLOAD" hold'
        assert_eq "$status" 124
    done
    run_pid1 --start-timeout 1s --timeout 20s --nproc-per-node 2 --summary "$T/s.json" "$PAYLOAD" hold
    assert_eq "$status" 76
    assert_has "$(jq -r .message "$T/s.json")" "or was ready 1.0 s after the start (--start-timeout)"
    run find "$T" -name 'rankinit_*'
    assert_eq "$output" "" # ready files go with the folder
}

# bats test_tags=smoke
@test "a reader that does not read is no silence of the ranks" {
    mkfifo "$T/slow"
    exec {reader}<>"$T/slow"
    "${PID1[@]}" "$RANKINIT" --idle-timeout 2s --timeout 6s --nproc-per-node 1 --capture both \
        --report never --summary "$T/s.json" "$PAYLOAD" write 1 40000 100 >"$T/slow" 2>&1 3>&- &
    RUN_PID=$!
    STARTED+=("$RUN_PID")
    finish
    assert_eq "$status" 124
    exec {reader}<&-
}

# bats test_tags=smoke
@test "silence that nobody would hear is refused" {
    run "$RANKINIT" --idle-timeout 5s --capture none --nproc-per-node 2 true
    assert_eq "$status" 78
    assert_has "$output" "--idle-timeout: whether ranks are silent can only be told"
    run "$RANKINIT" --start-timeout 5s --capture none sleep 1
    assert_eq "$status" 78
    assert_has "$output" "--start-timeout: whether ranks have started can only be told"
    run "$RANKINIT" --start-timeout 20s --idle-timeout 20s echo heard # else nothing passes in init mode
    assert_eq "$status" 0
    assert_eq "$output" heard
}

@test "pytorch/pytorch#76287: real PyTorch, rank 1 skips an all_reduce: who waits where is in the verdict" {
    [ -x "$PYTHON" ] || skip "no PyTorch here"
    cat >"$T/train.py" <<'PY'
import sys, time
import torch, torch.distributed as dist

def read_next_batch():
    while True:
        time.sleep(3600)

def step(rank):
    t = torch.ones(1)
    for i in range(20):
        if i == 5 and rank == 1:
            read_next_batch()
        dist.all_reduce(t)
        print("step", i, flush=True)

dist.init_process_group("gloo")
step(dist.get_rank())
PY
    PYTHON_EXEC=$PYTHON OMP_NUM_THREADS=1 run_pid1 --idle-timeout 30s --nproc-per-node 3 --summary "$T/s.json" "$T/train.py"
    assert_eq "$status" 76
    assert_json "$T/s.json" .reason hung
    assert_has "$(jq -r .message "$T/s.json")" "ranks 0,2 in all_reduce at train.py:13, rank 1 in read_next_batch at train.py:6"
    assert_json "$T/s.json" '.stuck | length' 2
    assert_json "$T/s.json" '.stuck[0].ranks' 0,2
    assert_json "$T/s.json" '.stuck[0].function' all_reduce
    assert_json "$T/s.json" '.stuck[1].line' 6
    assert_schema "$T/s.json"
    assert_has "$output" "rank 1 in read_next_batch at train.py:6"
}
