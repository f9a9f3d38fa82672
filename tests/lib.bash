# shellcheck shell=bash
# What the bats files share. Recipe:
#
#     load lib
#     @test "a rank's code is passed on" {
#         run_pid1 "$PAYLOAD" exit 7
#         [ "$status" -eq 7 ]
#     }
#
# Each test has an empty folder of its own, $T. Nothing here sleeps to let something happen: a test
# waits for a line that the other side writes, with a deadline.

bats_require_minimum_version 1.5.0

ROOT=$(cd "${BATS_TEST_DIRNAME:?}" && while [ ! -e .version ] && [ "$PWD" != / ]; do cd ..; done && pwd)
RANKINIT=${RANKINIT:-$ROOT/build/${VARIANT:-release}/rankinit}
PAYLOAD=${PAYLOAD:-$ROOT/build/${VARIANT:-release}/payload}
PYTHON=$ROOT/build/venv/bin/python3
T=${BATS_TEST_TMPDIR:-}
DEADLINE=20
export ROOT RANKINIT PAYLOAD PYTHON T

# What puts a command at PID 1 of a fresh namespace that dies with it.
PID1=(unshare --pid --fork --mount-proc --kill-child)
[ "$(id -u)" = 0 ] || PID1=(unshare --user --map-root-user "${PID1[@]:1}")

# run_pid1 ARG...: `run` of rankinit ARG... as PID 1; sets $status and $output.
# With --separate-stderr first, $stderr too.
run_pid1() {
    local flags=()
    while [[ ${1-} == --separate-stderr || ${1-} == --keep-empty-lines ]]; do flags+=("$1") && shift; done
    run "${flags[@]}" "${PID1[@]}" "$RANKINIT" "$@"
}

# start ARG...: rankinit ARG... in the background, not as PID 1; output in $T/out and $T/err.
# Sets RUN_PID, which is rankinit itself.
start() { start_program "$RANKINIT" "$@"; }

# start_program COMMAND...: the same for a command that becomes rankinit.
start_program() {
    "$@" >"$T/out" 2>"$T/err" </dev/null 3>&- &
    RUN_PID=$!
    STARTED+=("$RUN_PID")
}

# start_pid1 ARG...: the same as PID 1. RUN_PID is unshare, whose exit status is rankinit's;
# pid1 prints the pid of rankinit as seen from here (ask only after it has shown a sign of life).
start_pid1() { start_program "${PID1[@]}" "$RANKINIT" "$@"; }

pid1() {
    local pid
    read -r pid _ <"/proc/$RUN_PID/task/$RUN_PID/children"
    echo "$pid"
}

# finish [PID]: waits for what was started; sets $status as `run` does.
# shellcheck disable=SC2034 # the test reads it
finish() {
    status=0
    wait_gone "${1:-$RUN_PID}"
    wait "${1:-$RUN_PID}" || status=$?
}

# stop_all: for teardown; tells what a failed test's programs said last, and ends by pid what it
# started and did not wait for.
STARTED=()
stop_all() {
    local pid file
    for file in "$T"/{out,err,log}; do
        [ -n "${BATS_TEST_COMPLETED-}" ] || [ ! -s "$file" ] || tail -v -n 20 "$file" | cut -c -2000 >&2
    done
    for pid in "${STARTED[@]}"; do
        kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
    STARTED=()
    return 0
}
teardown() { stop_all; }

# wait_line FILE PATTERN [SECONDS]: until FILE, which need not exist yet, has a line that matches
# (grep -E). tail sleeps on inotify, so this neither polls nor misses a line.
wait_line() {
    if ! timeout "${3:-$DEADLINE}" tail -n +1 -F -- "$1" 2>/dev/null | grep -Eqm1 -e "$2"; then
        echo "no line like '$2' in $1 within ${3:-$DEADLINE} s; it has:" >&2
        cat -- "$1" >&2
        return 1
    fi
}

# wait_for FILE [SECONDS]: until FILE has a line at all (a ready file of the payload).
wait_for() { wait_line "$1" '' "${2:-$DEADLINE}"; }

# wait_gone PID [SECONDS]: until that process has ended (a zombie has).
wait_gone() {
    /usr/bin/python3 - "$1" "${2:-$DEADLINE}" <<'EOF'
import os, select, sys
pid, seconds = int(sys.argv[1]), float(sys.argv[2])
try:
    fd = os.pidfd_open(pid)
except ProcessLookupError:
    sys.exit(0)
poller = select.poll()
poller.register(fd, select.POLLIN)
if not poller.poll(seconds * 1000):
    sys.exit(f"process {pid} still runs after {seconds:g} s")
EOF
}

# json_get FILE PATH: the value at a jq path, bare; fails when it is absent or null.
json_get() { jq -er "$2" "$1"; }

# assert_json FILE PATH WANT
assert_json() {
    local got
    got=$(jq -r "$2" "$1") || return 1
    [ "$got" = "$3" ] || {
        printf '%s of %s\n  got: %s\n want: %s\n' "$2" "$1" "$got" "$3" >&2
        jq . "$1" >&2
        return 1
    }
}

# assert_schema FILE...: each is a document as its schema of lib/report/*.schema.json says.
assert_schema() { "$PYTHON" "$ROOT/tests/validate" "$@"; }

assert_eq() {
    [ "$1" = "$2" ] || {
        printf '  got: %s\n want: %s\n' "$1" "$2" >&2
        return 1
    }
}

# assert_has TEXT PART
assert_has() {
    [[ $1 == *"$2"* ]] || {
        printf 'text: %s\nlacks: %s\n' "$1" "$2" >&2
        return 1
    }
}

# assert_lacks TEXT PART
assert_lacks() {
    [[ $1 != *"$2"* ]] || {
        printf 'text: %s\n  has: %s\n' "$1" "$2" >&2
        return 1
    }
}

# elapsed_ms: milliseconds since this machine booted, for differences.
elapsed_ms() { awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime; }

# wait_lines FILE N [SECONDS]: until FILE has at least N lines.
wait_lines() {
    timeout "${3:-$DEADLINE}" tail -n +1 -F -- "$1" 2>/dev/null | head -n "$2" | wc -l | grep -qx "$2" || {
        echo "fewer than $2 lines in $1 within ${3:-$DEADLINE} s" >&2
        return 1
    }
}

# wait_until SCRIPT [ARG...]: until SCRIPT, whose $0, $1, ... are ARG..., succeeds. It is asked again
# and again: only for what nobody tells, such as the state of a process.
wait_until() { timeout "$DEADLINE" bash -c "until { $1; } 2>/dev/null; do :; done" "${@:2}"; }

# start_as MODE ARG..., run_as MODE ARG...: MODE is `ordinary` or `pid1`, for tests that do both.
start_as() { if [ "$1" = pid1 ]; then start_pid1 "${@:2}"; else start "${@:2}"; fi; }
run_as() { if [ "$1" = pid1 ]; then run_pid1 "${@:2}"; else run "$RANKINIT" "${@:2}"; fi; }

# target MODE: the pid of rankinit (as PID 1, once it has shown a sign of life).
target() { if [ "$1" = pid1 ]; then pid1; else echo "$RUN_PID"; fi; }

# quick_spec: writes $T/spec.yaml, which makes the ladder of a stop short.
quick_spec() {
    printf 'apiVersion: rankinit/v1\nstop: {grace: 100ms, fail_grace: 100ms, orphan_grace: 100ms}\n' >"$T/spec.yaml"
}
