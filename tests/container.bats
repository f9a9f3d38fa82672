#!/usr/bin/env bats
# PID 1 of real containers, in an engine of the tests' own.
# bats file_tags=alone
# shellcheck disable=SC2016 # the ranks expand it

load lib
load container

setup_file() { engine_up; }
teardown_file() { engine_down; }
teardown() { box_remove; }

# Two ranks: 0 ignores SIGTERM and says when it does; 1 fails after that.
stubborn='
if [ "$RANK" = 0 ]; then
    trap "" TERM
    echo >/share/go
    exec tail -f /dev/null
fi
read -r line </share/go
exit 7'

# image_files IMAGE: sets $output to the files in it, but for the mount points that the engine
# makes in every container.
image_files() {
    local id
    id=$(docker create "$1")
    docker export "$id" | tar -t >"$T/files"
    docker rm "$id" >/dev/null
    run grep -Ev '^(\.dockerenv|dev/|etc/|proc/|sys/)' "$T/files"
}

@test "the image holds one file" {
    image_files rankinit
    assert_eq "$output" rankinit
}

@test "FROM scratch: runs without any other file" {
    run docker run --rm --network none rankinit --version
    [ "$status" -eq 0 ]
    assert_has "$output" "$(cat "$ROOT/.version")"
}

# debian_image TAG PACKAGE...: an image of the packages as they are installed here, beside the
# essential ones. It stands for Debian's own image, which only a registry has.
debian_image() {
    local tag=$1 essential packages
    shift
    mapfile -t essential < <(dpkg-query -W -f '${Package} ${Essential}\n' | sed -n 's/ yes$//p')
    mapfile -t packages < <(apt-cache depends --recurse --no-recommends --no-suggests \
        --no-conflicts --no-breaks --no-replaces --no-enhances apt "${essential[@]}" "$@" |
        grep '^[a-z0-9]' | xargs dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' \
        2>/dev/null | sed -n 's/ installed$//p' | sort -u)
    {
        dpkg-query -L "${packages[@]}" | sed -E 's#^/(bin|sbin|lib|lib64)/#/usr&#' |
            grep -vE '^/(\.|usr/share/(doc|man|locale|info)/.*)$'
        printf '%s\n' /bin /sbin /lib /lib64 /var/lib/dpkg/status
        find /etc/alternatives /usr/bin -type l
    } | sort -u | while read -r path; do [ ! -e "$path" ] || echo "$path"; done |
        tar -c -C / --no-recursion -T - 2>/dev/null | docker import - "$tag"
}

@test "docker/Dockerfile builds the same image from source" {
    wanted=$(sed -n '/apt-get install/,/&&/p' "$ROOT/docker/Dockerfile" | sed 1d | tr -d '\\&')
    # shellcheck disable=SC2086 # package names are words
    debian_image debian $wanted
    docker build --network none --build-arg DEBIAN=debian --tag built \
        --file "$ROOT/docker/Dockerfile" "$ROOT"
    run docker run --rm --network none built --version
    [ "$status" -eq 0 ]
    assert_has "$output" "$(cat "$ROOT/.version")"
    image_files built
    assert_eq "$output" rankinit
}

@test "without a program it is bad usage, 64, and one line says so" {
    run docker run --rm --network none rankinit --nproc-per-node 2
    [ "$status" -eq 64 ]
    assert_eq "${#lines[@]}" 1
}

@test "PID 1 starts two ranks and ends with 0 when both do" {
    box -- --nproc-per-node 2 sh -c 'echo "rank $RANK of $WORLD_SIZE, child of $PPID"'
    box_end
    assert_eq "$status" 0
    assert_eq "$(sort "$T/out")" "rank 0 of 2, child of 1
rank 1 of 2, child of 1"
    assert_json "$T/log" .verdict succeeded
    assert_json "$T/log" .exit_code 0
    assert_json "$T/log" '.ranks | [.local, .succeeded] | @csv' 2,2
}

@test "a failing rank: its code, its number, and the document as the last line of stderr" {
    box -- --nproc-per-node 2 sh -c '[ "$RANK" = 0 ] && exec tail -f /dev/null; exit 7'
    box_end
    assert_eq "$status" 7
    assert_json "$T/log" .verdict failed
    assert_json "$T/log" .root_cause.rank 1
    assert_json "$T/log" .root_cause.exit_code 7
    tail -n 1 "$T/err" >"$T/last"
    [ "$(wc -c <"$T/last")" -le 2001 ]
    assert_schema "$T/last"
    assert_json "$T/last" .root_cause.rank 1
}

@test "docker stop: within 3 s, 143, verdict stopped, and from where" {
    box -- --nproc-per-node 2 sh -c 'echo "rank $RANK runs"; exec tail -f /dev/null'
    box_says 'rank 0 runs'
    box_says 'rank 1 runs'
    begin=$(elapsed_ms)
    docker stop -t 10 "$BOX"
    [ $(($(elapsed_ms) - begin)) -lt 3000 ]
    box_end
    assert_eq "$status" 143
    assert_json "$T/log" .verdict stopped
    assert_json "$T/log" .reason stop_requested
    assert_json "$T/log" .exit_code 143
    assert_json "$T/log" .exit_origin rankinit
    assert_json "$T/log" .stop.signal SIGTERM
    assert_json "$T/log" .stop.sender outside
    assert_json "$T/log" .ranks.stopped 2
}

@test "docker stop of ranks that return 0 is still 143" {
    box -- --nproc-per-node 2 sh -c 'trap "exit 0" TERM; echo "rank $RANK runs"
        while :; do tail -f /dev/null & wait; done'
    box_says 'rank 0 runs'
    box_says 'rank 1 runs'
    docker stop -t 10 "$BOX"
    box_end
    assert_eq "$status" 143
    assert_json "$T/log" .verdict stopped
}

@test "SIGKILL while it runs: the termination log says running" {
    box -- --nproc-per-node 2 sh -c 'echo "rank $RANK runs"; exec tail -f /dev/null'
    box_says 'rank 1 runs'
    docker kill --signal KILL "$BOX"
    box_end
    assert_eq "$status" 137
    assert_json "$T/log" .verdict running
    assert_json "$T/log" 'has("exit_code")' false
}

@test "SIGKILL in the middle of a drain: the termination log holds the cause known so far" {
    mkdir "$T/share"
    mkfifo "$T/share/go"
    box -- --nproc-per-node 2 --fail-grace 1h sh -c "$stubborn"
    until_log '.root_cause.rank == 1'
    docker kill --signal KILL "$BOX"
    box_end
    assert_eq "$status" 137
    assert_json "$T/log" '.verdict | . == "running" or . == "failed"' true
    assert_json "$T/log" .root_cause.rank 1
    assert_json "$T/log" .root_cause.exit_code 7
}

@test "a rank that ignores SIGTERM is killed after the grace, and the code stays the cause's" {
    mkdir "$T/share"
    mkfifo "$T/share/go"
    box -- --nproc-per-node 2 --fail-grace 300ms sh -c "$stubborn"
    box_end
    assert_eq "$status" 7
    assert_json "$T/log" .root_cause.rank 1
    assert_json "$T/log" '.ranks | [.failed, .stopped] | @csv' 1,1
    assert_json "$T/log" '.seconds > 0.3 and .seconds < 5' true
}

@test "read-only, user 1000, no capabilities, no new privileges" {
    box --read-only --user 1000:1000 --cap-drop ALL --security-opt no-new-privileges -- \
        --nproc-per-node 2 sh -c 'id -u; grep -E "^(CapEff|NoNewPrivs)" /proc/self/status
            [ "$RANK" = 0 ] && exec tail -f /dev/null; exit 5'
    box_end
    assert_eq "$status" 5
    assert_eq "$(sort -u "$T/out")" "1000
CapEff:	0000000000000000
NoNewPrivs:	1"
    assert_json "$T/log" .root_cause.rank 1
}

@test "no writable place at all: ranks run, without an error file" {
    TMP_MODE=0555 box --read-only --user 1000:1000 \
        --mount type=tmpfs,destination=/dev/shm,tmpfs-mode=0555 -- --nproc-per-node 1 sh -c '
            for dir in /tmp /dev/shm; do [ ! -w "$dir" ] || echo "$dir is writable"; done
            echo "error file: ${TORCHELASTIC_ERROR_FILE-none}"; exit 4'
    box_end
    assert_eq "$status" 4
    assert_eq "$(cat "$T/out")" "error file: none"
    assert_json "$T/log" .root_cause.exit_code 4
}

@test "docker run --init: not PID 1, all the same" {
    box --init -- --nproc-per-node 2 sh -c '
        echo "rank $RANK, child of $PPID"; exec tail -f /dev/null'
    box_says 'rank 0, child of'
    box_says 'rank 1, child of'
    docker logs "$BOX" >"$T/out" 2>&1
    run grep -c 'child of 1$' "$T/out"
    assert_eq "$output" 0
    docker stop -t 10 "$BOX"
    box_end
    assert_eq "$status" 143
    assert_json "$T/log" .verdict stopped
    assert_json "$T/log" .stop.signal SIGTERM
}

@test "memory limit: the rank that the kernel kills is the cause, 137" {
    box --memory 96m -- --nproc-per-node 2 sh -c '
        [ "$RANK" = 0 ] && exec tail -f /dev/null
        exec /usr/bin/python3 -c "bytearray(400 << 20)"'
    box_end
    assert_eq "$status" 137
    assert_json "$T/log" .verdict failed
    assert_json "$T/log" .root_cause.rank 1
    assert_json "$T/log" .root_cause.signal SIGKILL
    assert_json "$T/log" .reason oom_killed
    assert_json "$T/log" .root_cause.kind oom_counter
    assert_json "$T/log" '.resources | [.oom_kills, .memory_limit_bytes] | @csv' 1,100663296
    assert_json "$T/log" '.resources.memory_peak_bytes > 90000000' true
    assert_has "$(json_get "$T/log" .message)" 'out of memory, limit 96 MiB, peak 9'
    assert_has "$(json_get "$T/log" '.hints[0]')" 'certainly this rank; raise the memory limit'
    assert_eq "$(docker inspect --format '{{.State.OOMKilled}}' "$BOX")" true
}

# A rank whose worker process needs more memory than there is, and then ends with this code.
worker='/usr/bin/python3 -c "bytearray(400 << 20)"; echo "worker: $?"; exit '

@test "memory limit: a rank whose worker the kernel kills fails with its own code, and a hint" {
    box --memory 96m -- --nproc-per-node 1 sh -c "$worker 3"
    box_end
    assert_eq "$status" 3
    assert_eq "$(cat "$T/out")" "worker: 137"
    assert_json "$T/log" .reason rank_exited
    assert_json "$T/log" .resources.oom_kills 1
    assert_has "$(json_get "$T/log" '.hints[0]')" 'likely a worker process of a rank'
}

@test "memory limit: a killed worker beside success is a hint, or with --oom fail a failure" {
    box --memory 96m -- --nproc-per-node 1 sh -c "$worker 0"
    box_end
    assert_eq "$status" 0
    assert_json "$T/log" .verdict succeeded
    assert_has "$(json_get "$T/log" '.hints[0]')" 'though all ranks ended with 0'
    assert_has "$(cat "$T/err")" 'hint: the kernel killed 1 process'
    box --memory 96m -- --oom fail --nproc-per-node 1 sh -c "$worker 0"
    box_end
    assert_eq "$status" 137
    assert_json "$T/log" .verdict failed
    assert_json "$T/log" .reason oom_killed
    assert_json "$T/log" .exit_origin rankinit
}

# until_children COUNT: until PID 1 of the container has that many, dead ones included.
until_children() {
    local deadline=$((SECONDS + 20)) pid
    pid=$(box_pid)
    until read -ra children <"/proc/$pid/task/$pid/children"; [ "${#children[@]}" = "$1" ]; do
        [ "$SECONDS" -lt "$deadline" ] || { echo "children: ${children[*]}" >&2 && return 1; }
        sleep 0.02
    done
}

@test "what docker exec leaves behind is reaped and counted, and changes nothing" {
    box -- --nproc-per-node 1 sh -c 'echo ready; exec tail -f /dev/null'
    box_says ready
    until_children 1
    rank=${children[0]}
    docker exec "$BOX" /payload orphans 3 hold
    until_children 4
    for pid in "${children[@]}"; do [ "$pid" = "$rank" ] || kill -KILL "$pid"; done
    until_children 1
    docker stop -t 10 "$BOX"
    box_end
    assert_eq "$status" 143
    assert_json "$T/log" .verdict stopped
    assert_json "$T/log" '.orphans_reaped >= 3' true
}
