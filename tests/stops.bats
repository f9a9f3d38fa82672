#!/usr/bin/env bats
# Stopping: who is told what and when, which signals pass, and everybody who must not be hit.

load lib

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
    for mode in ordinary pid1; do
        rm -f "$T"/[a-z]*.ready
        "$PAYLOAD" trap "$T/sibling.ready" 0 0 TERM HUP INT USR1 >"$T/sibling" 3>&- &
        bystander=$!
        STARTED+=("$bystander")
        # What ignores TERM takes the ladder down to its last rung; a daemon is below us, but in no group of ours.
        start_as $mode --spec "$T/spec.yaml" --nproc-per-node 2 sh -c '
            "$PAYLOAD" daemon ignore "$0/daemon.ready" TERM; exec "$PAYLOAD" ignore "$0/rank.ready" TERM' "$T"
        wait_for "$T/sibling.ready"
        wait_lines "$T/rank.ready" 2
        wait_lines "$T/daemon.ready" 2
        pid=$(target $mode)
        if [ $mode = pid1 ]; then
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

@test "a stopped rank goes on when it is told to stop, with its group: it can still save what it has" {
    start --nproc-per-node 1 --grace 1h --summary "$T/s.json" sh -c '
        "$PAYLOAD" trap "$0/worker" 0 0 USR1 & exec "$PAYLOAD" trap "$0/ready" 2 0 TERM USR1' "$T"
    wait_for "$T/worker"
    wait_for "$T/ready"
    kill -STOP -- "-$(cat "$T/ready")"
    wait_until 'grep -q ") T " "/proc/$0/stat"' "$(cat "$T/worker")"
    wait_until 'grep -q ") T " "/proc/$0/stat"' "$(cat "$T/ready")"
    kill -USR1 "$(cat "$T/worker")"
    kill -TERM "$RUN_PID"
    wait_line "$T/out" SIGTERM
    wait_line "$T/out" SIGUSR1
    kill -USR1 "$(cat "$T/ready")"
    finish
    assert_eq "$status" 143
    assert_json "$T/s.json" .stop.escalated false
}

@test "a stopped rank goes on when another has failed" {
    mkfifo "$T/gate"
    start --nproc-per-node 2 --fail-grace 1h sh -c '
        [ "$RANK" = 0 ] || exec "$PAYLOAD" gate "$0/gate" exit 3
        exec "$PAYLOAD" trap "$0/ready" 1 0 TERM' "$T"
    wait_for "$T/ready"
    kill -STOP "$(cat "$T/ready")"
    wait_until 'grep -q ") T " "/proc/$0/stat"' "$(cat "$T/ready")"
    echo >"$T/gate"
    finish
    assert_eq "$status" 3
    assert_has "$(cat "$T/out")" SIGTERM
}

@test "init mode: a stopped program keeps its TERM until somebody lets it go on" {
    start "$PAYLOAD" trap "$T/ready" 1 0 TERM
    wait_for "$T/ready"
    kill -STOP "$(cat "$T/ready")"
    # It stops when it gets to it; a TERM that comes before that is an ordinary one.
    wait_until 'grep -q ") T " "/proc/$0/stat"' "$(cat "$T/ready")"
    kill -TERM "$RUN_PID"
    wait_until 'grep -q "^ShdPnd:.*4[0-9a-f]\{3\}$" "/proc/$0/status"' "$(cat "$T/ready")"
    assert_has "$(cat "/proc/$(cat "$T/ready")/stat")" ") T "
    kill -CONT "$RUN_PID"
    finish
    assert_eq "$status" 0
    assert_has "$(cat "$T/out")" SIGTERM
}

@test "every signal that can be caught passes, in init mode and as PID 1" {
    local mode pid number names=() sent=0
    for number in {1..31} {34..64}; do
        case $number in 9 | 17 | 19) ;; *) names+=("$number") ;; esac
    done
    for mode in ordinary pid1; do
        rm -f "$T/ready"
        start_as $mode "$PAYLOAD" trap "$T/ready" ${#names[@]} 5 "${names[@]}"
        wait_for "$T/ready"
        pid=$(target $mode)
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
    for mode in ordinary pid1; do
        rm -f "$T/ready"
        start_as $mode "$PAYLOAD" trap "$T/ready" 4 3 TERM QUIT USR1
        wait_for "$T/ready"
        pid=$(target $mode)
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
