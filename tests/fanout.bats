#!/usr/bin/env bats
# shellcheck disable=SC2154 # run sets stderr
# bats file_tags=smoke
# DESIGN's first table: when rankinit fans out. One test a row, or more where a row has several forms.
# A fake interpreter shows how it was called, so that no test here needs Python.

load lib

setup() {
    mkdir "$T/bin"
    ln -s "$PAYLOAD" "$T/bin/payload"
    printf '#!/bin/sh\necho "ran RANK=${RANK-none} of ${WORLD_SIZE-none}: $*"\n' >"$T/bin/python"
    chmod +x "$T/bin/python"
    cp "$T/bin/python" "$T/bin/python3"
    cp "$T/bin/python" "$T/bin/torchrun-other"
    touch "$T/train.py"
    cd "$T" || exit 1
}

# clean VAR=VALUE... -- ARG...: rankinit with an environment of just these; sorted output.
clean() {
    local vars=()
    while [ "$1" != -- ]; do vars+=("$1") && shift; done
    shift
    run --separate-stderr env -i PATH="$T/bin:/usr/bin:/bin" "${vars[@]}" "${AS:-$RANKINIT}" "$@"
    output=$(sort <<<"$output")
}

@test "--init-only: never fans out, whatever asks for it" {
    clean PET_NNODES=1 PET_NPROC_PER_NODE=2 -- --init-only --nproc-per-node 2 python train.py
    assert_eq "$status" 0
    assert_eq "$output" "ran RANK=none of none: train.py"
}

@test "a flag states a shape: any PROGRAM fans out" {
    clean -- --nproc-per-node 2 sh -c 'echo $RANK of $WORLD_SIZE'
    assert_eq "$status" 0
    assert_eq "$output" $'0 of 2\n1 of 2'
}

@test "RANKINIT_* states a shape: any PROGRAM fans out" {
    clean RANKINIT_NPROC_PER_NODE=2 -- sh -c 'echo $RANK of $WORLD_SIZE'
    assert_eq "$output" $'0 of 2\n1 of 2'
}

@test "the spec states a shape: any PROGRAM fans out" {
    printf 'apiVersion: rankinit/v1\njob: {nproc_per_node: 2}\n' >spec.yaml
    clean -- --spec spec.yaml sh -c 'echo $RANK of $WORLD_SIZE'
    assert_eq "$output" $'0 of 2\n1 of 2'
}

@test "a spec with a command needs no PROGRAM" {
    printf 'apiVersion: rankinit/v1\njob: {nproc_per_node: 1}\ncommand: [sh, -c, "echo from the spec"]\n' >spec.yaml
    clean -- --spec spec.yaml
    assert_eq "$output" "from the spec"
}

@test "called as torchrun: always fans out, one rank unless stated, PROGRAM is Python" {
    ln -s "$RANKINIT" torchrun
    AS=$T/torchrun clean -- train.py --lr 1
    assert_eq "$output" "ran RANK=0 of 1: -u train.py --lr 1"
    AS=$T/torchrun clean -- --nproc-per-node=2 train
    assert_eq "$output" $'ran RANK=0 of 2: -u train\nran RANK=1 of 2: -u train'
    AS=$T/torchrun clean -- --no-python --nproc_per_node 1 sh -c 'echo $RANK'
    assert_eq "$output" 0
}

@test "a shape only in the platform's environment: *.py fans out" {
    clean PET_NPROC_PER_NODE=2 PET_NNODES=1 -- train.py
    assert_eq "$output" $'ran RANK=0 of 2: -u train.py\nran RANK=1 of 2: -u train.py'
}

@test "a shape only in the platform's environment: -m MODULE fans out" {
    clean PET_NPROC_PER_NODE=2 -- -m pkg.train --lr 1
    assert_eq "$output" $'ran RANK=0 of 2: -u -m pkg.train --lr 1\nran RANK=1 of 2: -u -m pkg.train --lr 1'
}

@test "a shape only in the platform's environment: python FILE.py and python -m MODULE fan out" {
    clean PET_NPROC_PER_NODE=2 -- python train.py
    assert_eq "$output" $'ran RANK=0 of 2: train.py\nran RANK=1 of 2: train.py'
    clean PET_NPROC_PER_NODE=2 -- python3 -u -m pkg.train
    assert_eq "$output" $'ran RANK=0 of 2: -u -m pkg.train\nran RANK=1 of 2: -u -m pkg.train'
}

@test "the same environment, a launcher or anything else: init mode and a notice that names the flag" {
    local program
    clean PET_NPROC_PER_NODE=2 PET_NNODES=1 -- sh -c 'echo once RANK=${RANK-none}'
    assert_eq "$output" "once RANK=none"
    assert_has "$stderr" "--nproc-per-node"
    for program in "python -m torch.distributed.run train.py" "python -m accelerate.commands.launch x.py" \
        "python -c pass"; do
        # shellcheck disable=SC2086 # words
        clean PET_NPROC_PER_NODE=2 -- $program
        assert_eq "$output" "ran RANK=none of none: ${program#* }"
        assert_has "$stderr" "--nproc-per-node"
    done
}

@test "no shape anywhere: *.py and -m MODULE fan out, one rank without devices" {
    clean -- train.py
    assert_eq "$output" "ran RANK=0 of 1: -u train.py"
    clean -- -m pkg
    assert_eq "$output" "ran RANK=0 of 1: -u -m pkg"
}

@test "no shape anywhere: anything else is init mode, python x.py too" {
    clean -- sh -c 'echo "RANK=${RANK-none} $0"' word
    assert_eq "$output" "RANK=none word"
    clean -- python train.py
    assert_eq "$output" "ran RANK=none of none: train.py"
    assert_eq "$stderr" ""
}

@test "an index alone states no shape" {
    clean JOB_COMPLETION_INDEX=3 LWS_WORKER_INDEX=1 SLURM_PROCID=0 MASTER_PORT=29500 -- python train.py
    assert_eq "$output" "ran RANK=none of none: train.py"
}

@test "inside a rank the environment states no shape" {
    clean RANKINIT_THIS_RANK=1 RANK=1 WORLD_SIZE=2 PET_NPROC_PER_NODE=2 -- python train.py
    assert_eq "$output" "ran RANK=1 of 2: train.py"
}

@test "auto is the visible devices" {
    mkdir -p root/dev root/proc
    touch root/dev/nvidia0 root/dev/nvidia3
    clean -- --sysroot "$T/root" train.py
    assert_eq "$output" $'ran RANK=0 of 2: -u train.py\nran RANK=1 of 2: -u train.py'
}

@test "init mode leaves the environment alone" {
    run --separate-stderr env -i PATH="$T/bin:/usr/bin:/bin" RANK=5 OMP_NUM_THREADS=3 PET_NNODES=9 "$RANKINIT" payload env
    assert_eq "$output" "$(printf 'OMP_NUM_THREADS=3\nPATH=%s\nPET_NNODES=9\nRANK=5' "$T/bin:/usr/bin:/bin")"
}

@test "bad usage: 64, one line, the nearest right name" {
    clean -- --nproc-per-nod 2 true
    assert_eq "$status" 64
    assert_has "$stderr" "--nproc-per-node"
    assert_eq "$(wc -l <<<"$stderr")" 1
    clean --
    assert_eq "$status" 64
}

@test "what is refused is told after what was noticed on the way, such as a misspelt variable" {
    clean PET_NNODES=2 PET_NNODE_RANK=1 -- train.py
    assert_eq "$status" 78
    assert_has "$stderr" "PET_NNODE_RANK has no effect: no setting of that name is read; did you mean PET_NODE_RANK?
rankinit: PET_NNODES says 2 nodes, but nothing says which one this is"
    clean RANKINIT_NODERANK=1 -- --nnodes 2 --master-addr a true
    assert_eq "$status" 78
    assert_has "$stderr" "did you mean RANKINIT_NODE_RANK?"
    clean RANKINIT_NODERANK=1 -- -q --nnodes 2 --master-addr a true
    assert_lacks "$stderr" NODERANK
}

@test "a spec in an environment variable may have several lines" {
    clean RANKINIT_SPEC=$'apiVersion: rankinit/v1\njob: {nproc_per_node: 2}\n' -- sh -c 'echo $WORLD_SIZE'
    assert_eq "$status $output" $'0 2\n2'
    clean RANKINIT_SPEC=$'apiVersion: rankinit/v1\njobs: {}\n' -- true
    assert_eq "$status" 78
    assert_has "$stderr" "RANKINIT_SPEC:2:1: unknown key"
}

@test "a platform decides only in a fan-out, and only what nobody stated" {
    clean LWS_GROUP_SIZE=2 LWS_WORKER_INDEX=1 LWS_LEADER_ADDRESS=a.b -- --nproc-per-node 1 --wait-master 0 sh -c 'echo $RANK $MASTER_ADDR'
    assert_eq "$output" "1 a.b"
    clean LWS_GROUP_SIZE=2 LWS_WORKER_INDEX=1 -- --nproc-per-node 1 --nnodes 2 --node-rank 0 --master-addr a \
        sh -c 'echo $RANK $MASTER_ADDR'
    assert_eq "$output" "0 a"
    clean LWS_GROUP_SIZE=2 -- true
    assert_eq "$status" 0
}

@test "what a platform says in vain is refused with 78, what a flag says with 64" {
    clean LWS_GROUP_SIZE=2 -- --nproc-per-node 1 true
    assert_eq "$status" 78
    assert_has "$stderr" "LWS_GROUP_SIZE says 2 nodes, but nothing says which one this is"
    clean -- --node-rank from-host --nproc-per-node 1 true
    assert_eq "$status" 64
    clean PET_NODE_RANK=from-host -- --nproc-per-node 1 true
    assert_eq "$status" 78
}

@test "which platform decided is told at -v, and without it where another one says otherwise" {
    clean LWS_GROUP_SIZE=1 LWS_WORKER_INDEX=0 LWS_LEADER_ADDRESS=a -- --nproc-per-node 1 true
    assert_lacks "$stderr" "platform:"
    clean LWS_GROUP_SIZE=1 LWS_WORKER_INDEX=0 LWS_LEADER_ADDRESS=a -- -v --nproc-per-node 1 true
    assert_has "$stderr" "platform: LeaderWorkerSet: nnodes 1 (LWS_GROUP_SIZE), node-rank 0 (LWS_WORKER_INDEX)"
    clean LWS_GROUP_SIZE=1 LWS_WORKER_INDEX=0 LWS_LEADER_ADDRESS=a JOB_COMPLETION_INDEX=7 -- --nproc-per-node 1 true
    assert_has "$stderr" "; not used: JOB_COMPLETION_INDEX=7"
}
