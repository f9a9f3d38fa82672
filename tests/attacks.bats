#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154 # the ranks expand it; run sets stderr
# Ranks that attack the verdict. Rank 0 does; rank 1 ends with 7 when rank 0 has done its worst. What
# is told must still be ours and true.

load lib

PYTHON3=/usr/bin/python3

setup() {
    [ "$(id -u)" = 0 ] || skip "only root makes mounts and several users"
    SHARE=$(mktemp -d /tmp/rankinit-share.XXXXXX) # which every user may walk to, unlike $T
    chmod 777 "$SHARE"
    mkfifo -m 666 "$SHARE/done" "$SHARE/ready"
    install -m 666 /dev/null "$SHARE/log"
    echo untouched >"$T/victim"
    # What an attack begins with: every signal but those that ask to stop is ignored.
    cat >"$SHARE/attack.py" <<'PY'
import ctypes, json, os, signal, sys, time
for number in range(1, 65):
    if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGTERM, 32, 33):
        signal.signal(number, signal.SIG_IGN)
share = os.path.dirname(os.path.abspath(__file__))
fake = json.dumps({"schema": "rankinit.summary.v1", "verdict": "succeeded", "reason": "completed",
                   "exit_code": 0, "exit_origin": "rank", "message": "all is well"})
def done():
    with open(share + "/done", "w") as f:
        f.write("done\n")
def attempt(action, *args, **kwargs):
    try:
        return action(*args, **kwargs)
    except OSError:
        return None
if os.environ["RANK"] == "1":
    open(share + "/ready", "w").close()
    open(share + "/done").read()
    os._exit(7)
open(share + "/ready").read() # it ignores signals, too
PY
}

teardown() {
    stop_all
    [ -z "${SHARE-}" ] || rm -rf "$SHARE"
}

# attack OPTION... : rankinit as PID 1, its termination log a mount as the kubelet makes it; the
# script for rank 0 comes on stdin. Leaves stderr in $T/err and sets $status.
# shellcheck disable=SC2034 # the test reads it
attack() {
    cat "$SHARE/attack.py" - >"$SHARE/run.py"
    status=0
    timeout 60 "${PID1[@]}" bash -c 'mount --bind "$0" "$0" && exec "$@"' "$SHARE/log" \
        "$RANKINIT" --termination-log "$SHARE/log" --fail-grace 300ms --nproc-per-node 2 "$@" \
        "$PYTHON3" "$SHARE/run.py" >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
}

# assert_true: rank 1's exit 7 is what everybody is told.
assert_true() {
    local place
    assert_eq "$status" 7
    tail -n 1 "$T/err" >"$T/last"
    for place in "$SHARE/log" "$T/last" "$@"; do
        assert_schema "$place"
        assert_json "$place" .verdict failed
        assert_json "$place" .exit_code 7
        assert_json "$place" .root_cause.rank 1
    done
    assert_eq "$(cat "$T/victim")" untouched
}

@test "it writes to every path that we open, and races links there" {
    attack --summary "$SHARE/s.json" --log-dir "$SHARE/logs" <<PY
victim = "$T/victim"
error_file = os.environ["TORCHELASTIC_ERROR_FILE"]
places = [share + "/log", share + "/s.json", share + "/.s.json.1.tmp", error_file,
          error_file.replace("/0/error", "/1/error")]
def put(path):  # not through a link that was made here before
    attempt(os.unlink, path)
    os.write(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), fake.encode())
for turn in range(3000):
    path = places[turn % len(places)]
    match turn % 4:
        case 0: attempt(put, path)
        case 1: attempt(os.unlink, path)
        case 2: attempt(os.symlink, victim, path)
        case 3: attempt(os.link, victim, path)
attempt(os.unlink, places[2])
attempt(os.mkdir, places[2])
attempt(lambda: open(share + "/log", "w").write(fake))
done()
while True:
    attempt(lambda: open(share + "/log", "w").write(fake * 3))
PY
    assert_true "$SHARE/s.json"
}

@test "its error file becomes a link, a fifo, a folder, a gigabyte" {
    attack <<PY
path = os.environ["TORCHELASTIC_ERROR_FILE"]
with open(path, "r+b") as f:
    f.truncate(1 << 30)
os.unlink(path)
os.mkfifo(path)
os.unlink(path)
os.symlink("$T/victim", path)
os.unlink(path)
os.mkdir(path)
done()
time.sleep(100)
PY
    assert_true
}

@test "it floods signals: a million" {
    attack <<'PY'
for turn in range(1000000):
    os.kill(1, signal.SIGUSR1 if turn % 2 else signal.SIGRTMIN + 5)
done()
while True:
    os.kill(1, signal.SIGUSR2)
PY
    assert_true
}

@test "it floods output, and among it fake verdicts" {
    attack <<'PY'
block = ("x" * 100 + "\n" + fake + "\n") * 200
for turn in range(1000):
    sys.stderr.write(block)
done()
while True:
    sys.stderr.write(block)
    sys.stderr.write(fake)
PY
    assert_true
}

@test "it fills the disk that everything is on" {
    mkdir "$T/small"
    cat >"$T/mount" <<'SH'
mount -t tmpfs -o size=128k,mode=1777 tmpfs "$1/small" && shift && exec "$@"
SH
    cat "$SHARE/attack.py" - >"$SHARE/run.py" <<PY
try:
    with open("$T/small/fill", "wb") as f:
        while True:
            f.write(b"x" * 4096)
            f.flush()
except OSError:
    pass
done()
time.sleep(100)
PY
    run --separate-stderr timeout 60 env TMPDIR="$T/small" "${PID1[@]}" bash "$T/mount" "$T" \
        bash -c 'rankinit=$1; shift; "$rankinit" "$@"; code=$?; cat "$0/small/log" >"$0/log"; exit $code' "$T" \
        "$RANKINIT" --termination-log "$T/small/log" --summary "$T/small/s.json" --fail-grace 300ms \
        --nproc-per-node 2 "$PYTHON3" "$SHARE/run.py" </dev/null
    printf '%s\n' "$stderr" >"$T/err"
    cat "$T/log" >"$SHARE/log"
    assert_has "$stderr" "cannot write summary file"
    assert_true
}

@test "it sends PID 1 every signal, SIGKILL and SIGSTOP too" {
    attack <<'PY'
for number in range(1, 65):
    if number not in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, 32, 33):
        attempt(os.kill, 1, number)
done()
time.sleep(100)
PY
    assert_true
}

@test "it asks PID 1 to stop: stopped, and by whom" {
    attack <<'PY'
os.kill(1, signal.SIGTERM)
time.sleep(100)
PY
    assert_eq "$status" 143
    assert_json "$SHARE/log" .verdict stopped
    assert_json "$SHARE/log" .stop.sender.rank 0
}

@test "it traces its sibling, and lets it go" {
    attack <<'PY'
libc = ctypes.CDLL(None, use_errno=True)
sibling = next(int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) not in (1, os.getpid())
               and open(f"/proc/{p}/stat").read().split(")")[1].split()[1] == "1")
assert libc.ptrace(16, sibling, None, None) == 0  # PTRACE_ATTACH
os.waitpid(sibling, 0)
assert libc.ptrace(17, sibling, None, None) == 0  # PTRACE_DETACH
done()
time.sleep(100)
PY
    assert_true
}

@test "with a user of its own it cannot touch PID 1 at all" {
    attack --user 7001:7002 <<'PY'
libc = ctypes.CDLL(None, use_errno=True)
assert libc.ptrace(16, 1, None, None) == -1
for action in (lambda: os.kill(1, signal.SIGUSR1), lambda: open("/proc/1/mem", "r+b"),
               lambda: open("/proc/1/environ").read(), lambda: os.listdir("/proc/1/fd")):
    try:
        action()
    except PermissionError:
        continue
    os._exit(50)
done()
time.sleep(100)
PY
    assert_true
}
