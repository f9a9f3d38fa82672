#!/usr/bin/env bats
# Two nodes of a job in two containers on a Docker network, found by name, with real PyTorch (gloo): what each
# says when something is taken away, and what --explain makes of both.
# bats file_tags=alone

load lib
load container

setup_file() {
    engine_up
    docker network create job
}
teardown_file() { engine_down; }
teardown() { box_remove; }

TRAIN=$ROOT/docker/train.py

# node INDEX NAME [VAR=VALUE...] -- ARG...: rankinit in the container of that name in the DNS.
node() {
    local index=$1 name=$2 options=()
    shift 2
    while [ "$1" != -- ]; do options+=(--env "$1") && shift; done
    LOG=$T/log.$index
    NETWORK=job box --hostname "${name%%.*}" --network-alias "$name" --env PYTHON_EXEC="$PYTHON" \
        --volume "$ROOT/build/venv:$ROOT/build/venv:ro" --volume "$ROOT/docker:$ROOT/docker:ro" "${options[@]}" "$@"
    NODES[index]=$BOX
}

# at INDEX COMMAND...: one of container.bash's commands, for that node.
at() {
    BOX=${NODES[$1]} LOG=$T/log.$1
    "${@:2}"
}

# pytorchjob INDEX ARG...: a pod of a PyTorchJob v1 with one rank.
pytorchjob() {
    local names=(job-master-0 job-worker-0)
    node "$1" "${names[$1]}" PYTHONUNBUFFERED=1 MASTER_ADDR=job-master-0 MASTER_PORT=23456 RANK="$1" WORLD_SIZE=2 \
        PET_MASTER_ADDR=job-master-0 PET_MASTER_PORT=23456 PET_NNODES=2 PET_NODE_RANK="$1" PET_NPROC_PER_NODE=1 \
        -- "${@:2}"
}

# trainjob INDEX ARG...: a pod of a TrainJob with one rank.
trainjob() {
    node "$1" "tj-node-0-$1.tj" PET_NNODES=2 PET_NPROC_PER_NODE=1 PET_NODE_RANK="$1" \
        PET_MASTER_ADDR=tj-node-0-0.tj PET_MASTER_PORT=29500 JOB_COMPLETION_INDEX="$1" -- "${@:2}"
}

# train PLATFORM ARG...: both nodes of it; returns in the middle of the training.
train() {
    for i in 1 0; do "$1" $i "$TRAIN" --epochs 1000000 "${@:2}"; done
    at 0 box_says 'training on 2 x cpu'
    at 0 box_says 'epoch 1: '
}

# ended INDEX CODE: that node ends so, with a document that is of it.
ended() {
    at "$1" box_end
    assert_eq "node $1: $status" "node $1: $2"
    assert_json "$LOG" '.job | [.nnodes, .node_rank, .nproc_per_node] | @csv' "2,$1,1"
}

# explained: what --explain says of both termination logs, and with what a cluster would tell of the pods, as one
# line each.
explained() {
    local index
    for index in "${!NODES[@]}"; do
        docker inspect "${NODES[index]}" | jq --rawfile message "$T/log.$index" '.[0] | {
            kind: "Pod", metadata: {name: .Config.Hostname}, status: {phase: "Failed", containerStatuses: [{
                name: "trainer", restartCount: .RestartCount, state: {terminated: {
                    exitCode: .State.ExitCode, startedAt: .State.StartedAt, finishedAt: .State.FinishedAt,
                    reason: (if .State.OOMKilled then "OOMKilled" else "Error" end), message: $message}}}]}}'
    done | jq -s '{kind: "List", apiVersion: "v1", items: .}' >"$T/pods"
    "$RANKINIT" --explain "$T"/log.* >"$T/page"
    logs=$(tr -s ' \n' ' ' <"$T/page")
    "$RANKINIT" --explain "$T/pods" >"$T/page"
    pods=$(tr -s ' \n' ' ' <"$T/page")
}

@test "a PyTorchJob, a rank of the worker is killed: its node says so, the master that it lost a peer" {
    train pytorchjob
    worker=$(at 1 box_pid)
    kill -KILL "$(cat "/proc/$worker/task/$worker/children")"
    ended 1 137
    assert_json "$LOG" '[.verdict, .root_cause.rank, .root_cause.signal] | @csv' '"failed",1,"SIGKILL"'
    ended 0 1
    assert_json "$LOG" '[.verdict, .root_cause.rank, .failures[0].class] | @csv' '"failed",0,"consequence"'
    assert_has "$(json_get "$LOG" .message)" "see the other nodes"
    explained
    assert_has "$logs" "failed, exit code 137: rank 1 (local rank 0 on node 1) failed first: killed by SIGKILL"
    assert_has "$logs" "node 1 (job-worker-0) was first"
    assert_has "$logs" "rank 0 lost a peer: RuntimeError: "
    assert_has "$pods" "failed, exit code 137: rank 1 (local rank 0 on node 1) failed first: killed by SIGKILL"
}

@test "a TrainJob, a whole container is killed: its document is that of before, the pods tell the rest" {
    train trainjob
    docker kill --signal KILL "${NODES[1]}"
    ended 1 137
    assert_json "$LOG" .verdict running
    ended 0 1
    assert_json "$LOG" '[.verdict, .failures[0].class] | @csv' '"failed","consequence"'
    explained
    # Documents alone cannot know that the other one is dead, only that nothing here was the cause.
    assert_has "$logs" "rank 0 (local rank 0 on node 0) lost its peer first"
    assert_has "$pods" "failed: node 1 (tj-node-0-1) was killed as a whole: Error, exit code 137"
    assert_has "$pods" "node 1 (tj-node-0-1) was first"
    assert_has "$pods" "its document still says running, though its container has ended"
}

@test "a TrainJob, the network is cut: both end by their time limit, and the network is what is suspected" {
    train trainjob --timeout 10
    docker network disconnect job "${NODES[1]}"
    for i in 0 1; do
        ended $i 1
        assert_json "$LOG" '[.verdict, .reason] | @csv' '"failed","collective_timeout"'
        assert_has "$(json_get "$LOG" .message)" "no rank of this node lags: see the other nodes"
    done
    explained
    for page in "$logs" "$pods"; do
        assert_has "$page" "a collective timed out though all ranks came to it: look at the network between the nodes"
    done
}
