#!/usr/bin/env bats
# shellcheck disable=SC2154 # run sets stderr
# bats file_tags=smoke
# --plan: what would run and where every value came from. Nothing runs, nothing is written.
# Expected texts: golden/plan/NAME.txt. After a change that is meant to show there, write them anew with
#     UPDATE_GOLDEN=1 tests/run tests/plan.bats
# and read the difference.

load lib

# A machine of files with two GPUs and eight CPUs, and a Python that tells when it is run.
setup() {
    mkdir "$T/w" # beside what bats itself puts into $T
    cd "$T/w" || return
    mkdir -p bin tmp root/dev root/proc/self
    touch root/dev/nvidia3 root/dev/nvidia5
    printf 'Name:\tx\nCpus_allowed_list:\t0-7\n' >root/proc/self/status
    printf '#!/bin/sh\ntouch "%s/ran"\n' "$PWD" >bin/python
    chmod +x bin/python
}

# plan [VAR=VALUE...] -- ARG...: rankinit ARG... on that machine.
plan() {
    local vars=()
    while [ "$1" != -- ]; do vars+=("$1") && shift; done
    shift
    run --separate-stderr env -i PATH="$PWD/bin:/usr/bin:/bin" TMPDIR="$PWD/tmp" "${vars[@]}" \
        "$RANKINIT" --sysroot root "$@" </dev/null
}

# plan_json: the same with --plan=json; the document is valid and in plan.json.
plan_json() {
    local before=()
    while [ "$1" != -- ]; do before+=("$1") && shift; done
    plan "${before[@]}" -- --plan=json "${@:2}"
    assert_eq "$status" 0
    assert_eq "$stderr" ""
    printf '%s\n' "$output" >plan.json
    assert_schema plan.json
}

# expect NAME: $output is golden/plan/NAME.txt.
expect() {
    local file=$ROOT/tests/golden/plan/$1.txt
    printf '%s\n' "${output//$PWD/\/W}" >got
    if [ -n "${UPDATE_GOLDEN:-}" ]; then
        cp got "$file"
    fi
    diff -u "$file" got
}

# setting NAME: its value, source and origin in plan.json.
setting() {
    jq -r --arg name "$1" \
        '.settings[] | select(.name == $name) | [.value, .source, .origin] | join(" ")' plan.json
}

@test "text: ranks, every setting with its origin, notices" {
    plan PET_NNODES=2 PET_NODE_RANK=1 PET_MASTER_ADDR=job-0.job RANKINIT_GRACE=25s RANKINIT_NPROC=2 -- \
        --plan --fail-grace 5s train.py --lr 0.1
    assert_eq "$status" 0
    assert_eq "$stderr" ""
    expect fanout
}

@test "text: devices of their own, a long command once for the ranks that share it" {
    plan -- --plan=text --device-mode isolated --nproc-per-node 2 --no-python tools/start.sh \
        --a-rather-long-option with-a-long-value 'and a sentence'
    assert_eq "$status" 0
    expect isolated
}

@test "text: init mode" {
    plan OMP_NUM_THREADS=4 -- --plan sh -c 'echo "$HOME"'
    assert_eq "$status" 0
    expect init
}

@test "text keeps to 80 columns" {
    plan PET_NNODES=2 PET_NODE_RANK=1 PET_MASTER_ADDR=job-0.job -- --plan --device-mode isolated train.py \
        --a-rather-long-option with-a-long-value --another-one /some/where/else.json
    assert_eq "$(awk 'length($0) > 80' <<<"$output")" ""
}

@test "JSON: what each rank gets is what it really gets" {
    local rank
    plan_json RANK=9 PET_NNODES=1 KEPT=1 -- --nproc-per-node 2 --master-port 29517 --log-dir /dev/null env
    assert_json plan.json .mode fanout
    assert_json plan.json .job.world_size 2
    assert_json plan.json '.ranks | length' 2
    assert_json plan.json '.ranks[1].env.RANK' 1
    assert_json plan.json '.ranks[0].env_unset | join(" ")' PET_NNODES
    assert_json plan.json '.ranks[0].env.KEPT' null
    for rank in 0 1; do
        jq -r ".ranks[$rank].env | to_entries[] | \"\(.key)=\(.value)\"" plan.json | sort >planned
        plan RANK=9 PET_NNODES=1 KEPT=1 -- --nproc-per-node 2 --master-port 29517 --log-dir /dev/null \
            sh -c "[ \$RANK != $rank ] || env"
        grep -vE '^(KEPT|PATH|PWD|OLDPWD|SHLVL|TMPDIR|_)=' <<<"$output" | sort >real
        diff -u planned real
    done
}

@test "JSON: init mode has one process and no job" {
    plan_json RANK=3 -- true
    assert_json plan.json .mode init
    assert_json plan.json '.ranks | length' 1
    assert_json plan.json '.ranks[0].env | length' 0
    assert_json plan.json '.ranks[0].argv[0]' true
    assert_json plan.json .job null
}

# bats test_tags=memcheck
@test "JSON: values, sources and origins" {
    printf 'apiVersion: rankinit/v1\nstop: {grace: 7s, settle: 8s}\nworkdir: /srv\n' >spec.yaml
    plan_json RANKINIT_SETTLE=9s RANKINIT_TAIL_LINES=5 PET_NNODES=1 PET_ROLE=r -- --spec spec.yaml \
        --nproc-per-node 2 --tail-lines 6 true
    assert_eq "$(setting tail_lines)" "6 flag --tail-lines"
    assert_eq "$(setting settle)" "9s twin RANKINIT_SETTLE"
    assert_has "$(setting grace)" "7s spec spec.yaml"
    assert_eq "$(setting role)" "r platform PET_ROLE"
    assert_eq "$(setting fail_grace)" "10s default default"
    assert_eq "$(setting rdzv_id)" " unset "
    assert_eq "$(setting standalone)" "false default default"
    assert_json plan.json .stop.grace_seconds 7
    assert_json plan.json .workdir /srv
}

@test "the twin asks for it too" {
    plan RANKINIT_PLAN=json -- --nproc-per-node 2 sh -c 'touch ran'
    assert_eq "$status" 0
    printf '%s\n' "$output" >plan.json
    assert_schema plan.json
    assert_eq "$(setting plan)" "json twin RANKINIT_PLAN"
    plan RANKINIT_PLAN=text -- sh -c 'touch ran'
    assert_has "$output" "nothing was started"
    plan RANKINIT_PLAN=yaml -- sh -c 'touch ran'
    assert_eq "$status" 78
    [ ! -e ran ]
}

@test "nothing is started and nothing is written" {
    local mode
    mkdir logs
    echo before >log
    find . -printf '%p %s %T@\n' | sort >"$T/before"
    for mode in text json; do
        plan -- --plan=$mode --nproc-per-node 2 --log-dir logs/new --summary summary.json --termination-log log \
            sh -c 'touch ran'
        assert_eq "$status" 0
        plan -- --plan=$mode train.py
        assert_eq "$status" 0
        plan -- --plan=$mode sh -c 'touch ran'
        assert_eq "$status" 0
    done
    find . -printf '%p %s %T@\n' | sort | diff -u "$T/before" -
}

@test "a port and error files that only a start makes are said to be so" {
    plan_json -- --nproc-per-node 1 true
    assert_json plan.json .job.master_port "auto (a free one)"
    assert_json plan.json '.ranks[0].env.MASTER_PORT' "auto (a free one)"
    assert_json plan.json '.ranks[0].env.TORCHELASTIC_ERROR_FILE' "(made at start in $PWD/tmp)"
    plan_json -- --nproc-per-node 1 --master-port 29518 --log-dir /dev/null true
    assert_json plan.json .job.master_port 29518
    assert_json plan.json '.ranks[0].env.TORCHELASTIC_ERROR_FILE' null
}

@test "one of many processes: its rank, what told it, and what nobody knows" {
    plan_json PMI_RANK=3 PMI_SIZE=4 SLURM_PROCID=0 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2 -- --nproc-per-node 1 true
    assert_json plan.json '.job | [.platform, .nnodes, .node_rank, .nproc_per_node] | @csv' '"MPICH or Intel MPI",4,3,1'
    assert_json plan.json .job.platform_told \
        "MPICH or Intel MPI: nnodes 4 (PMI_SIZE), node-rank 3 (PMI_RANK); not used: SLURM_PROCID=0"
    assert_json plan.json '.job | has("master_addr")' false
    assert_json plan.json '.ranks[0].env | [.RANK, .LOCAL_RANK] | @csv' '"3","1"'
    assert_json plan.json '[.job.one_process, .ranks[0].rank, .ranks[0].local_rank] | @csv' 'true,3,1'
    plan_json PMI_RANK=3 PMI_SIZE=4 -- -q --nproc-per-node 1 true
    assert_json plan.json '.ranks[0] | [.rank, has("local_rank")] | @csv' '3,false'
    plan PMI_RANK=3 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2 -- --plan --nproc-per-node 1 true
    assert_has "$output" "mode        fan-out: one process here, rank 3 of 4 of a job of processes"
    assert_has "$output" $'\n     3      1  0,1      -           4  true\n'
    assert_has "$output" "master      unknown: MASTER_ADDR is not set"
}

@test "no secret is shown, wherever it was given" {
    local format
    printf 'apiVersion: rankinit/v1\nenv:\n- {name: HF_TOKEN, value: hush1}\n- {name: ARGS, value: "--key=hush2"}\n' >spec.yaml
    for format in text json; do
        plan WANDB_API_KEY=hush0 -- --plan=$format --spec spec.yaml --nproc-per-node 2 --no-python train.py --x-token=hush3 \
            --password hush4 api_key=hush5 '{"secret": "hush6"}' --log-level=debug
        assert_eq "$status" 0
        assert_lacks "$output$stderr" hush
        assert_has "$output" "--x-token=***"
        assert_has "$output" "--log-level=debug"
        plan "RANKINIT_SPEC={apiVersion: rankinit/v1, env: [{name: DB_PASSWORD, value: hush7}]}" -- \
            --plan=$format --nproc-per-node 1 true
        assert_eq "$status" 0
        assert_lacks "$output$stderr" hush
        plan RANKINIT_SPEC=$'apiVersion: rankinit/v1\nenv:\n- {name: DB_PASSWORD, value: hush8}\n' -- \
            --plan=$format --nproc-per-node 1 true
        assert_eq "$status" 0
        assert_lacks "$output$stderr" hush
    done
    plan_json -- --spec spec.yaml --nproc-per-node 1 true
    assert_json plan.json '.ranks[0].env.HF_TOKEN' '***'
}

@test "a plan that cannot be is refused as its run would be" {
    plan -- --plan
    assert_eq "$status" 64
    assert_has "$stderr" "no PROGRAM"
    plan -- --plan=yaml true
    assert_eq "$status" 64
    plan -- --plan --nnodes 2 true
    assert_eq "$status" 78
    assert_eq "$output" ""
    plan -- --plan=json --nproc-per-node 9 --device-mode isolated train.py
    assert_eq "$status" 78
    assert_eq "$(wc -l <<<"$stderr")" 1
    rm root/dev/nvidia*
    plan -- --plan --nproc-per-node gpu train.py
    assert_eq "$status" 69
}

@test "--sysroot: what decides is below it, and a tree that is not there is refused" {
    mkdir -p tree/etc/rankinit
    printf 'apiVersion: rankinit/v1\njob: {nproc_per_node: 3}\n' >tree/etc/rankinit/spec.yaml
    plan_json -- --sysroot tree true
    assert_json plan.json .job.nproc_per_node 3
    assert_json plan.json '.settings[] | select(.name == "nproc_per_node").origin' \
        'tree/etc/rankinit/spec.yaml: job.nproc_per_node'
    plan -- --plan --sysroot nowhere true
    assert_eq "$status" 64
    assert_has "$stderr" "--sysroot: nowhere: No such file or directory"
    run env RANKINIT_SYSROOT=tree/etc/rankinit/spec.yaml "$RANKINIT" --plan true
    assert_eq "$status" 78
    assert_has "$output" "RANKINIT_SYSROOT: tree/etc/rankinit/spec.yaml: is no directory"
}

@test "notices are part of the plan, not of stderr" {
    plan_json RANKINIT_NPROC=2 -- true
    assert_has "$(jq -r '.notices[]' plan.json)" RANKINIT_NPROC
}

@test "a plan of 4096 ranks" {
    plan_json -- --nproc-per-node 4096 --device-mode none true
    assert_json plan.json '.ranks | length' 4096
    assert_json plan.json '.ranks[4095].env.RANK' 4095
}

@test "output that cannot be written is told" {
    run bash -c '"$RANKINIT" --plan true >/dev/full'
    [ "$status" -ne 0 ]
}

@test "every option is in --help, in the man page and in the plan" {
    plan_json -- true
    "$RANKINIT" --help | sed -En 's/^  .{4}--([a-z-]+).*/\1/p' | sort >help
    [ "$(wc -l <help)" -gt 40 ]
    mandoc -T ascii "$ROOT/cmd/rankinit/rankinit.1" | col -b >page
    grep -E '^     +(-[a-z]( [a-z]+)?, )?--[a-z]' page | grep -oE -e '--[a-z-]+' | sed 's/^--//' | sort -u >page.names
    assert_eq "$(comm -23 help page.names)" ""
    # What runs nothing is no setting; these have a key in the spec, and no flag.
    grep -vxE 'help|version|install|probe|status' help >want
    jq -r '.settings[].name' plan.json | tr _ - |
        grep -vxE 'workdir|orphan-grace|output-max-bytes|restart-[a-z-]+|seccomp-allow|seccomp-deny|oom-score-adj|umask|nice' | sort >got
    diff -u want got
}
