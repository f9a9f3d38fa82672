#!/usr/bin/env bats
# The manifests in k8s/: that they are consistent, and that what they start gets the right ranks.

load lib

JOB_DIR=$ROOT/k8s/indexed-job

# All documents of the given files as one JSON array.
to_json() {
    "$PYTHON" -c 'import json, sys, yaml
print(json.dumps([d for f in sys.argv[1:] for d in yaml.safe_load_all(open(f)) if d]))' "$@"
}

setup() {
    to_json "$JOB_DIR"/{service,job}.yaml >"$T/all"
    jq '.[] | select(.kind == "Job")' "$T/all" >"$T/job"
    jq '.[] | select(.kind == "Service")' "$T/all" >"$T/service"
    jq .spec.template.spec "$T/job" >"$T/pod"
    jq '.containers[0]' "$T/pod" >"$T/container"
}

# flag NAME: what the container's arguments say for --NAME=VALUE.
flag() {
    jq -er --arg flag "--$1=" \
        '.args[] | select(startswith($flag))[($flag | length):]' "$T/container"
}

# variable NAME: its value in the container's environment.
variable() { jq -er --arg name "$1" '.env[] | select(.name == $name).value' "$T/container"; }

@test "every folder's kustomization names all its files and nothing else" {
    for folder in "$ROOT"/k8s/*/; do
        for file in "$folder"*.yaml; do basename "$file"; done |
            grep -vx kustomization.yaml >"$T/there"
        to_json "$folder/kustomization.yaml" | jq -r '.[0].resources[]' | sort >"$T/named"
        assert_eq "$(cat "$T/named")" "$(cat "$T/there")"
        to_json "$folder"*.yaml >/dev/null
        ! command -v kubectl || kubectl kustomize "$folder" >/dev/null
        [ -s "${folder}README.md" ]
    done
}

@test "Service, subdomain, selector and master are one name" {
    job=$(json_get "$T/job" .metadata.name)
    service=$(json_get "$T/service" .metadata.name)
    assert_json "$T/pod" .subdomain "$service"
    assert_json "$T/service" '.spec.selector["batch.kubernetes.io/job-name"]' "$job"
    assert_json "$T/service" .spec.clusterIP None
    assert_json "$T/service" .spec.publishNotReadyAddresses true
    assert_eq "$(variable MASTER_ADDR)" "$job-0.$service"
    assert_json "$T/service" .spec.ports[0].port "$(variable MASTER_PORT)"
    assert_json "$T/container" .ports[0].containerPort "$(variable MASTER_PORT)"
}

@test "the three sizes agree" {
    assert_json "$T/job" .spec.completionMode Indexed
    assert_json "$T/job" .spec.completions "$(flag nnodes)"
    assert_json "$T/job" .spec.parallelism "$(flag nnodes)"
    [ "$(flag nproc-per-node)" -ge 1 ]
}

@test "the pod has more time than rankinit takes to stop" {
    grace=$(flag grace)
    [[ $grace =~ ^[0-9]+s$ ]]
    [ "$(json_get "$T/pod" .terminationGracePeriodSeconds)" -gt $((${grace%s} + 5)) ]
}

@test "failure policy: 64 and 78 end the Job, a disruption costs nothing, the rest counts" {
    assert_json "$T/pod" .restartPolicy Never
    jq .spec.podFailurePolicy.rules "$T/job" >"$T/rules"
    assert_json "$T/rules" 'map(.action) | join(" ")' "FailJob Ignore Count"
    assert_json "$T/rules" '.[0].onExitCodes | [.operator, .values[]] | join(" ")' "In 64 78"
    assert_json "$T/rules" '.[1].onPodConditions[0].type' DisruptionTarget
    assert_json "$T/rules" '[.[].onExitCodes.containerName // empty] | unique | join(" ")' \
        "$(json_get "$T/container" .name)"
}

@test "the verdict, /dev/shm and the privileges" {
    assert_json "$T/container" .terminationMessagePath /dev/termination-log
    assert_json "$T/container" .terminationMessagePolicy File
    volume=$(json_get "$T/container" '.volumeMounts[] | select(.mountPath == "/dev/shm").name')
    assert_json "$T/pod" ".volumes[] | select(.name == \"$volume\").emptyDir.medium" Memory
    assert_json "$T/pod" .securityContext.runAsNonRoot true
    assert_json "$T/pod" .securityContext.seccompProfile.type RuntimeDefault
    assert_json "$T/container" .securityContext.allowPrivilegeEscalation false
    assert_json "$T/container" .securityContext.readOnlyRootFilesystem true
    assert_json "$T/container" '.securityContext.capabilities.drop | join(" ")' ALL
}

# pod INDEX PROGRAM...: the container's command in its environment as pod INDEX, but for the
# program. The master's name resolves, as it does in a cluster.
pod() {
    local index=$1 command environment unshare=(unshare --mount)
    shift
    mapfile -t command < <(jq -r '.command[], (.args | .[:index("train.py")] | .[])' "$T/container")
    mapfile -t environment < <(jq -r '.env[] | .name + "=" + .value' "$T/container")
    assert_eq "${command[0]}" rankinit
    echo "127.0.0.1 localhost $(variable MASTER_ADDR)" >"$T/hosts"
    [ "$(id -u)" = 0 ] || unshare+=(--map-root-user)
    # shellcheck disable=SC2016 # expanded inside
    run --separate-stderr "${unshare[@]}" \
        sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$T/hosts" \
        env -i PATH=/usr/bin:/bin JOB_COMPLETION_INDEX="$index" "${environment[@]}" \
        "$RANKINIT" "${command[@]:1}" "$@"
}

@test "pods 0 and 1 run as ranks 0 and 1 of 2, with pod 0 as master" {
    for index in 0 1; do
        pod "$index" "$PAYLOAD" env
        assert_eq "$status" 0
        for line in "RANK=$index" LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 "GROUP_RANK=$index" \
            GROUP_WORLD_SIZE=2 MASTER_ADDR=train-0.train MASTER_PORT=29500; do
            grep -qxF "$line" <<<"$output" || { echo "no $line in: $output" >&2 && return 1; }
        done
    done
}

@test "a pod with an index beyond --nnodes is refused, 78" {
    pod 2 "$PAYLOAD" env
    assert_eq "$status" 78
    # shellcheck disable=SC2154 # run --separate-stderr sets it
    assert_has "$stderr" JOB_COMPLETION_INDEX
    assert_eq "$output" ""
}

@test "a rank's failure is the pod's exit code" {
    pod 1 "$PAYLOAD" exit 3
    assert_eq "$status" 3
}
