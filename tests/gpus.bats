#!/usr/bin/env bats
# `docker run --gpus`, for real up to the driver: see gpus/README.md.
# bats file_tags=alone
# shellcheck disable=SC2016 # the ranks expand it

load lib
load container

setup_file() { DOCKERD_TOOLS=$ROOT/tests/gpus engine_up; }
teardown_file() { engine_down; }
teardown() { box_remove; }

setup() {
    [ -d /sys/fs/cgroup/devices ] || skip "the stand-in hook needs cgroup v1's devices"
    mkdir -p "$T/share"
    cat >"$T/share/train.py" <<'SCRIPT'
import glob, os
print(*(os.environ.get(name) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE",
      "CUDA_VISIBLE_DEVICES", "RANKINIT_THIS_DEVICES", "RANKINIT_THIS_DEVICE_MODE")), sep=" ")
SCRIPT
}

# gpu_end: as box_end, but a start that is refused leaves no document.
gpu_end() {
    status=$(timeout 90 docker wait "$BOX")
    docker logs "$BOX" >"$T/out" 2>"$T/err"
    [ ! -s "$T/log" ] || assert_termination_log
}

# gpu_box DOCKER-OPTION... -- RANKINIT-OPTION...: runs train.py to its end.
gpu_box() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    box --env PYTHON_EXEC=/usr/bin/python3 "${options[@]}" -- "$@" /share/train.py
    gpu_end
}

@test "--gpus all IMAGE train.py: a rank for each node, all of which see all" {
    gpu_box --gpus all --
    assert_eq "$status" 0
    assert_eq "$(sort "$T/out")" "0 0 4 None 0,1,2,3 shared
1 1 4 None 0,1,2,3 shared
2 2 4 None 0,1,2,3 shared
3 3 4 None 0,1,2,3 shared"
    assert_has "$(cat "$T/err")" "devices shared: rank 0: device 0; rank 1: device 1; "
}

@test "--gpus 2: two ranks" {
    gpu_box --gpus 2 --
    assert_eq "$status" 0
    assert_eq "$(cut -d ' ' -f 3,5 "$T/out" | sort -u)" "2 0,1"
}

@test "--gpus device=1,3: the host's numbers do not leak in" {
    gpu_box --gpus '"device=1,3"' -- --device-mode isolated
    assert_eq "$status" 0
    assert_eq "$(sort "$T/out")" "0 0 2 0 0 isolated
1 0 2 1 1 isolated"
}

@test "two devices for each rank" {
    gpu_box --gpus all -- --gpus-per-rank 2
    assert_eq "$status" 0
    assert_eq "$(sort "$T/out")" "0 0 2 0,1 0,1 isolated
1 0 2 2,3 2,3 isolated"
}

@test "more ranks than nodes: 78 before any starts, with what was found" {
    gpu_box --gpus 2 -- --nproc-per-node 3
    assert_eq "$status" 78
    assert_eq "$(cat "$T/out")" ""
    assert_has "$(cat "$T/err")" "3 rank(s) with 1 device(s) each need 3, /dev/nvidia* shows 2"
}

@test "a user who may not open the nodes: 69 with the reason" {
    gpu_box --gpus all --user 1000:1000 --env STANDIN_MODE=600 --
    assert_eq "$status" 69
    assert_has "$(cat "$T/err")" \
        "4 of /dev/nvidia* may not be opened (by their mode: run as a user or group who may)"
    gpu_box --gpus all --user 1000:1000 --env STANDIN_MODE=666 --
    assert_eq "$status" 0
    assert_eq "$(wc -l <"$T/out")" 4
}

@test "a container that was not granted the nodes: 69 with the reason, also for root" {
    gpu_box --gpus all --env STANDIN_FORGETS=1 --
    assert_eq "$status" 69
    assert_has "$(cat "$T/err")" "4 of /dev/nvidia* may not be opened (the container was not granted them"
}

@test "a program that is no training script is left alone" {
    box --gpus all -- sh -c 'echo "${CUDA_VISIBLE_DEVICES-unset} ${RANK-unset}"; ls /dev | grep -c "^nvidia"'
    gpu_end
    assert_eq "$status" 0
    assert_eq "$(cat "$T/out")" "unset unset
4"
}
