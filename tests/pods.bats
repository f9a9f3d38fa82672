#!/usr/bin/env bats
# A stand-in for the kubelet: containers made as it makes them (a termination log of mode 0666 bind-mounted over
# /dev/termination-log, the environment in its order, TERM, grace, KILL, a restart in place), and what people
# do to them: exec, probes, --install by an init container, a pause process as PID 1.
# bats file_tags=alone
# shellcheck disable=SC2016 # the ranks expand it

load lib
load container

setup_file() { engine_up; }
teardown_file() { engine_down; }
teardown() { box_remove; }

ranks='echo "rank $RANK runs"; exec tail -f /dev/null'

@test "exec: --status and --probe on a read-only root, as user 1000, without a capability" {
    box --read-only --user 1000:1000 --cap-drop ALL --security-opt no-new-privileges -- --nproc-per-node 2 sh -c "$ranks"
    box_says 'rank 0 runs'
    box_says 'rank 1 runs'
    docker exec "$BOX" /rankinit --status=json >"$T/status"
    assert_schema "$T/status"
    assert_json "$T/status" '[.pid, .state, .ready, (.ranks | length)] | @csv' '1,"RUNNING",true,2'
    for probe in started ready live; do docker exec "$BOX" /rankinit --probe "$probe"; done
    assert_json "$T/log" .verdict running
    docker stop -t 10 "$BOX"
    box_end
    assert_eq "$status" 143
}

@test "exec: live while a drain lasts, and ready no more" {
    mkdir "$T/share"
    mkfifo "$T/share/go" "$T/share/never"
    box -- --grace 1h --nproc-per-node 1 sh -c 'trap "echo asked" TERM; echo runs; while :; do read -r line </share/never; done'
    box_says runs
    docker kill --signal TERM "$BOX"
    wait_until '"$@" | grep -q "DRAINING, up .* SIGTERM"' sh docker exec "$BOX" /rankinit --status
    docker exec "$BOX" /rankinit --probe live
    run docker exec "$BOX" /rankinit --probe ready
    assert_eq "$status $output" "1 not ready: DRAINING"
}

@test "--init before us: found by exec all the same" {
    box --init -- --nproc-per-node 1 sh -c "$ranks"
    box_says 'rank 0 runs'
    docker exec "$BOX" /rankinit --status=json >"$T/status"
    assert_json "$T/status" '.pid > 1' true
    docker exec "$BOX" /rankinit --probe ready
}

@test "shared process namespace: a pause process is PID 1, orphans are ours, exec finds us" {
    box -- --init-only tail -f /dev/null
    pause=$BOX
    box --pid "container:$pause" -- --nproc-per-node 1 sh -c "$ranks"
    box_says 'rank 0 runs'
    # Both run the same program file, each in a mount of its own image's file: the one of this container is meant.
    docker exec "$BOX" /rankinit --status=json >"$T/status"
    assert_json "$T/status" '.ranks[0].state' running
    docker stop -t 10 "$BOX"
    box_end
    assert_eq "$status" 143
}

@test "an init container's --install brings rankinit, FROM scratch, into a volume; it is then what runs" {
    mkdir "$T/volume"
    chown 1000:1000 "$T/volume"
    docker run --rm --network none --read-only --user 1000:1000 --cap-drop ALL --volume "$T/volume:/volume" \
        rankinit --install /volume/rankinit
    assert_eq "$(stat -c '%a %u' "$T/volume/rankinit")" "755 1000"
    cmp "$RANKINIT" "$T/volume/rankinit"
    box --volume "$T/volume/rankinit:/injected:ro" --entrypoint /injected -- --nproc-per-node 1 sh -c 'exit 3'
    box_end
    assert_eq "$status" 3
    run docker run --rm --network none --read-only --volume "$T/volume:/volume" rankinit --install /volume
    assert_eq "$status ${#lines[@]}" "78 1"
}

@test "TERM, grace, KILL: the kubelet's grace is shorter than ours, and the verdict still says who was asked" {
    mkdir "$T/share"
    mkfifo "$T/share/never"
    box -- --grace 1h --nproc-per-node 1 sh -c 'trap "" TERM; echo runs; while :; do read -r line </share/never; done'
    box_says runs
    docker stop -t 1 "$BOX"
    box_end
    assert_eq "$status" 137
    assert_json "$T/log" .stop.signal SIGTERM
}

@test "restarted in place: the second life begins the termination log anew" {
    mkdir "$T/share"
    box -- --nproc-per-node 1 sh -c 'if [ -e /share/second ]; then exit 0; fi; : >/share/second; echo dying >&2; exit 9'
    box_end
    assert_eq "$status" 9
    assert_json "$T/log" .root_cause.exit_code 9
    docker start "$BOX"
    box_end
    assert_eq "$status" 0
    assert_json "$T/log" .verdict succeeded
}

@test "an environment of 1 MB, service links first, as the kubelet orders it" {
    for i in {1..20}; do printf 'SVC_%d=%s\n' "$i" "$(head -c 52000 /dev/zero | tr '\0' x)"; done >"$T/env"
    printf 'MASTER_PORT=tcp://10.0.0.9:80\nKUBERNETES_SERVICE_HOST=10.96.0.1\nPET_NNODES=1\nPET_NPROC_PER_NODE=1\n' >>"$T/env"
    box --env-file "$T/env" -- --nproc-per-node 1 sh -c 'echo "${#SVC_20} $MASTER_ADDR"; case $MASTER_PORT in tcp*) exit 1; esac'
    box_end
    assert_eq "$status $(cat "$T/out")" "0 52000 127.0.0.1"
}

@test "a user without an entry in passwd" {
    box --user 123456:654321 -- --nproc-per-node 1 sh -c 'id -u; id -g'
    box_end
    assert_eq "$status $(xargs <"$T/out")" "0 123456 654321"
}

# A bundle for runc, without an engine: the way that other runtimes start us.
@test "runc alone: a bundle of one file, PID 1, the termination log, the code" {
    mkdir -p "$T/bundle/rootfs"
    cp "$RANKINIT" "$PAYLOAD" "$T/bundle/rootfs"
    install -m 666 /dev/null "$T/log"
    (cd "$T/bundle" && runc spec)
    jq --arg log "$T/log" '.process.terminal = false
        | .process.args = ["/rankinit", "--nproc-per-node", "2", "/payload", "exit", "7"]
        | .mounts += [{"destination": "/dev/termination-log", "type": "bind", "source": $log, "options": ["bind", "rw"]}]' \
        "$T/bundle/config.json" >"$T/config"
    mv "$T/config" "$T/bundle/config.json"
    run runc --root "$T/runc" run --bundle "$T/bundle" "rankinit-$$" </dev/null
    assert_eq "$status" 7
    assert_termination_log
    assert_json "$T/log" .verdict failed
    assert_json "$T/log" .root_cause.exit_code 7
}

@test "docker/Dockerfile.train: on any base, not root, rankinit is the entrypoint" {
    tar -c -C "$ROOT/build/${VARIANT:-release}" payload | docker import - base
    docker build --network none --quiet --build-arg BASE=base --file "$ROOT/docker/Dockerfile.train" --tag train "$ROOT/docker"
    run docker run --rm --network none train /payload exit 6
    assert_eq "$status" 6
    assert_eq "$(docker inspect --format '{{.Config.User}} {{.Config.Entrypoint}} {{.Config.Cmd}}' train)" \
        "1000:1000 [/usr/local/bin/rankinit] [train.py]"
}
