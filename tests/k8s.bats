#!/usr/bin/env bats
# The manifests in k8s/, as `kubectl kustomize` builds them: that Kubernetes takes them, that they are
# consistent, and that what they start gets the right ranks in the environment of each operator.

load lib

ENGINES=(indexed-job jobset leaderworkerset pytorchjob trainjob volcano)

# build FOLDER: prints what kustomize makes of it.
build() {
    local kubectl=kubectl
    [ ! -x "$ROOT/build/k8s/kubectl" ] || kubectl=$ROOT/build/k8s/kubectl
    "$kubectl" kustomize "$1"
}

setup_file() {
    local engine
    export BUILT=$BATS_FILE_TMPDIR
    for engine in "${ENGINES[@]}"; do
        build "$ROOT/k8s/$engine" >"$BUILT/$engine.yaml"
        to_json "$BUILT/$engine.yaml" >"$BUILT/$engine.json"
    done
}

# All documents of the given files as one JSON array.
to_json() {
    "$PYTHON" -c 'import json, sys, yaml
print(json.dumps([d for f in sys.argv[1:] for d in yaml.safe_load_all(open(f)) if d]))' "$@"
}

# pods ENGINE: its pod specs, one per line.
pods() { jq -c '.. | objects | select(.containers | type == "array")' "$BUILT/$1.json"; }

# document ENGINE KIND: that one into $T/KIND.
document() { jq -e --arg kind "$2" '.[] | select(.kind == $kind)' "$BUILT/$1.json" >"$T/$2"; }

@test "every folder's kustomization names all its files and nothing else" {
    for folder in "$ROOT"/k8s/*/; do
        [ -e "$folder/kustomization.yaml" ] || continue
        for file in "$folder"*.yaml; do basename "$file"; done |
            grep -vx kustomization.yaml >"$T/there"
        to_json "$folder/kustomization.yaml" | jq -r '.[0].resources[]' | grep -vx ../base | sort >"$T/named"
        assert_eq "$(cat "$T/named")" "$(cat "$T/there")"
    done
}

@test "every engine's manifests are what Kubernetes takes, unknown fields refused" {
    "$PYTHON" "$ROOT/tests/validate-k8s" "$BUILT"/*.yaml
    fields=(volumeMounts replicatedJobs size policies nprocPerNode containerName data)
    for field in "${fields[@]}"; do
        sed "s/\<$field:/x$field:/" "$(grep -lw -m1 "$field:" "$BUILT"/*.yaml | head -n 1)" >"$T/$field.yaml"
    done
    run ! "$PYTHON" "$ROOT/tests/validate-k8s" "$T"/*.yaml
    for field in "${fields[@]}"; do assert_has "$output" "'x$field' was unexpected"; done
}

@test "what an engine's own checks would refuse is refused" {
    # engine, what is changed, what is said of it
    says=()
    while IFS='|' read -r engine change words; do
        sed "$change" "$BUILT/$engine.yaml" >"$T/${#says[@]}.yaml"
        says+=("$words")
    done <<'CHANGES'
pytorchjob|s/restartPolicy: ExitCode/restartPolicy: Exit/|'Exit' is not one of
pytorchjob|s/replicas: 1/replicas: 2/|pytorchReplicaSpecs/Master/replicas: 1 was expected
pytorchjob|s/Worker:/Chief:/|'Chief' is not one of
trainjob|s/numProcPerNode: 1/numProcPerNode: 0/|0 is less than the minimum
jobset|s/name: hopeless/name: hope-less/|'hope-less' does not match
jobset|s/- PodFailurePolicy/- PodFailure/|'PodFailure' is not one of
leaderworkerset|s/LeaderCreated/LeaderMade/|'LeaderMade' is not one of
volcano|s/event: PodEvicted/event: PodFailed/|two policies for event PodFailed
volcano|s/exitCode: 78/exitCode: 64/|two policies for exitCode 64
volcano|s/event: PodEvicted/event: "*"/|a policy for every event beside others
indexed-job|s/restartPolicy: Never/restartPolicy: OnFailure/|podFailurePolicy needs restartPolicy Never
CHANGES
    run ! "$PYTHON" "$ROOT/tests/validate-k8s" "$T"/*.yaml
    for i in "${!says[@]}"; do assert_has "$(grep -F "/$i.yaml: " <<<"$output")" "${says[i]}"; done
}

@test "every engine takes every component, and each component reaches every pod that it names" {
    for engine in "${ENGINES[@]}"; do
        mkdir -p "$T/$engine"
        here=$(realpath --relative-to="$T/$engine" "$ROOT/k8s")
        printf 'resources: [%s]\ncomponents:\n' "$here/$engine" >"$T/$engine/kustomization.yaml"
        printf -- "- $here/components/%s\n" inject rdma restart-rules >>"$T/$engine/kustomization.yaml"
        build "$T/$engine" >"$T/$engine.yaml"
        to_json "$T/$engine.yaml" |
            jq -c '.. | objects | select(.containers | type == "array")' >"$T/$engine.pods"
    done
    "$PYTHON" "$ROOT/tests/validate-k8s" "$T"/*.yaml
    cat "$T"/*.pods >"$T/pods"
    assert_eq "$(wc -l <"$T/pods")" 8
    jq -e '.initContainers[0].command == ["/rankinit", "--install", "/volume/rankinit"]
        and (.containers[0].volumeMounts | map(.mountPath) |
             contains(["/usr/local/bin/rankinit", "/dev/shm", "/tmp"]))
        and (.volumes | map(select(.name == "shm").emptyDir.medium) == ["Memory"])
        and .containers[0].securityContext.capabilities == {"drop": ["ALL"], "add": ["IPC_LOCK"]}
        and .containers[0].resources.limits["rdma/hca"] != null' "$T/pods" >"$T/held"
    assert_eq "$(sort -u "$T/held")" true
    jq -e '.containers[0].restartPolicyRules[0].exitCodes.values == [69, 75]' \
        "$T/indexed-job.pods" "$T/jobset.pods"
}

@test "every pod: no privileges, no token, the verdict, room in /dev/shm, probes but none for readiness" {
    for engine in "${ENGINES[@]}"; do
        pods "$engine" >"$T/pods"
        [ -s "$T/pods" ]
        jq -e '.securityContext.runAsNonRoot and .securityContext.seccompProfile.type == "RuntimeDefault"
            and .serviceAccountName == "train" and .enableServiceLinks == false
            and (.containers[0]
                 | .securityContext.allowPrivilegeEscalation == false
                   and .securityContext.readOnlyRootFilesystem
                   and .securityContext.capabilities == {"drop": ["ALL"]}
                   and .terminationMessagePath == "/dev/termination-log"
                   and .terminationMessagePolicy == "File"
                   and .image == "registry.example.com/trainer:1"
                   and .startupProbe.exec.command == ["rankinit", "--probe", "started"]
                   and .livenessProbe.exec.command == ["rankinit", "--probe", "live"]
                   and .readinessProbe == null)' "$T/pods" >"$T/held"
        assert_eq "$engine $(sort -u "$T/held")" "$engine true"
        document "$engine" ServiceAccount
        assert_json "$T/ServiceAccount" .automountServiceAccountToken false
    done
}

@test "the probes of the manifests hold in a running container's namespace" {
    for engine in "${ENGINES[@]}"; do
        pods "$engine" | jq -r '.containers[0] | .startupProbe, .livenessProbe | .exec.command[1:] | join(" ")'
    done | sort -u >"$T/probes"
    assert_eq "$(wc -l <"$T/probes")" 2
    # shellcheck disable=SC2016 # the shell inside expands it
    run_pid1 --init-only sh -c 'until "$RANKINIT" --probe started >/dev/null; do :; done
        while read -r probe; do "$RANKINIT" $probe || exit; done <"$T/probes"'
    assert_eq "$status ${#lines[@]}" "0 2"
}

# spec ENGINE: the rank spec of its ConfigMap into $T/spec.yaml.
spec() {
    jq -er '.[] | select(.kind == "ConfigMap").data["spec.yaml"]' "$BUILT/$1.json" >"$T/spec.yaml"
}

@test "the rank spec in the ConfigMap is one, and pods have more time than it takes to stop" {
    for engine in "${ENGINES[@]}"; do
        spec "$engine"
        "$PYTHON" "$ROOT/tests/validate-spec" "$T/spec.yaml"
        "$RANKINIT" --plan=json --spec "$T/spec.yaml" --nproc-per-node 1 >"$T/plan"
        grace=$(json_get "$T/plan" '.settings[] | select(.name == "grace").value')
        [[ $grace =~ ^[0-9]+s$ ]]
        for seconds in $(pods "$engine" | jq .terminationGracePeriodSeconds); do
            [ "$seconds" -gt $((${grace%s} + 5)) ]
        done
    done
}

# plan ENGINE POD VAR=VALUE...: what the command of its pod POD (counted from 0; engines of one
# template have one) would run in that environment, as $T/plan.
plan() {
    local engine=$1 pod=$2 command environment
    shift 2
    spec "$engine"
    pods "$engine" | jq -s ".[$pod].containers[0]" >"$T/container"
    mapfile -t command < <(jq -r '.command[], (.args // [])[]' "$T/container")
    mapfile -t environment < <(jq -r '(.env // [])[] | select(.value) | .name + "=" + .value' "$T/container")
    assert_eq "${command[0]}" rankinit
    env -i PATH=/usr/bin:/bin KUBERNETES_SERVICE_HOST=10.96.0.1 "${environment[@]}" "$@" "$RANKINIT" --plan=json \
        --spec "$T/spec.yaml" "${command[@]:1}" >"$T/plan"
}

# expect_node N MASTER PORT: the plan is for node N of two with one rank each.
expect_node() {
    assert_json "$T/plan" '.job | [.nnodes, .node_rank, .nproc_per_node, .world_size, .first_rank] | @csv' "2,$1,1,2,$1"
    assert_json "$T/plan" '.job | "\(.master_addr) \(.master_port)"' "$2 $3"
    assert_json "$T/plan" '.ranks[0].argv[1:] | join(" ")' "-u train.py --checkpoint=/checkpoints/digits.pt"
}

@test "Indexed Job: both pods get their ranks; a third index is refused, 78" {
    for i in 0 1; do
        plan indexed-job 0 JOB_COMPLETION_INDEX=$i
        expect_node $i train-0.train 29500
    done
    run plan indexed-job 0 JOB_COMPLETION_INDEX=2
    assert_eq "$status" 78
    assert_has "$output" JOB_COMPLETION_INDEX
}

@test "JobSet: both pods get their ranks" {
    for i in 0 1; do
        plan jobset 0 JOB_COMPLETION_INDEX=$i JOBSET_JOB_GLOBAL_INDEX=0 JOBSET_GLOBAL_REPLICAS=1
        expect_node $i train-workers-0-0.train 29500
    done
    document jobset JobSet
    assert_json "$T/JobSet" '.metadata.name + "-" + .spec.replicatedJobs[0].name + "-0-0." + .spec.network.subdomain' \
        "$(jq -r '.env[] | select(.name == "MASTER_ADDR").value' "$T/container")"
}

@test "LeaderWorkerSet: both pods get their ranks" {
    for i in 0 1; do
        plan leaderworkerset 0 LWS_LEADER_ADDRESS=train-0.train.ns LWS_GROUP_SIZE=2 LWS_WORKER_INDEX=$i
        expect_node $i train-0.train.ns 29500
    done
}

@test "PyTorchJob: master and worker get their ranks, and our own codes can be retried" {
    for i in 0 1; do
        plan pytorchjob $i PYTHONUNBUFFERED=1 MASTER_ADDR=train-master-0 MASTER_PORT=23456 RANK=$i WORLD_SIZE=2 \
            PET_MASTER_ADDR=train-master-0 PET_MASTER_PORT=23456 PET_NNODES=2 PET_NODE_RANK=$i PET_NPROC_PER_NODE=1
        expect_node $i train-master-0 23456
        assert_json "$T/plan" '.settings[] | select(.name == "exit_preset").value' kubeflow-v1
        assert_json "$T/container" .name pytorch
    done
    document pytorchjob PyTorchJob
    assert_json "$T/PyTorchJob" .spec.nprocPerNode 1
    assert_json "$T/PyTorchJob" .spec.runPolicy.cleanPodPolicy Running
    assert_json "$T/PyTorchJob" '[.spec.pytorchReplicaSpecs[].restartPolicy] | unique | join(" ")' ExitCode
    assert_json "$T/PyTorchJob" '.spec.runPolicy.activeDeadlineSeconds > 0' true
}

@test "TrainJob: both pods get their ranks" {
    for i in 0 1; do
        plan trainjob 0 PET_NNODES=2 PET_NPROC_PER_NODE=1 PET_NODE_RANK=$i PET_MASTER_ADDR=train-node-0-0.train \
            PET_MASTER_PORT=29500 JOB_COMPLETION_INDEX=$i
        expect_node $i train-node-0-0.train 29500
        assert_json "$T/container" .name node
    done
    # Names that the trainer reserves: a job that sets one is rejected.
    run ! jq -e '.. | objects | select(.name? // "" | startswith("PET_"))' "$BUILT/trainjob.json"
    document trainjob TrainJob
    document trainjob ClusterTrainingRuntime
    assert_json "$T/TrainJob" .spec.runtimeRef.name "$(json_get "$T/ClusterTrainingRuntime" .metadata.name)"
}

@test "Volcano: master and worker get their ranks" {
    for i in 0 1; do
        plan volcano $i MASTER_ADDR=train-master-0.train MASTER_PORT=23456 WORLD_SIZE=2 RANK=$i VC_TASK_INDEX=0 \
            VK_TASK_INDEX=0 VC_MASTER_HOSTS=train-master-0.train VC_MASTER_NUM=1 \
            VC_WORKER_HOSTS=train-worker-0.train VC_WORKER_NUM=1
        expect_node $i train-master-0.train 23456
    done
}

@test "Indexed Job: Service, subdomain, selector, master and the sizes agree" {
    document indexed-job Job
    document indexed-job Service
    job=$(json_get "$T/Job" .metadata.name)
    service=$(json_get "$T/Service" .metadata.name)
    assert_json "$T/Job" .spec.template.spec.subdomain "$service"
    assert_json "$T/Service" '.spec.selector["batch.kubernetes.io/job-name"]' "$job"
    assert_json "$T/Service" .spec.clusterIP None
    assert_json "$T/Service" .spec.publishNotReadyAddresses true
    assert_json "$T/Job" '.spec.template.spec.containers[0].env[] | select(.name == "MASTER_ADDR").value' "$job-0.$service"
    assert_json "$T/Job" '.spec | [.completionMode, .completions, .parallelism] | @csv' '"Indexed",2,2'
}

@test "what is never better is not tried again: 64, 78, 126, 127; a disruption costs nothing" {
    for engine in indexed-job jobset trainjob; do
        jq -c '.. | .podFailurePolicy? // empty | .rules' "$BUILT/$engine.json" >"$T/rules"
        assert_json "$T/rules" 'map(.action) | join(" ")' "FailJob Ignore Count"
        assert_json "$T/rules" '.[0].onExitCodes | [.operator, .values[]] | join(" ")' "In 64 78 126 127"
        assert_json "$T/rules" '.[1].onPodConditions[0].type' DisruptionTarget
    done
    for engine in jobset trainjob; do
        jq -e '.. | .failurePolicy? // empty | .rules[0] | .action == "FailJobSet" and
            .onJobFailureReasons == ["PodFailurePolicy"]' "$BUILT/$engine.json"
    done
    document volcano Job
    assert_json "$T/Job" '[.spec.policies[] | select(.action == "AbortJob").exitCode] | join(" ")' "64 78 126 127"
}
