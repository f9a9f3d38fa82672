#!/usr/bin/env bats
# Two nodes of a platform, each in a network, a host name and a view of /etc/hosts of its own, train with
# real PyTorch (gloo), each under its own rankinit, which knows no more than the platform's variables.
# bats file_tags=alone

load lib

teardown() { stop_all; }

E2E=$ROOT/tests/e2e
LIMIT=150 # seconds for PyTorch on a slow machine

# make_nodes NAME NAME: two nodes that reach each other by their names; sets NODES to two pids.
make_nodes() {
    local i name
    printf '127.0.0.1 localhost\n10.77.0.1 %s\n10.77.0.2 %s\n' "$1" "$2" >"$T/hosts"
    mkfifo "$T/ready"
    NODES=()
    for name in "$@"; do
        # shellcheck disable=SC2016 # expanded by the inner shell
        unshare --net --uts --mount sh -ec '
            echo "${1%%.*}" >/proc/sys/kernel/hostname
            mount --bind "$2/hosts" /etc/hosts
            ip link set lo up
            echo made >"$2/ready"
            exec sleep infinity' node "$name" "$T" 3>&- &
        NODES+=($!)
        STARTED+=($!)
        timeout "$DEADLINE" cat "$T/ready"
    done
    in_node 0 ip link add eth0 type veth peer name eth0 netns "${NODES[1]}"
    for i in 0 1; do
        in_node $i ip address add "10.77.0.$((i + 1))/24" dev eth0
        in_node $i ip link set eth0 up
    done
}

in_node() {
    nsenter --net --uts --mount --target "${NODES[$1]}" -- "${@:2}"
}

# start_node INDEX VAR=VALUE... -- ARG...: rankinit in that node; its output in $T/out.INDEX and $T/err.INDEX.
start_node() {
    local index=$1 vars=()
    shift
    while [ "$1" != -- ]; do vars+=("$1") && shift; done
    shift
    (cd "$E2E" && exec nsenter --net --uts --mount --target "${NODES[index]}" --wd="$E2E" -- \
        env PYTHON_EXEC="$PYTHON" PYTHONDONTWRITEBYTECODE=1 "${vars[@]}" \
        "$RANKINIT" --summary "$T/summary.$index" "$@" -m package.share) \
        >"$T/out.$index" 2>"$T/err.$index" </dev/null 3>&- &
    RUNS[index]=$!
    STARTED+=($!)
}

# assert_trained: both ended well, and every one of four ranks has the sum of all.
assert_trained() {
    local i
    for i in 0 1; do
        status=0
        wait_gone "${RUNS[i]}" $LIMIT
        wait "${RUNS[i]}" || status=$?
        [ "$status" = 0 ] || cat "$T/err.$i"
        assert_eq "$status" 0
        assert_json "$T/summary.$i" '.job | [.nnodes, .node_rank, .nproc_per_node] | @csv' "2,$i,2"
        assert_json "$T/summary.$i" .job.master_addr "$1"
    done
    assert_eq "$(sort "$T/out.0" "$T/out.1" | cut -d, -f1,2)" "package: rank 0 of 4, sum 10
package: rank 1 of 4, sum 10
package: rank 2 of 4, sum 10
package: rank 3 of 4, sum 10"
}

@test "two pods of a PyTorchJob" {
    local i names=(job-master-0 job-worker-0)
    make_nodes "${names[@]}"
    for i in 1 0; do
        start_node $i PYTHONUNBUFFERED=1 MASTER_ADDR=job-master-0 MASTER_PORT=23456 RANK=$i WORLD_SIZE=4 \
            PET_MASTER_ADDR=job-master-0 PET_MASTER_PORT=23456 PET_NNODES=2 PET_NODE_RANK=$i \
            PET_NPROC_PER_NODE=2 HOSTNAME="${names[i]}" --
    done
    assert_trained job-master-0
}

@test "two workers of an elastic PyTorchJob, told by their host names" {
    local i
    make_nodes job-worker-0 job-worker-1
    for i in 1 0; do
        start_node $i PET_RDZV_BACKEND=c10d PET_RDZV_ENDPOINT=job-worker-0:23456 PET_NNODES=2:2 \
            PET_NPROC_PER_NODE=2 --
    done
    assert_trained job-worker-0
}

@test "two pods of a TrainJob" {
    local i
    make_nodes tj-node-0-0.tj tj-node-0-1.tj
    # gloo asks for the address of the host's own name.
    printf '10.77.0.1 tj-node-0-0\n10.77.0.2 tj-node-0-1\n' >>"$T/hosts"
    for i in 1 0; do
        start_node $i PET_NNODES=2 PET_NPROC_PER_NODE=2 PET_NODE_RANK=$i PET_MASTER_ADDR=tj-node-0-0.tj \
            PET_MASTER_PORT=29500 JOB_COMPLETION_INDEX=$i --
    done
    assert_trained tj-node-0-0.tj
}
