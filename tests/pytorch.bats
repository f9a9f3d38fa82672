#!/usr/bin/env bats
# Real PyTorch trainings under rankinit as PID 1 of real containers.
# bats file_tags=alone
# shellcheck disable=SC2016 # the ranks expand it

load lib
load container

setup_file() { engine_up; }
teardown_file() { engine_down; }
teardown() {
    box_remove
    stop_all
}

TRAIN=$ROOT/docker/train.py
E2E=$ROOT/tests/e2e

# torch_box [OPTION...] -- ARG...: a container with PyTorch, our workers and the example training,
# each at its own path.
torch_box() {
    box --env PYTHON_EXEC="$PYTHON" --volume "$ROOT/build/venv:$ROOT/build/venv:ro" \
        --volume "$ROOT/docker:$ROOT/docker:ro" --volume "$E2E:$E2E:ro" "$@"
}

# line_of FILE TEXT: the number of the one line with it.
line_of() { grep -nF -- "$2" "$1" | cut -d: -f1; }

# assert_cause LOG-FILE RANK TYPE MESSAGE FILE LINE
assert_cause() {
    assert_json "$1" .root_cause.rank "$2"
    assert_json "$1" .root_cause.error.type "$3"
    assert_json "$1" .root_cause.error.message "$4"
    assert_json "$1" .root_cause.error.file "$5"
    assert_json "$1" .root_cause.error.line "$6"
}

@test "two ranks train to an accuracy of 0.95, exit 0, verdict succeeded" {
    # Without any privilege, as a cluster would run them.
    torch_box --read-only --user 1000:1000 --cap-drop ALL --security-opt no-new-privileges -- \
        --nproc-per-node 2 "$TRAIN"
    box_end
    assert_eq "$status" 0
    accuracy=$(sed -n 's/.*test accuracy //p' "$T/out")
    [ "$(jq -n "$accuracy >= 0.95")" = true ]
    assert_json "$T/log" .verdict succeeded
    assert_json "$T/log" .exit_code 0
    assert_json "$T/log" 'has("root_cause")' false
}

@test "loader processes, shared memory and gloo under the default filter, without any privilege" {
    torch_box --read-only --user 1000:1000 --cap-drop ALL --security-opt no-new-privileges -- \
        --seccomp default --nproc-per-node 2 "$E2E/loader.py"
    box_end
    assert_eq "$status" 0
    assert_eq "$(sort "$T/out")" "rank 0: agreed True, loaders 4
rank 1: agreed True, loaders 4"
    # The same with our filter alone, and as a user that rankinit itself takes on.
    torch_box --security-opt seccomp=unconfined -- --user 1000:1000 --cap-drop ALL --seccomp default \
        --nproc-per-node 2 "$E2E/loader.py"
    box_end
    assert_eq "$status" 0
    assert_eq "$(grep -c 'agreed True, loaders 4' "$T/out")" 2
}

@test "rank 1 raises ValueError: exit 1, and where it did" {
    torch_box -- --nproc-per-node 2 "$TRAIN" --fail-rank 1 --fail-at-step 3
    box_end
    assert_eq "$status" 1
    assert_json "$T/log" .verdict failed
    assert_cause "$T/log" 1 ValueError "rank 1 was told to fail at step 3" "$TRAIN" \
        "$(line_of "$TRAIN" 'raise ValueError')"
    assert_json "$T/log" .root_cause.exit_code 1
    assert_json "$T/log" .exit_origin rank
    assert_json "$T/log" .job.nproc_per_node 2
}

@test "the same as PID 1 of a namespace, without a container" {
    touch "$T/log"
    PYTHON_EXEC=$PYTHON start_pid1 --nproc-per-node 2 --termination-log "$T/log" \
        --summary "$T/summary" "$E2E/steps.py" raise
    finish
    assert_eq "$status" 1
    assert_termination_log
    assert_schema "$T/summary"
    for document in "$T/log" "$T/summary"; do
        assert_cause "$document" 1 ValueError "no digit in step 5" "$E2E/steps.py" \
            "$(line_of "$E2E/steps.py" 'raise ValueError')"
    done
    traceback=$(json_get "$T/summary" .root_cause.traceback)
    assert_has "$traceback" 'raise ValueError("no digit in step 5")'
}

@test "rank 1 dies by SIGKILL: 137 and rank 1, though rank 0 reports a lost peer" {
    torch_box -- --nproc-per-node 2 "$E2E/steps.py" kill
    box_end
    assert_eq "$status" 137
    # What would mislead: the only traceback is that of rank 0.
    grep -Eq "RuntimeError: .*Connection (reset|closed) by peer" "$T/err"
    assert_json "$T/log" .verdict failed
    assert_json "$T/log" .root_cause.rank 1
    assert_json "$T/log" .root_cause.signal SIGKILL
    # Our SIGTERM races with the lost connection: rank 0 is a consequence or was stopped, never a cause.
    assert_json "$T/log" '[.failures[] | select(.ranks == "0" and .class != "consequence")] | length' 0
}

@test "a rank that raised is the cause, though its peer's error and end came first" {
    torch_box -- --nproc-per-node 2 "$E2E/steps.py" linger
    box_end
    assert_json "$T/log" .verdict failed
    assert_cause "$T/log" 1 ValueError "no digit in step 5" "$E2E/steps.py" \
        "$(line_of "$E2E/steps.py" 'raise ValueError')"
    assert_json "$T/log" '[.failures[] | select(.class == "consequence").ranks] | @csv' '"0"'
}

@test "torch's @record: its error file is read" {
    torch_box -- --nproc-per-node 2 "$E2E/recorded.py"
    box_end
    assert_eq "$status" 1
    assert_cause "$T/log" 1 KeyError "'eight'" "$E2E/recorded.py" \
        "$(line_of "$E2E/recorded.py" '[text]')"
    assert_json "$T/log" '.root_cause.kind | . == "error_file" or . == "traceback"' true
}

@test "torch's @record counts when nothing is captured" {
    torch_box -- --nproc-per-node 2 --capture none "$E2E/recorded.py"
    box_end
    assert_eq "$status" 1
    assert_cause "$T/log" 1 KeyError "'eight'" "$E2E/recorded.py" \
        "$(line_of "$E2E/recorded.py" '[text]')"
    assert_json "$T/log" .root_cause.kind error_file
}

@test "docker stop in mid-training: a checkpoint, 143, stopped; and the next run goes on from it" {
    mkdir "$T/share"
    torch_box -- --nproc-per-node 2 "$TRAIN" --epochs 1000000 --checkpoint /share/digits.pt
    box_says 'epoch 2: '
    docker stop -t 25 "$BOX"
    box_end
    assert_eq "$status" 143
    assert_json "$T/log" .verdict stopped
    assert_json "$T/log" .stop.signal SIGTERM
    assert_json "$T/log" .stop.sender outside
    step=$(sed -n 's/.*checkpoint saved at step \([0-9]*\): .*/\1/p' "$T/out")
    [ "$step" -ge 24 ]
    [ -s "$T/share/digits.pt" ]

    torch_box -- --nproc-per-node 2 "$TRAIN" --epochs 3 --checkpoint /share/digits.pt
    box_end
    assert_eq "$status" 0
    assert_has "$(cat "$T/out")" "from step $step"
}

@test "-m package.module, with arguments" {
    torch_box --workdir "$E2E" -- --nproc-per-node 2 -m package.share --x 1
    box_end
    assert_eq "$status" 0
    assert_eq "$(sort "$T/out")" "package: rank 0 of 2, sum 3, arguments ['--x', '1']
package: rank 1 of 2, sum 3, arguments ['--x', '1']"
    assert_json "$T/log" .verdict succeeded
}

@test "two containers as the pods of an Indexed Job train together" {
    pod=(--env MASTER_ADDR=localhost --env MASTER_PORT=29511)
    job=(--nnodes 2 --nproc-per-node 1 -m package.share)
    torch_box --workdir "$E2E" "${pod[@]}" --env JOB_COMPLETION_INDEX=0 -- "${job[@]}"
    first=$BOX
    mv "$T/log" "$T/log.0"
    # They meet on the first one's loopback.
    PEER=$first torch_box --workdir "$E2E" "${pod[@]}" --env JOB_COMPLETION_INDEX=1 -- "${job[@]}"
    box_end
    assert_eq "$status" 0
    assert_has "$(cat "$T/out")" "rank 1 of 2, sum 3"
    assert_json "$T/log" '.job | [.nnodes, .node_rank, .nproc_per_node] | @csv' 2,1,1
    mv "$T/log.0" "$T/log"
    BOX=$first
    box_end
    assert_eq "$status" 0
    assert_has "$(cat "$T/out")" "rank 0 of 2, sum 3"
    assert_json "$T/log" '.job | [.nnodes, .node_rank, .nproc_per_node] | @csv' 2,0,1
}
