#!/usr/bin/env bats
# Stopping under bad circumstances: what does not die, signals that come too early, leaders that
# end before their groups, and everybody who must not be hit.

load lib

# A spec that makes the ladder short.
quick_spec() {
    printf 'apiVersion: rankinit/v1\nstop: {grace: 100ms, fail_grace: 100ms, orphan_grace: 100ms}\n' >"$T/spec.yaml"
}

FREEZER=/sys/fs/cgroup/freezer/rankinit-test-$$

# freeze [--thread] ID...: not even SIGKILL ends it until thaw. cgroup v2 has nothing like that.
freeze() {
    local file=cgroup.procs id
    [ "$1" != --thread ] || { file=tasks && shift; }
    [ -w /sys/fs/cgroup/freezer/tasks ] || skip "no freezer of cgroup v1"
    mkdir -p "$FREEZER"
    for id in "$@"; do echo "$id" >"$FREEZER/$file"; done
    echo FROZEN >"$FREEZER/freezer.state"
    until grep -qx FROZEN "$FREEZER/freezer.state"; do :; done
}

thaw() {
    local pid
    [ -d "$FREEZER" ] || return 0
    echo THAWED >"$FREEZER/freezer.state"
    while read -r pid; do kill -KILL "$pid" && wait_gone "$pid"; done <"$FREEZER/cgroup.procs"
    rmdir "$FREEZER"
}

teardown() {
    thaw 2>/dev/null
    stop_all
}

# traced OPTION... -- COMMAND...: puts COMMAND below strace, but as the process that was started.
traced() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    TRACED=(strace -DDD -f -qq "${options[@]}" "$@")
}

@test "an unkillable process: the run ends by its deadline, named before the last wait and after" {
    local pid
    quick_spec
    traced -s 3000 -e trace=pwrite64 -o "$T/trace" -- "$RANKINIT"
    touch "$T/log"
    RANKINIT=${TRACED[0]} start "${TRACED[@]:1}" --spec "$T/spec.yaml" --nproc-per-node 2 --summary "$T/s.json" \
        --termination-log "$T/log" "$PAYLOAD" hold "$T/ready"
    wait_lines "$T/ready" 2
    read -r pid <"$T/ready"
    freeze "$pid"
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    assert_schema "$T/s.json" "$T/log"
    assert_json "$T/s.json" .ranks.unreaped 1
    assert_json "$T/s.json" '.hints | length' 1
    [[ $(json_get "$T/s.json" '.hints[0]') =~ ^"pid $pid (payload) of rank "[01]" is left: state D in __refrigerator: SIGKILL has no effect" ]]
    assert_has "$(cat "$T/err")" "pid $pid (payload) of rank"
    [ "$(grep -cF "is left: state D" "$T/trace")" -ge 2 ]
}

@test "the same after a failure: the failed rank's code, not that of the one that is left" {
    local pid
    quick_spec
    mkfifo "$T/go"
    start --spec "$T/spec.yaml" --nproc-per-node 2 --summary "$T/s.json" sh -c '
        if [ $RANK = 0 ]; then exec "$PAYLOAD" hold "$0/ready"; fi
        exec "$PAYLOAD" gate "$0/go" exit 9' "$T"
    wait_for "$T/ready"
    read -r pid <"$T/ready"
    freeze "$pid"
    : >"$T/go"
    finish
    assert_eq "$status" 9
    assert_json "$T/s.json" .root_cause.rank 1
    assert_has "$(json_get "$T/s.json" '.hints[0]')" "pid $pid (payload) of rank 0 is left: state D"
}

@test "a zombie leader whose thread is stuck is told apart, and a zombie whose parent does not wait" {
    local leader parent zombie tid
    quick_spec
    start --spec "$T/spec.yaml" --nproc-per-node 2 --summary "$T/s.json" sh -c '
        if [ $RANK = 0 ]; then exec "$PAYLOAD" zombie-leader "$0/leader"; fi
        exec "$PAYLOAD" zombie "$0/parent"' "$T"
    wait_for "$T/leader"
    wait_for "$T/parent"
    read -r leader <"$T/leader"
    read -r parent <"$T/parent"
    zombie=$(tr -d " " <"/proc/$parent/task/$parent/children")
    for tid in "/proc/$leader/task"/*; do tid=${tid##*/}; done
    [ "$tid" != "$leader" ]
    freeze --thread "$tid"
    freeze "$parent"
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    assert_schema "$T/s.json"
    assert_json "$T/s.json" .ranks.unreaped 3
    json_get "$T/s.json" '.hints[]' >"$T/hints"
    grep -F "pid $leader (payload) of rank 0 is left: a zombie of which 1 thread lives on, state D in __refrigerator: the kernel or a driver holds it" "$T/hints"
    grep -F "pid $parent (payload) of rank 1 is left: state D" "$T/hints"
    grep -F "pid $zombie (payload) of rank 1 is left: a zombie whose parent, pid $parent, lives and does not wait for it" "$T/hints"
}

@test "all 256 exit codes, in init mode, as a rank, as PID 1" {
    "$ROOT/tests/codes" 256
    "$ROOT/tests/codes" 256 "$RANKINIT" --nproc-per-node 1 --report never
    "$ROOT/tests/codes" 256 "${PID1[@]}" "$RANKINIT"
}

@test "many children that end at once: no wrong code, no hang" {
    "$ROOT/tests/codes" $((${SOAK:-1} * 1000))
}

# Children of a process, and its resident size in KiB.
children_of() { wc -w <"/proc/$1/task/$1/children"; }
rss_of() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

@test "a stream of 20,000 orphans: no zombie stays, memory does not grow" {
    local pid before after
    mkfifo "$T/go" "$T/end"
    start_pid1 sh -c '"$PAYLOAD" gate "$0/go" orphans 20000; echo made; exec "$PAYLOAD" gate "$0/end" exit 0' "$T"
    : >"$T/go" # opening it waits for the other side
    pid=$(pid1)
    before=$(rss_of "$pid")
    wait_line "$T/out" made 120
    timeout $DEADLINE bash -c 'until [ "$(wc -w <"/proc/$0/task/$0/children")" -le 1 ]; do :; done' "$pid"
    after=$(rss_of "$pid")
    : >"$T/end"
    finish
    assert_eq "$status" 0
    [ "$after" -le $((before + 64)) ]
}

@test "4,000 zombies at once, after rankinit was stopped itself: all are reaped" {
    local pid before
    mkfifo "$T/go" "$T/end"
    start_pid1 sh -c '"$PAYLOAD" gate "$0/go" orphans 4000; echo made; exec "$PAYLOAD" gate "$0/end" exit 3' "$T"
    pid=$(until [ "$(children_of "$RUN_PID")" -gt 0 ]; do :; done; pid1)
    until [ "$(children_of "$pid")" -gt 0 ]; do :; done
    before=$(rss_of "$pid")
    kill -STOP "$pid"
    : >"$T/go"
    wait_line "$T/out" made 60
    [ "$(children_of "$pid")" -ge 4000 ]
    kill -CONT "$pid"
    timeout $DEADLINE bash -c 'until [ "$(wc -w <"/proc/$0/task/$0/children")" -le 1 ]; do :; done' "$pid"
    [ "$(rss_of "$pid")" -le $((before + 64)) ]
    : >"$T/end"
    finish
    assert_eq "$status" 3
}

# own_child PID: the pid of a child that is rankinit (or has not become its program yet), once there
# is one. strace's own helpers have another name.
own_child() {
    timeout $DEADLINE bash -c 'until pgrep -P "$0" -x rankinit; do :; done' "$1"
}

@test "a TERM that comes while the rank's setpgid is delayed is not lost, in either scope" {
    local scope mode pid
    for mode in ordinary pid1; do
        for scope in leader group; do
            rm -f "$T/ready"
            if [ $mode = pid1 ]; then
                traced -o "$T/trace" -e trace=setpgid -e inject=setpgid:delay_enter=700000 -- "${PID1[@]}" "$RANKINIT"
            else
                traced -o "$T/trace" -e trace=setpgid -e inject=setpgid:delay_enter=700000 -- "$RANKINIT"
            fi
            RANKINIT=${TRACED[0]} start "${TRACED[@]:1}" --nproc-per-node 1 --grace 1h --stop-scope $scope "$PAYLOAD" hold "$T/ready"
            pid=$RUN_PID
            [ $mode = ordinary ] || pid=$(own_child "$RUN_PID")
            own_child "$pid" # forked, and on its way to setpgid
            kill -TERM "$pid"
            [ ! -s "$T/ready" ] # it was early
            finish
            assert_eq "$status" 143
        done
    done
}

# A trainer with two forked loader workers that, told to stop, asks them for one more batch and only
# then writes its checkpoint. Workers write a line once they are ready.
write_trainer() {
    cat >"$T/train.py" <<'PYTHON'
import os, signal, sys
folder = sys.argv[1]
workers = []
def work(request, reply):
    with open(folder + "/ready", "a") as ready: ready.write("worker\n")
    while os.read(request, 1): os.write(reply, b"batch")
    os._exit(0)
for _ in range(2):
    (request, ask), (answer, reply) = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(ask), os.close(answer)
        work(request, reply)
    os.close(request), os.close(reply)
    workers.append((ask, answer))
def save(*_):
    for ask, answer in workers:
        try: os.write(ask, b"?")
        except BrokenPipeError: pass
        if os.read(answer, 5) != b"batch": sys.exit("a loader worker is gone")
    with open(folder + "/checkpoint", "w") as checkpoint: checkpoint.write("whole")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
with open(folder + "/ready", "a") as ready: ready.write("leader\n")
while True: signal.pause()
PYTHON
}

@test "leader first: a trainer with loader workers finishes its checkpoint; with -g it cannot" {
    local flag
    write_trainer
    for flag in --stop-scope=leader -g; do
        rm -f "$T/ready" "$T/checkpoint"
        start --nproc-per-node 2 $flag --grace 15s sh -c 'mkdir -p "$0/$RANK"; exec /usr/bin/python3 "$0/train.py" "$0/$RANK"' "$T"
        wait_lines "$T/0/ready" 3
        wait_lines "$T/1/ready" 3
        kill -TERM "$RUN_PID"
        finish
        assert_eq "$status" 143
        if [ $flag = -g ]; then
            [ ! -e "$T/0/checkpoint" ]
            assert_has "$(cat "$T/err")" "a loader worker is gone"
        else
            assert_eq "$(cat "$T/0/checkpoint" "$T/1/checkpoint")" wholewhole
        fi
        rm -r "$T/0" "$T/1"
    done
}

@test "-g: who has been told once is not told again when its leader ends" {
    start --nproc-per-node 1 -g --grace 20s sh -c '"$PAYLOAD" trap "$0/worker" 2 0 TERM USR1 >"$0/told" &
        exec "$PAYLOAD" trap "$0/leader" 1 0 TERM' "$T"
    wait_for "$T/worker"
    wait_for "$T/leader"
    kill -TERM "$RUN_PID"
    wait_line "$T/told" SIGTERM
    wait_line "$T/out" SIGTERM # the leader has ended, or will at once
    wait_gone "$(cat "$T/leader")"
    kill -USR1 "$(cat "$T/worker")"
    finish
    assert_eq "$status" 143
    assert_eq "$(cut -d' ' -f1 "$T/told")" $'SIGTERM\nSIGUSR1'
}

@test "-g: a leader that has moved to another group is told all the same" {
    start --nproc-per-node 1 -g --grace 1h --capture none /usr/bin/python3 -c '
import os, signal, sys
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    signal.pause()
while os.getpgid(child) != child: pass
os.setpgid(0, child)
with open(sys.argv[1], "w") as ready: ready.write(f"{child}\n")
signal.pause()' "$T/ready"
    wait_for "$T/ready"
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
}

@test "adopted daemons (double fork, setsid) get TERM and time, after the leaders" {
    start --nproc-per-node 1 --grace 20s sh -c '
        "$PAYLOAD" daemon trap "$0/daemon" 2 0 TERM USR1 >"$0/told"; exec "$PAYLOAD" trap "$0/leader" 2 0 TERM USR1' "$T"
    wait_for "$T/daemon"
    wait_for "$T/leader"
    kill -TERM "$RUN_PID"
    wait_line "$T/out" SIGTERM
    assert_eq "$(cat "$T/told")" ""
    kill -USR1 "$(cat "$T/leader")"
    wait_line "$T/told" SIGTERM
    kill -USR1 "$(cat "$T/daemon")"
    finish
    assert_eq "$status" 143
}

@test "who is no descendant survives every stop: siblings, parents, what was put into the namespace" {
    local mode bystander pid
    quick_spec
    for mode in start start_pid1; do
        rm -f "$T"/[a-z]*.ready
        "$PAYLOAD" trap "$T/sibling.ready" 0 0 TERM HUP INT USR1 >"$T/sibling" 3>&- &
        bystander=$!
        STARTED+=("$bystander")
        # What ignores TERM takes the ladder down to its last rung; a daemon is below us, but in no group of ours.
        $mode --spec "$T/spec.yaml" --nproc-per-node 2 sh -c '
            "$PAYLOAD" daemon ignore "$0/daemon.ready" TERM; exec "$PAYLOAD" ignore "$0/rank.ready" TERM' "$T"
        wait_for "$T/sibling.ready"
        wait_lines "$T/rank.ready" 2
        wait_lines "$T/daemon.ready" 2
        pid=$RUN_PID
        if [ $mode = start_pid1 ]; then
            pid=$(pid1)
            nsenter -t "$pid" -p -m "$PAYLOAD" trap "$T/guest.ready" 0 0 TERM >"$T/guest" 3>&- &
            STARTED+=($!)
            wait_for "$T/guest.ready"
        fi
        kill -TERM "$pid"
        finish
        assert_eq "$status" 143
        assert_eq "$(cat "$T/sibling")" ""
        [ ! -e "$T/guest" ] || assert_eq "$(cat "$T/guest")" ""
        kill -USR1 "$bystander"
        wait_line "$T/sibling" SIGUSR1
        kill -KILL "$bystander"
        wait "$bystander" || true
    done
}

@test "a stopped rank keeps its TERM until it goes on, or is killed at the end of the grace" {
    start --nproc-per-node 1 --grace 1h "$PAYLOAD" trap "$T/ready" 1 0 TERM
    wait_for "$T/ready"
    kill -STOP "$(cat "$T/ready")"
    kill -TERM "$RUN_PID"
    kill -CONT "$(cat "$T/ready")"
    finish
    assert_eq "$status" 143
    assert_has "$(cat "$T/out")" SIGTERM
    rm "$T/ready"
    start --nproc-per-node 1 --grace 200ms --summary "$T/s.json" "$PAYLOAD" trap "$T/ready" 1 0 TERM
    wait_for "$T/ready"
    kill -STOP "$(cat "$T/ready")"
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    assert_json "$T/s.json" .stop.escalated true
}

@test "every signal that can be caught passes, in init mode and as PID 1" {
    local mode pid number names=() sent=0
    for number in {1..31} {34..64}; do
        case $number in 9 | 17 | 19) ;; *) names+=("$number") ;; esac
    done
    for mode in start start_pid1; do
        rm -f "$T/ready"
        $mode "$PAYLOAD" trap "$T/ready" ${#names[@]} 5 "${names[@]}"
        wait_for "$T/ready"
        pid=$RUN_PID
        [ $mode = start ] || pid=$(pid1)
        sent=0
        for number in "${names[@]}"; do
            kill -"$number" "$pid"
            sent=$((sent + 1))
            wait_lines "$T/out" $sent
        done
        finish
        assert_eq "$status" 5
    done
}

@test "signals 32 and 33, which glibc hides, end a program as any other" {
    local number
    for number in 32 33; do
        rm -f "$T/ready"
        start "$PAYLOAD" hold "$T/ready"
        wait_for "$T/ready"
        /usr/bin/python3 -c 'import os,sys; os.kill(int(sys.argv[1]), int(sys.argv[2]))' "$RUN_PID" $number
        finish
        assert_eq "$status" $((128 + number))
    done
}

@test "--rewrite takes names and numbers, real-time ones too; 0 drops" {
    start --rewrite HUP:USR1 --rewrite 12:SIGRTMIN+1 --rewrite SIGWINCH:0 --rewrite 35:15 \
        "$PAYLOAD" trap "$T/ready" 3 6 TERM USR1 USR2 RTMIN+1 HUP WINCH
    wait_for "$T/ready"
    kill -WINCH "$RUN_PID"
    kill -HUP "$RUN_PID"
    wait_line "$T/out" SIGUSR1
    kill -USR2 "$RUN_PID"
    wait_line "$T/out" 'RTMIN\+1'
    kill -35 "$RUN_PID"
    finish
    assert_eq "$status" 6
    assert_eq "$(cut -d' ' -f1 "$T/out")" $'SIGUSR1\nRTMIN+1\nSIGTERM'
}

@test "the sender of each signal is told: a process, a rank, outside" {
    start -v --nproc-per-node 1 --summary "$T/s.json" sh -c '
        trap "got=1" USR1; kill -USR1 $PPID; while [ -z "$got" ]; do :; done
        exec "$PAYLOAD" trap "$0/ready" 2 0 USR2 TERM' "$T"
    wait_line "$T/err" 'SIGUSR1 from rank 0: passed on as SIGUSR1'
    wait_for "$T/ready"
    kill -USR2 "$RUN_PID"
    wait_line "$T/err" "SIGUSR2 from pid $$, uid $(id -u): passed on"
    kill -TERM "$RUN_PID"
    finish
    assert_json "$T/s.json" .stop.sender.pid $$
    start_pid1 -v --nproc-per-node 1 "$PAYLOAD" trap "$T/ready2" 1 0 TERM
    wait_for "$T/ready2"
    kill -TERM "$(pid1)"
    finish
    assert_has "$(cat "$T/err")" 'SIGTERM from outside: passed on as SIGTERM'
}

@test "a second TERM does not begin the grace anew" {
    start --nproc-per-node 1 --grace 2s "$PAYLOAD" ignore "$T/ready" TERM
    wait_for "$T/ready"
    local before after
    before=$(elapsed_ms)
    kill -TERM "$RUN_PID"
    wait_gone "$RUN_PID" 0.5 2>/dev/null || kill -TERM "$RUN_PID" # too soon to shorten it
    finish
    after=$(elapsed_ms)
    assert_eq "$status" 143
    [ $((after - before)) -ge 1900 ]
    [ $((after - before)) -lt 10000 ]
}

@test "init mode: a server that takes its time is left alone, however often it is told" {
    local mode pid
    for mode in start start_pid1; do
        rm -f "$T/ready"
        $mode "$PAYLOAD" trap "$T/ready" 4 3 TERM QUIT USR1
        wait_for "$T/ready"
        pid=$RUN_PID
        [ $mode = start ] || pid=$(pid1)
        kill -TERM "$pid"
        wait_gone "$RUN_PID" 1.5 2>/dev/null && return 1
        kill -TERM "$pid"
        wait_lines "$T/out" 2
        kill -QUIT "$pid"
        wait_gone "$RUN_PID" 1.5 2>/dev/null && return 1
        kill -USR1 "$pid"
        finish
        assert_eq "$status" 3
    done
}

@test "SIGKILL of rankinit takes the ranks with it when it is not PID 1" {
    local pid
    start --nproc-per-node 2 "$PAYLOAD" hold "$T/ready"
    wait_lines "$T/ready" 2
    kill -KILL "$RUN_PID"
    while read -r pid; do wait_gone "$pid"; done <"$T/ready"
}
