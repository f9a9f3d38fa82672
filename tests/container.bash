# shellcheck shell=bash
# Rankinit as PID 1 of real containers; for bats files that say `load lib` and `load container`.
# They all run in one Docker Engine per file (see dockerd.bash):
#
#     setup_file() { engine_up; }
#     teardown_file() { engine_down; }
#     teardown() { box_remove; }
#
#     box [DOCKER-RUN-OPTION...] -- RANKINIT-ARG...   starts a container
#     box_says PATTERN                                waits until it has printed such a line
#     box_end                                         waits for its end
#
# Its image is FROM scratch with one file; the machine's programs are mounted. /dev/termination-log
# is $LOG ($T/log), a new file that everybody may write, as the kubelet makes it. With PEER set to
# another container it shares that one's network, with NETWORK it is in that one.

# shellcheck source=tests/dockerd.bash
source "$BATS_TEST_DIRNAME/dockerd.bash"

LOG=${T:+$T/log}

engine_up() {
    ENGINE=$(mktemp -d /tmp/rankinit-engine.XXXXXX)
    export ENGINE
    dockerd_start "$ENGINE" || return 1
    mkdir "$ENGINE/image"
    cp "$RANKINIT" "$ENGINE/image/rankinit"
    docker build --quiet --file "$ROOT/docker/Dockerfile.scratch" --tag rankinit "$ENGINE/image"
}

engine_down() {
    dockerd_stop "$ENGINE"
}

# box [OPTION...] -- ARG...: sets BOX, the container's id. $T/share is its folder /share.
box() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    mkdir -p "$T/share"
    chmod 777 "$T/share"
    rm -f "$LOG"
    install -m 666 /dev/null "$LOG"
    userland_mounts
    BOX=$(docker run --detach "${USERLAND[@]}" --volume "$LOG:/dev/termination-log" \
        --volume "$T/share:/share" --volume "$PAYLOAD:/payload:ro" "${options[@]}" rankinit "$@")
    BOXES+=("$BOX")
}

BOXES=()
box_remove() {
    [ ${#BOXES[@]} = 0 ] || docker rm --force "${BOXES[@]}" >/dev/null
    BOXES=()
}

# box_says PATTERN [SECONDS]: until a line of its output matches (grep -E).
box_says() {
    local output reader found=0
    exec {output}< <(exec timeout "${2:-60}" docker logs --follow "$BOX" 2>&1 3>&-)
    reader=$!
    grep -Eqm1 -e "$1" <&"$output" || found=$?
    # It follows a container that may have nothing more to say.
    kill "$reader" 2>/dev/null
    exec {output}<&-
    [ "$found" = 0 ] || {
        echo "the container did not say '$1' but:" >&2
        docker logs "$BOX" >&2
        return 1
    }
}

# box_end [SECONDS]: waits for the container; sets $status as `run` does, and leaves its output in
# $T/out and $T/err. What the termination log holds is then sound whatever happened.
# shellcheck disable=SC2034 # the test reads it
box_end() {
    if ! status=$(timeout "${1:-90}" docker wait "$BOX"); then
        echo "the container still runs; it said:" >&2
        docker logs "$BOX" >&2
        return 1
    fi
    docker logs "$BOX" >"$T/out" 2>"$T/err"
    [ "$status" = 64 ] || assert_termination_log
}

# One document as the schema says, at most 2048 bytes of ASCII without a line end.
assert_termination_log() {
    local size strange
    size=$(stat -c %s "$LOG")
    strange=$(LC_ALL=C tr -d '\40-\176' <"$LOG" | wc -c)
    if [ "$size" -gt 2048 ] || [ "$strange" -gt 0 ]; then
        echo "the termination log has $size bytes, of which $strange are not printable:" >&2
        cat -v "$LOG" >&2
        return 1
    fi
    assert_schema "$LOG"
}

# until_log FILTER [SECONDS]: until the termination log's document fulfils a jq filter.
until_log() {
    local deadline=$((SECONDS + ${2:-30}))
    until jq -e "$1" "$LOG" >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$deadline" ]; then
            echo "the termination log never got to '$1':" >&2
            cat "$LOG" >&2
            return 1
        fi
        sleep 0.02
    done
}

# box_pid: PID 1 of the container as seen from here.
box_pid() { docker inspect --format '{{.State.Pid}}' "$BOX"; }
