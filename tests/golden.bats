#!/usr/bin/env bats
# bats file_tags=smoke
# The whole environment of every rank of every node, byte for byte, as each platform leads to it.
# Expected texts: golden/env/NAME.env. After a change that is meant to show there, write them anew with
#     UPDATE_GOLDEN=1 tests/run tests/golden.bats
# and read the difference. Only the random part of the error files' folder is made the same ("XXXXXX").

load lib

setup() {
    # Found by its name: a *.py fans out by itself, and with --no-python it is executed as it is.
    ln -s "$PAYLOAD" "$T/env.py"
    mkdir -p "$T/none/dev" "$T/gpus/dev" "$T/logs"
    touch "$T/gpus/dev/nvidia3" "$T/gpus/dev/nvidia5"
    : >"$T/got"
}

# node NAME VAR=VALUE... -- ARG...: runs rankinit as that node would and adds its ranks' environments.
node() {
    local name=$1 vars=()
    shift
    while [ "$1" != -- ]; do vars+=("$1") && shift; done
    shift
    env -i PATH=/usr/bin:/bin HOME=/root HOSTNAME="$name" KUBERNETES_SERVICE_HOST=10.96.0.1 "${vars[@]}" \
        "$RANKINIT" --sysroot "$T/${TREE:-none}" --log-dir "$T/logs" --rdzv-id golden --threads 2 \
        --log-prefix "\${local_rank}|" "$@" --no-python "$T/env.py" env \
        </dev/null >"$T/out" 2>"$T/err" || {
        cat "$T/err"
        return 1
    }
    # Ranks write at the same time, each in its order.
    LC_ALL=C sort -s -t '|' -k 1,1n "$T/out" | sed -e "s#$T/logs/golden_[^/]*#/logs/golden_XXXXXX#" |
        awk -v node="$name" '{
            bar = index($0, "|"); rank = substr($0, 1, bar - 1)
            if (NR == 1 || rank != last) print "== " node ", local rank " rank
            last = rank; print substr($0, bar + 1)
        }' >>"$T/got"
}

# expect NAME: what node gathered is golden/env/NAME.env.
expect() {
    local file=$ROOT/tests/golden/env/$1.env
    if [ -n "${UPDATE_GOLDEN:-}" ]; then
        cp "$T/got" "$file"
    fi
    diff -u "$file" "$T/got"
}

# pytorchjob INDEX NPROC WORLD_SIZE: what training-operator 1.7 and later puts into a pod.
pytorchjob() {
    local name=job-master-0
    [ "$1" = 0 ] || name=job-worker-$(($1 - 1))
    node "$name" PYTHONUNBUFFERED=1 MASTER_ADDR=job-master-0 MASTER_PORT=23456 RANK="$1" WORLD_SIZE="$3" \
        PET_MASTER_ADDR=job-master-0 PET_MASTER_PORT=23456 PET_NNODES=2 PET_NODE_RANK="$1" \
        PET_NPROC_PER_NODE="$2" --
}

@test "no platform: one node by flags" {
    node host -- --nproc-per-node 2 --master-port 29511
    expect single
}

@test "no platform: leftovers of other launchers go, what the user set stays" {
    node host LOCAL_RANK=7 RANK=7 OMPI_COMM_WORLD_RANK=7 PMIX_RANK=7 OMPI_MCA_btl=self SLURM_JOB_ID=1 \
        PET_NNODES=2 RANKINIT_GRACE=5s TORCHELASTIC_RUN_ID=old OMP_NUM_THREADS=9 PYTHONFAULTHANDLER=0 \
        NCCL_DEBUG=INFO CUDA_VISIBLE_DEVICES= -- --nnodes 1 --nproc-per-node 1 --threads budget \
        --node-rank 0 --master-port 29511
    expect leftovers
}

@test "PyTorchJob 1.7 and later, nprocPerNode a number" {
    pytorchjob 0 2 4
    pytorchjob 1 2 4
    expect pytorchjob-integer
}

@test "PyTorchJob 1.7 and later, nprocPerNode auto: the devices are counted" {
    TREE=gpus pytorchjob 0 auto 2
    TREE=gpus pytorchjob 1 auto 2
    expect pytorchjob-auto
}

@test "Trainer v2" {
    local i
    for i in 0 1; do
        node "tj-node-0-$i" PET_NNODES=2 PET_NPROC_PER_NODE=2 PET_NODE_RANK=$i \
            PET_MASTER_ADDR=tj-node-0-0.tj PET_MASTER_PORT=29500 JOB_COMPLETION_INDEX=$i --
    done
    expect trainjob
}

@test "Indexed Job: the size by flags, the node by its index" {
    local i
    for i in 0 1; do
        node "ij-$i" JOB_COMPLETION_INDEX=$i -- --nnodes 2 --nproc-per-node 2 --master-addr ij-0.ij \
            --master-port 29511
    done
    expect indexed-job
}

@test "isolated devices: a rank sees its own, and calls itself 0" {
    TREE=gpus node host -- --device-mode isolated --master-port 29511
    expect isolated
}

@test "a spec's ranks: some have their own devices, environment and program" {
    ln -s "$PAYLOAD" "$T/other.py"
    cat >"$T/spec.yaml" <<EOF
apiVersion: rankinit/v1
env: [{name: NCCL_DEBUG, value: WARN}, {name: HOME, unset: true}]
ranks:
  - {local: "0", devices: "1", env: [{name: ROLE, value: leader}]}
  - {local: "0-1", env: [{name: NCCL_DEBUG, unset: true}]}
  - {local: "2", command: [$T/other.py, args, "\${local_rank} is another program"]}
EOF
    touch "$T/gpus/dev/nvidia6"
    TREE=gpus node host -- --nproc-per-node 3 --master-port 29511 --spec "$T/spec.yaml"
    expect exceptions
}
