#!/usr/bin/env bats
# bats file_tags=smoke
# The whole environment of every rank, byte for byte, without a platform; with one: platforms.bats.

load lib
load golden

setup() { golden_setup; }

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
    same exceptions # one rank runs a program that prints no environment
}
