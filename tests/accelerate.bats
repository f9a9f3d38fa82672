#!/usr/bin/env bats
# --accelerate-config: each golden/accelerate/X.yaml, a shape that some version wrote, becomes X.txt;
# and what accelerate's own launcher makes of the same file. UPDATE_GOLDEN=1 rewrites the texts.

load lib

GOLDEN=$ROOT/tests/golden/accelerate
MINE='^(ACCELERATE_|FSDP_|MEGATRON_LM_|PARALLELISM_CONFIG_|KMP_)'

setup() {
    mkdir -p "$T/root/dev" "$T/work"
    touch "$T"/root/dev/nvidia{0..7}
    export RANKINIT_SYSROOT=$T/root
    unset CUDA_VISIBLE_DEVICES HF_HOME XDG_CACHE_HOME OMP_NUM_THREADS
    cd "$T/work" || return
}

# plan FILE [ARG...]: the plan in plan.json, notices in notices; messages name the file alone.
plan() {
    status=0
    cp "$1" . && "$RANKINIT" --plan=json --accelerate-config "${1##*/}" "${@:2}" train.py >plan.json 2>err ||
        status=$?
}

# variables: of the first rank, by name.
variables() { jq -r --arg mine "$MINE" '.ranks[0].env | to_entries[] | select(.key | test($mine)) | "\(.key)=\(.value)"' plan.json | sort; }

# table FILE: all that comes of it.
table() {
    plan "$1"
    if [ "$status" -ne 0 ]; then
        echo "exit $status"
        cat err
        return
    fi
    jq -r '.settings[] | select(.source == "accelerate") | "\(.name): \(.value)  \(.origin)"' plan.json
    jq -r '.notices[] | select(test("yaml"))' plan.json
    variables
}

@test "what each file becomes" {
    local file name failed=
    for file in "$GOLDEN"/*.yaml; do
        name=${file##*/}
        table "$file" >"$T/$name.txt"
        [ -z "${UPDATE_GOLDEN-}" ] || cp "$T/$name.txt" "${file%.yaml}.txt"
        diff "${file%.yaml}.txt" "$T/$name.txt" || failed+=" $name"
    done
    assert_eq "$failed" ''
}

@test "the same variables as from accelerate's own launcher" {
    local failed=
    for file in "$GOLDEN"/*.yaml; do
        name=${file##*/}
        # It stops at the integer of plain_words, and starts no ranks on CPUs.
        [[ $name == bad_* || $name == plain_words.yaml || $name == mpirun.yaml ]] && continue
        plan "$file"
        # 1.16 sends, and reads, no optimization level of FP8 any more; older ones do.
        variables | grep -v -e NVME_PATH -e FP8_OPT_LEVEL >"$T/$name.ours"
        echo "$file"
    done >"$T/list"
    xargs "$PYTHON" "$ROOT/tests/accelerate/launcher.py" "$T" "$MINE" <"$T/list"
    while read -r file; do
        diff "$T/${file##*/}.theirs" "$T/${file##*/}.ours" || failed+=" ${file##*/}"
    done <"$T/list"
    assert_eq "$failed" ''
}

@test "auto: the file that accelerate would read, named with its checksum (accelerate #1133)" {
    mkdir -p "$T/hf/accelerate"
    cp "$GOLDEN/v0_12.yaml" "$T/hf/accelerate/default_config.yaml"
    HF_HOME=$T/hf run "$RANKINIT" --accelerate-config auto --plan=json train.py
    assert_eq "$status" 0
    assert_has "$output" "default_config.yaml (cksum $(cksum <"$GOLDEN/v0_12.yaml"))"
    HOME=$T/none run -78 "$RANKINIT" --accelerate-config=auto train.py
    assert_has "$output" "$T/none/.cache/huggingface/accelerate/default_config.yaml"
}

@test "flags and the spec win over the file, the file over what is inherited" {
    printf 'apiVersion: rankinit/v1\nenv: [{name: ACCELERATE_DYNAMO_MODE, value: mine}]\n' >spec.yaml
    export ACCELERATE_MIXED_PRECISION=fp8
    plan "$GOLDEN/v0_12.yaml" --nproc-per-node 3 --spec spec.yaml
    assert_json plan.json '.ranks | length' 3
    assert_json plan.json .ranks[0].env.ACCELERATE_MIXED_PRECISION fp16
    assert_json plan.json .ranks[0].env.ACCELERATE_DYNAMO_MODE mine
    plan "$GOLDEN/nodes.yaml" --node-rank 0
    assert_json plan.json .job.node_rank 0
    assert_json plan.json .job.nproc_per_node 2
    # Identity of the platform beats a file that all pods share: what contradicts it is refused.
    PET_NNODES=2 PET_NODE_RANK=0 plan "$GOLDEN/nodes.yaml"
    assert_eq "$status" 78
    assert_has "$(cat err)" 'machine_rank'
}

@test "Accelerator() on two ranks, by the file of accelerate config default: gathers and reduces" {
    ACCELERATE_USE_CPU=1 HF_HOME=$T/hf "$PYTHON" -m accelerate.commands.accelerate_cli config default >/dev/null
    unset RANKINIT_SYSROOT
    HF_HOME=$T/hf PYTHON_EXEC=$PYTHON run_pid1 --accelerate-config auto --nproc-per-node 2 \
        "$ROOT/tests/accelerate/script.py"
    assert_eq "$status" 0
    for rank in 0 1; do
        assert_has "$output" "rank $rank of 2: MULTI_CPU gathered [0, 1] sum 1.0 precision no"
    done
}
