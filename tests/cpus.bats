#!/usr/bin/env bats
# What ranks really get of the CPUs: quotas and sets of cgroup v1 for real (v2 is in the unit tests,
# by fixture), and what the kernel, or a filter, refuses.

# shellcheck disable=SC2154 # stderr is set by run --separate-stderr
load lib

GROUPS_MADE=()

# group CONTROLLER: sets GROUP, a new cgroup of it below the one that this shell is in.
group() {
    local own
    own=$(sed -nE "s/^[0-9]+:([^:]*,)?$1(,[^:]*)?:(.*)/\3/p" /proc/self/cgroup)
    if [ -z "$own" ] || [ ! -w "/sys/fs/cgroup/$1" ]; then skip "needs root and cgroup v1, $1"; fi
    GROUP=/sys/fs/cgroup/$1${own%/}/rankinit-test-$BASHPID-$BATS_TEST_NUMBER
    mkdir "$GROUP"
    GROUPS_MADE+=("$GROUP")
}

teardown() {
    local group
    stop_all
    for group in "${GROUPS_MADE[@]}"; do rmdir "$group"; done
}

# within GROUP... -- COMMAND...: `run` of it in these cgroups.
within() {
    local groups=()
    while [ "$1" != -- ]; do groups+=("$1") && shift; done
    shift
    # shellcheck disable=SC2016 # expanded by the inner shell
    run --separate-stderr sh -c '
        while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 99; shift; done
        shift
        exec "$@"' sh "${groups[@]}" -- "$@"
}

# The value of a "name: value" line of each rank, in the order of the ranks.
each_rank() { sort -t '|' -k 1,1n <<<"$output" | sed -n "s/^[0-9]*|$1[:=] *//p"; }

prefix=(--log-prefix '${local_rank}|')

@test "threads follow a real quota, rounded down, and the quota above it" {
    local row quota ranks threads
    [ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
    for row in '50000 1 1' '150000 1 1' '200000 1 2' '200000 2 1'; do
        read -r quota ranks threads <<<"$row" # of every 100000 us
        group cpu
        echo "$quota" >"$GROUP/cpu.cfs_quota_us"
        within "$GROUP" -- env -u OMP_NUM_THREADS "$RANKINIT" "${prefix[@]}" \
            --nproc-per-node "$ranks" "$PAYLOAD" env
        [ "$status" -eq 0 ]
        assert_eq "$(each_rank OMP_NUM_THREADS | sort -u)" "$threads"
        rmdir "$GROUP" && GROUPS_MADE=()
    done
    group cpu
    mkdir "$GROUP/inner"
    GROUPS_MADE=("$GROUP/inner" "$GROUP")
    echo 100000 >"$GROUP/cpu.cfs_quota_us"
    within "$GROUP/inner" -- "$RANKINIT" "${prefix[@]}" --nproc-per-node cpu "$PAYLOAD" env
    [ "$status" -eq 0 ]
    assert_eq "$(each_rank WORLD_SIZE)" 1
}

@test "a real cpuset is the budget, and what binding divides" {
    local last=$(($(nproc) - 1))
    group cpuset
    cat "$(dirname "$GROUP")/cpuset.mems" >"$GROUP/cpuset.mems"
    echo "$last" >"$GROUP/cpuset.cpus"
    within "$GROUP" -- "$RANKINIT" "${prefix[@]}" --nproc-per-node cpu "$PAYLOAD" state
    [ "$status" -eq 0 ]
    assert_eq "$(each_rank cpus)" "$last"
    within "$GROUP" -- "$RANKINIT" "${prefix[@]}" --nproc-per-node 2 --cpu-bind cores "$PAYLOAD" state
    [ "$status" -eq 0 ]
    assert_eq "$(each_rank cpus)" "$last
$last"
    assert_has "$stderr" "2 ranks share 1 core"
}

# bats test_tags=smoke
@test "--cpu-bind cores: each rank its own, and its environment says which" {
    local allowed first second
    [ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
    allowed=$("$PAYLOAD" state | sed -n 's/^cpus: //p')
    [ "$(wc -w <<<"$allowed")" = 2 ] || allowed=$(cut -d ' ' -f 1,2 <<<"$allowed")
    read -r first second <<<"$allowed"
    run --separate-stderr taskset -c "$first,$second" "$RANKINIT" "${prefix[@]}" --nproc-per-node 2 \
        --cpu-bind cores "$PAYLOAD" state
    [ "$status" -eq 0 ]
    if [ "$(cat /sys/devices/system/cpu/cpu"$first"/topology/thread_siblings_list)" = "$first" ]; then
        assert_eq "$(each_rank cpus)" "$first
$second"
        run --separate-stderr taskset -c "$first,$second" "$RANKINIT" "${prefix[@]}" \
            --nproc-per-node 2 --cpu-bind cores "$PAYLOAD" env
        assert_eq "$(each_rank RANKINIT_THIS_CPUS)" "$first
$second"
    fi
}

# bats test_tags=smoke
@test "a spec's ranks: one has CPUs of its own, and the others share the rest" {
    local first second
    [ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
    read -r first second _ < <("$PAYLOAD" state | sed -n 's/^cpus: //p' | tr ' ' '\n' | tail -n 2 | paste -sd ' ')
    printf 'apiVersion: rankinit/v1\nranks: [{local: "0", cpus: "%s"}]\n' "$second" >"$T/spec.yaml"
    run --separate-stderr taskset -c "$first,$second" "$RANKINIT" "${prefix[@]}" --nproc-per-node 3 \
        --spec "$T/spec.yaml" --cpu-bind cores "$PAYLOAD" state
    [ "$status" -eq 0 ]
    assert_eq "$(each_rank cpus)" "$second
$first
$first"
    run taskset -c "$first" "$RANKINIT" --spec "$T/spec.yaml" --nproc-per-node 3 "$PAYLOAD" state
    [ "$status" -eq 78 ]
    assert_has "$output" "spec.yaml: ranks[0]: cpus: $second are not all among the CPUs allowed here, $first"
}

# bats test_tags=smoke
@test "--cpu-bind numa: the CPUs of a node, and its memory is preferred" {
    [ -e /sys/devices/system/node/node0/cpulist ] || skip "this kernel shows no NUMA nodes"
    run --separate-stderr "$RANKINIT" "${prefix[@]}" --nproc-per-node 1 --cpu-bind numa "$PAYLOAD" state
    [ "$status" -eq 0 ]
    assert_has "$output" "memory: preferred 0"
    run --separate-stderr "$RANKINIT" "${prefix[@]}" --nproc-per-node 1 "$PAYLOAD" state
    assert_has "$output" "memory: default"
}

@test "what is refused is a notice, and the ranks run" {
    run --separate-stderr "$PAYLOAD" deny sched_setaffinity set_mempolicy -- "$RANKINIT" \
        --nproc-per-node 2 --cpu-bind numa "$PAYLOAD" exit 0
    [ "$status" -eq 0 ]
    assert_has "$stderr" "rank 0: binding it to its CPUs refused (Operation not permitted)"
    assert_has "$stderr" "rank 1: preferring near memory refused (Operation not permitted)"
}

@test "a start that fails after a refusal is still told by its stage" {
    run -127 --separate-stderr "$PAYLOAD" deny sched_setaffinity -- "$RANKINIT" --nproc-per-node 1 \
        --cpu-bind cores --report never --summary "$T/summary" /nonexistent/program
    assert_has "$stderr" "binding it to its CPUs refused"
    assert_json "$T/summary" .verdict failed
}
