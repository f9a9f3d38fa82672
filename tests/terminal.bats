#!/usr/bin/env bats
# On a terminal: job control as if rankinit were not there, for one rank and in init mode.

load lib

# Says r1y once it runs and c1t once it goes on, which is not what was typed.
LOOP='trap "echo c$((1))t" CONT; echo r$((1))y; while :; do sleep 0.05; done'
SLEEPER="bash -c '$LOOP'\\n"
# The same for several ranks, which alone get Ctrl-C: a shell would wait for its sleep.
PAUSE='import signal as s; s.signal(s.SIGCONT, lambda *a: print("c%dt" % 1, flush=True)); print("r%dy" % 1, flush=True); [s.pause() for i in range(99)]'

on_pty() { run "$ROOT/tests/pty" "$@"; }

@test "an interactive shell below rankinit: Ctrl-Z, jobs, fg, Ctrl-C, exit 5" {
    on_pty expect='in> ' send="$SLEEPER" expect=r1y send='\x1a' expect=Stopped expect='in> ' \
        send='jobs\n' expect=Stopped expect='in> ' send='fg\n' expect=c1t \
        send='\x03' expect='in> ' send='echo code $?\n' expect='code 130' send='exit 5\n' \
        -- env 'PS1=in> ' "$RANKINIT" bash --norc --noprofile -i
    assert_eq "$status" 5
}

@test "the same as PID 1" {
    on_pty expect='in> ' send="$SLEEPER" expect=r1y send='\x1a' expect=Stopped expect='in> ' \
        send='fg\n' expect=c1t send='\x03' expect='in> ' send='exit 5\n' \
        -- env 'PS1=in> ' "${PID1[@]}" "$RANKINIT" bash --norc --noprofile -i
    assert_eq "$status" 5
}

@test "Ctrl-Z stops rankinit for the shell that started it, fg goes on, Ctrl-C ends it" {
    on_pty expect='out> ' send="$RANKINIT $SLEEPER" expect=r1y \
        send='\x1a' expect=Stopped expect='out> ' send='fg\n' expect=c1t \
        send='\x03' expect='out> ' \
        send='echo code $?\n' expect='code 130' send='exit 0\n' \
        -- env 'PS1=out> ' bash --norc --noprofile -i
    assert_eq "$status" 0
}

@test "one rank on a terminal: a REPL's Ctrl-C is its own affair" {
    on_pty expect='>>> ' send='import time; print(6*7); time.sleep(100)\n' \
        expect=42 send='\x03' expect=KeyboardInterrupt expect='>>> ' \
        send='import os; print(os.environ["RANK"], os.isatty(1))\n' \
        expect='0 True' expect='>>> ' send='exit(6)\n' \
        -- "$RANKINIT" --nproc-per-node 1 /usr/bin/python3 -q
    assert_eq "$status" 6
}

@test "init mode, also as PID 1: a REPL's Ctrl-C is its own affair, however often" {
    local command
    for command in "" "${PID1[*]}"; do
        # shellcheck disable=SC2086 # several words
        on_pty expect='>>> ' send='import time; print(6*7); time.sleep(100)\n' \
            expect=42 send='\x03' expect=KeyboardInterrupt expect='>>> ' \
            send='print(5*7); time.sleep(100)\n' \
            expect=35 send='\x03' expect=KeyboardInterrupt expect='>>> ' send='exit(6)\n' \
            -- $command "$RANKINIT" /usr/bin/python3 -q
        assert_eq "$status" 6
    done
}

@test "several ranks: Ctrl-C stops all, none can hang on reading the terminal" {
    on_pty expect=ready expect=ready send='\x03' \
        -- "$RANKINIT" --nproc-per-node 2 sh -c 'read -r line; read -r line </dev/tty; echo "ready"; exec "$PAYLOAD" hold'
    assert_eq "$status" 130
}

@test "several ranks: Ctrl-Z stops the job for its shell, fg goes on, Ctrl-C ends it and is told" {
    on_pty expect='out> ' send="$RANKINIT --nproc-per-node 2 --summary $T/s.json /usr/bin/python3 -c '$PAUSE'\\n" \
        expect=r1y expect=r1y send='\x1a' expect=Stopped expect='out> ' send='fg\n' expect=c1t expect=c1t \
        send='\x03' expect='out> ' send='echo code $?\n' expect='code 130' send='exit 0\n' \
        -- env 'PS1=out> ' bash --norc --noprofile -i
    assert_eq "$status" 0
    assert_schema "$T/s.json"
    assert_json "$T/s.json" .stop.sender terminal
}

@test "Ctrl-Z where no shell could let it go on: it goes on at once" {
    local command ranks
    for command in "" "${PID1[*]} setsid --ctty"; do
        [ "$command" = "" ] || [ "$(id -u)" = 0 ] || continue
        for ranks in "" "--nproc-per-node 1"; do
            # shellcheck disable=SC2086 # several words
            on_pty expect=r1y send='\x1a' expect=c1t send='\x03' -- $command "$RANKINIT" $ranks bash -c "$LOOP"
            assert_eq "$status" 130
        done
        # shellcheck disable=SC2086 # several words
        on_pty expect=r1y expect=r1y send='\x1a' expect=c1t expect=c1t send='\x03' \
            -- $command "$RANKINIT" --nproc-per-node 2 /usr/bin/python3 -c "$PAUSE"
        assert_eq "$status" 130
    done
}

@test "PID 1 below a shell from outside: Ctrl-Z, fg, Ctrl-C" {
    on_pty expect='out> ' send="${PID1[*]} $RANKINIT $SLEEPER" expect=r1y \
        send='\x1a' expect=Stopped expect='out> ' send='fg\n' expect=c1t send='\x03' expect='out> ' \
        send='echo code $?\n' expect='code 130' send='exit 0\n' \
        -- env 'PS1=out> ' bash --norc --noprofile -i
    assert_eq "$status" 0
}

@test "Ctrl-Z stops all of the job: the script and the pipeline that rankinit is part of" {
    printf '%s bash -c '"'%s'"' | cat\necho end\n' "$RANKINIT" "$LOOP" >"$T/job.sh"
    on_pty expect='out> ' send="sh $T/job.sh\n" expect=r1y send='\x1a' expect=Stopped expect='out> ' \
        send='fg\n' expect=c1t send='\x03' expect=end expect='out> ' send='exit 0\n' \
        -- env 'PS1=out> ' bash --norc --noprofile -i
    assert_eq "$status" 0
}

@test "a program that wants the terminal though stdin is a pipe gets it" {
    on_pty expect='want ' send='moo\n' expect='got moo' -- sh -c \
        "echo | $RANKINIT sh -c 'printf \"want \"; read -r line </dev/tty; echo \"got \$line\"; exit 5'"
    assert_eq "$status" 5
}

@test "a new window size reaches the program" {
    on_pty size=24x80 expect=ready size=33x99 expect='33 99' \
        -- "$RANKINIT" bash -c 'trap "stty size; exit" WINCH; echo ready; while :; do read -t 0.05; done'
    assert_eq "$status" 0
}

@test "a hang-up ends the program" {
    on_pty expect=ready hangup -- "$RANKINIT" bash -c 'echo ready; exec sleep 100'
    assert_eq "$status" 129
}

@test "a shell script that goes on after rankinit still has the terminal" {
    on_pty expect='name? ' send='alice\n' expect='hello alice' \
        -- sh -c "$RANKINIT sh -c 'exit 3'; printf 'name? '; read -r name; echo hello \$name; exit 4"
    assert_eq "$status" 4
}

@test "started in the background it does not take the terminal" {
    on_pty expect='out> ' send="$RANKINIT sleep 100 &\n" expect='out> ' send='echo still here\n' \
        expect='still here\r\n' expect='out> ' send='kill %1; wait %1; exit 0\n' \
        -- env 'PS1=out> ' bash --norc --noprofile -i
    assert_eq "$status" 0
}

@test "started in the background it stops when its program reads the terminal; fg gives it" {
    local reader="bash -c 'trap \"echo c\$((1))t\" CONT; read -r line; echo got \$line'"
    on_pty expect='out> ' send="$RANKINIT $reader &\\n" expect=Stopped send='fg\n' expect=c1t \
        send='moo\n' expect='got moo' expect='out> ' send='exit 0\n' \
        -- env 'PS1=out> ' bash --norc --noprofile -b -i
    assert_eq "$status" 0
}

@test "a progress bar of tqdm and lines of Python's logging, captured, look right on a terminal" {
    cat >"$T/train.py" <<'PY'
import logging, os, sys, tqdm
rank = os.environ["RANK"]
if rank == "0":
    for step in tqdm.tqdm(range(20), mininterval=0, ncols=60):
        pass
else:
    logging.basicConfig(level=logging.INFO)
    for step in range(20):
        logging.info("step %d of rank %s", step, rank)
PY
    on_pty -- "$RANKINIT" --nproc-per-node 2 --report never "$PYTHON" "$T/train.py"
    assert_eq "$status" 0
    # What a reader sees of a line: what was written last over each of its columns.
    cat >"$T/rows.py" <<'PY'
import sys
for line in sys.stdin.buffer.read().decode().replace("\r\n", "\n").split("\n"):
    row = ""
    for part in line.split("\r"):
        row = part + row[len(part):]
    print(row.rstrip())
PY
    "$PYTHON" "$T/rows.py" <<<"$output" >"$T/rows"
    assert_eq "$(grep -vcE '^$|^(\[rank 0\] +[0-9]+%|\[rank 0\]|[ 0-9]+%)|^\[rank 1\] INFO:root:step [0-9]+ of rank 1$' "$T/rows")" 0
    assert_eq "$(grep -c '^\[rank 1\] INFO' "$T/rows")" 20
    assert_eq "$(grep '^\[rank 1\]' "$T/rows" | sed 's/.*step \([0-9]*\).*/\1/' | tr '\n' ' ')" "$(seq -s ' ' 0 19) "
    # The bar is redrawn in place by a terminal's rules, and ends whole.
    assert_eq "$(grep -c '100%|.*| 20/20 \[' "$T/rows")" 1
    assert_has "$output" $'\r'
}
