#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # $0 is for another shell; bats sets status and stderr
# What users of other inits and launchers have reported: one test for each thread, named in its
# title, as PID 1 of a new namespace and as an ordinary process wherever both make sense.

load lib

teardown() {
    thaw 2>/dev/null
    stop_all
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
    wait_until 'grep -qx FROZEN "$0"' "$FREEZER/freezer.state"
}

thaw() {
    local pid
    [ -d "$FREEZER" ] || return 0
    echo THAWED >"$FREEZER/freezer.state"
    while read -r pid; do kill -KILL "$pid" && wait_gone "$pid"; done <"$FREEZER/cgroup.procs"
    rmdir "$FREEZER"
}

# traced OPTION... -- COMMAND...: TRACED becomes COMMAND below strace, but as the process started.
traced() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    TRACED=(strace -DDD -f -qq "${options[@]}" "$@")
}

# Children of a process, and its resident size in KiB.
children_of() { wc -w <"/proc/$1/task/$1/children"; }
rss_of() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

# own_child PID: the pid of a child that is rankinit (or has not become its program yet), once there
# is one. strace's own helpers have another name.
own_child() {
    # shellcheck disable=SC2016 # the other shell's $0
    wait_until 'pgrep -P "$0" -x rankinit' "$1"
}

# ---- who is waited for, and who is told -------------------------------------------------------

@test "krallin/tini#180, #95, #139: what runs beside the program has time to finish when it is told to stop" {
    local mode
    for mode in ordinary pid1; do
        rm -f "$T"/*
        start_as $mode --grace 20s sh -c '
            sh -c '\''trap "cat <\"$0/go\"; echo ok >\"$0/saved\"; exit" TERM; echo up >"$0/ready"
                while :; do sleep 0.01; done'\'' "$0" &
            exec "$PAYLOAD" trap "$0/program" 1 3 TERM' "$T"
        mkfifo "$T/go"
        wait_for "$T/ready"
        wait_for "$T/program"
        kill -TERM "$(target $mode)"
        wait_line "$T/out" SIGTERM # the program ends now
        : >"$T/go"
        finish
        assert_eq "$status" 3
        assert_eq "$(cat "$T/saved")" ok
    done
}

@test "Yelp/dumb-init#212, #80: the program's end counts, and what it has daemonised is told and waited for" {
    local mode
    for mode in ordinary pid1; do
        rm -f "$T"/*
        # An ordinary process in init mode sweeps nothing unless asked to stop: so this one has ranks.
        local shape=()
        [ $mode = pid1 ] || shape=(--nproc-per-node 1)
        run_as $mode "${shape[@]}" --report never --capture none sh -c '
            "$PAYLOAD" daemon trap "$0/ready" 1 0 TERM >"$0/told"
            while [ "$(cat "$0/ready" 2>/dev/null)" = "" ]; do :; done; exit 5' "$T"
        assert_eq "$status" 5
        assert_has "$(cat "$T/told")" SIGTERM
    done
}

@test "krallin/tini#229: a daemon that init has adopted gets TERM, not only KILL" {
    local mode
    for mode in ordinary pid1; do
        rm -f "$T"/*
        start_as $mode --grace 20s sh -c '
            "$PAYLOAD" daemon trap "$0/daemon" 1 0 TERM >"$0/told"; exec "$PAYLOAD" trap "$0/program" 1 0 TERM' "$T"
        wait_for "$T/daemon"
        wait_for "$T/program"
        kill -TERM "$(target $mode)"
        finish
        assert_eq "$status" 0
        assert_has "$(cat "$T/told")" SIGTERM
    done
}

@test "Yelp/dumb-init#191: a process that has called setsid does not escape, in either scope" {
    local mode scope
    for mode in ordinary pid1; do
        for scope in leader group; do
            rm -f "$T"/*
            start_as $mode --grace 20s --stop-scope $scope sh -c '
                setsid "$PAYLOAD" trap "$0/away" 1 0 TERM >"$0/told" & exec "$PAYLOAD" trap "$0/program" 1 0 TERM' "$T"
            wait_for "$T/away"
            wait_for "$T/program"
            kill -TERM "$(target $mode)"
            finish
            assert_eq "$status" 0
            assert_has "$(cat "$T/told")" SIGTERM
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

@test "KempnerInstitute/KempnerForge#177: leader first: a trainer finishes its checkpoint; with -g it cannot" {
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

# ---- what cannot be reaped --------------------------------------------------------------------

@test "krallin/tini#164: a zombie leader whose thread is stuck: the run ends by its deadline and names it" {
    local leader tid
    quick_spec
    start --spec "$T/spec.yaml" --nproc-per-node 1 --summary "$T/s.json" "$PAYLOAD" zombie-leader "$T/leader"
    wait_for "$T/leader"
    read -r leader <"$T/leader"
    for tid in "/proc/$leader/task"/*; do tid=${tid##*/}; done
    [ "$tid" != "$leader" ]
    freeze --thread "$tid"
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    assert_schema "$T/s.json"
    assert_json "$T/s.json" .ranks.unreaped 1
    assert_has "$(json_get "$T/s.json" '.hints[0]')" "pid $leader (payload) of rank 0 is left: a zombie of \
which 1 thread lives on, state D in __refrigerator: the kernel or a driver holds it, not its parent"
}

@test "pytorch/pytorch#185414: an unkillable process: the run ends by its deadline and names it, before the last wait and after" {
    local pid
    quick_spec
    traced -s 3000 -e trace=pwrite64 -o "$T/trace" -- "$RANKINIT"
    touch "$T/log"
    start_program "${TRACED[@]}" --spec "$T/spec.yaml" --nproc-per-node 2 --summary "$T/s.json" \
        --termination-log "$T/log" "$PAYLOAD" hold "$T/ready"
    wait_lines "$T/ready" 2
    read -r pid <"$T/ready"
    freeze "$pid"
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    assert_schema "$T/s.json" "$T/log"
    assert_json "$T/s.json" .ranks.unreaped 1
    assert_json "$T/s.json" '[.hints[] | select(contains("is left"))] | length' 1
    [[ $(json_get "$T/s.json" '.hints[0]') =~ ^"pid $pid (payload) of rank "[01]" is left: state D in __refrigerator: SIGKILL has no effect" ]]
    assert_has "$(cat "$T/err")" "pid $pid (payload) of rank"
    [ "$(grep -cF "is left: state D" "$T/trace")" -ge 2 ]
}

@test "pytorch/pytorch#185414: the same in init mode, when a grace is stated" {
    local mode pid
    for mode in ordinary pid1; do
        rm -f "$T/ready"
        start_as "$mode" --grace 100ms "$PAYLOAD" hold "$T/ready"
        wait_for "$T/ready"
        pid=$(pgrep -P "$(target "$mode")")
        freeze "$pid"
        kill -TERM "$(target "$mode")"
        # A namespace waits for the last of it: whose kernel, as PID 1, is not ours to hurry.
        wait_line "$T/err" "notice: pid [0-9]+ \\(payload\\) is left: state D in __refrigerator"
        [ "$mode" = ordinary ] || thaw
        finish
        thaw
        assert_eq "$status" 143
    done
}

@test "moby/moby#35160: what is left is the kernel's to let go; the code is that of the rank that failed" {
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

@test "krallin/tini#130, #138: a zombie whose living parent does not wait is told, and who that parent is" {
    local parent zombie
    quick_spec
    start --spec "$T/spec.yaml" --nproc-per-node 1 --summary "$T/s.json" "$PAYLOAD" zombie "$T/parent"
    wait_for "$T/parent"
    read -r parent <"$T/parent"
    zombie=$(tr -d ' ' <"/proc/$parent/task/$parent/children")
    freeze "$parent" # else its end would hand the zombie over to us
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    assert_schema "$T/s.json"
    assert_json "$T/s.json" .ranks.unreaped 2
    json_get "$T/s.json" '.hints[]' >"$T/hints"
    grep -F "pid $parent (payload) of rank 0 is left: state D" "$T/hints"
    grep -F "pid $zombie (payload) of rank 0 is left: a zombie whose parent, pid $parent, lives and does not wait for it" "$T/hints"
}

# ---- one rank fails ---------------------------------------------------------------------------

# gang RANK CODE: four ranks of which RANK ends with CODE at once and the others would stay for ever.
gang() {
    local mode
    for mode in ordinary pid1; do
        rm -f "$T/s.json"
        run_as $mode --nproc-per-node 4 --summary "$T/s.json" sh -c '
            [ $RANK != "$0" ] || exit "$1"; exec "$PAYLOAD" hold' "$1" "$2"
        assert_eq "$status" "$2"
        assert_json "$T/s.json" .root_cause.rank "$1"
        assert_json "$T/s.json" .root_cause.exit_code "$2"
        assert_json "$T/s.json" '.seconds < 8' true # far below the 10 s of --fail-grace
    done
}

@test "Lightning-AI/pytorch-lightning#17248: a rank other than 0 fails: at once the end, and it is named" {
    gang 2 5
}

@test "horovod/horovod#642: rank 0 fails and the others do not run on to their own end" {
    gang 0 1
}

@test "pytorch/pytorch#113231: a trainer behind a shell gets TERM and its whole grace" {
    local mode
    mkdir "$T/x"
    cat >"$T/x/train.py" <<'PYTHON'
import signal, sys
def save(*_):
    print("saving", flush=True)
    with open(sys.argv[1] + "/go") as go: go.read()
    with open(sys.argv[1] + "/checkpoint", "w") as checkpoint: checkpoint.write("whole")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
with open(sys.argv[1] + "/ready", "w") as ready: ready.write("ready\n")
while True: signal.pause()
PYTHON
    mkfifo "$T/go"
    for mode in ordinary pid1; do
        rm -f "$T/ready" "$T/checkpoint"
        start_as $mode --nproc-per-node 1 --grace 20s bash -c 'cd "$0/x" && /usr/bin/python3 train.py "$0"; true' "$T"
        wait_for "$T/ready"
        kill -TERM "$(target $mode)"
        wait_line "$T/out" saving # bash, which has died of the TERM, has left it behind
        wait_gone "$RUN_PID" 2.5 2>/dev/null && return 1 # longer than orphans have
        : >"$T/go"
        finish
        assert_eq "$status" 143
        assert_eq "$(cat "$T/checkpoint")" whole
    done
}

@test "GaTech-RL2/EgoVerse#682, pytorch/pytorch#5736, #8805: a killed rank's workers do not stay" {
    local pid mode
    quick_spec
    for mode in ordinary pid1; do
        rm -f "$T/pids"
        run_as $mode --spec "$T/spec.yaml" --nproc-per-node 2 --capture none sh -c '
            [ $RANK = 0 ] || exec "$PAYLOAD" hold
            "$PAYLOAD" workers 3 ignore "$0/pids" TERM &
            while [ "$(cat "$0/pids" 2>/dev/null | wc -l)" -lt 3 ]; do :; done; kill -KILL $$' "$T"
        assert_eq "$status" 137
        assert_eq "$(wc -l <"$T/pids")" 3
        # As PID 1 their numbers mean nothing here, and nobody outlives the namespace.
        [ $mode = pid1 ] || while read -r pid; do [ ! -e "/proc/$pid" ]; done <"$T/pids"
    done
}

@test "krallin/tini#236: after a crash and a new start there is one copy, not two" {
    local first second
    quick_spec
    for _ in first second; do
        run "$RANKINIT" --spec "$T/spec.yaml" --nproc-per-node 1 --capture none sh -c '
            setsid "$PAYLOAD" ignore "$0/copy" TERM & while [ ! -s "$0/copy" ]; do :; done
            kill -SEGV $$' "$T"
        assert_eq "$status" 139
        first=${second:-}
        second=$(cat "$T/copy") && rm "$T/copy"
        [ ! -e "/proc/$second" ]
    done
    [ "$first" != "$second" ]
}

# ---- no end is missed -------------------------------------------------------------------------

@test "openSUSE/catatonit#4: two children that die together: neither end is missed" {
    local mode i
    for mode in ordinary pid1; do
        for ((i = 0; i < 30 * ${SOAK:-1}; i++)); do
            run_as $mode sh -c 'sh -c "sleep .01 & kill -9 \$\$"; sleep .0087; exit 6'
            assert_eq "$status" 6
        done
    done
}

@test "openSUSE/catatonit#5: all 256 exit codes, 127 too, in init mode, as a rank, as PID 1" {
    "$ROOT/tests/codes" 256
    "$ROOT/tests/codes" 256 "$RANKINIT" --nproc-per-node 1 --report never
    "$ROOT/tests/codes" 256 "${PID1[@]}" "$RANKINIT"
}

@test "Yelp/dumb-init#102: many children that end at once: no wrong code, no hang" {
    "$ROOT/tests/codes" $((${SOAK:-1} * 1000))
}

@test "phusion/baseimage-docker my_init, Supervisor/supervisor#733, #712: a death by a signal is never 0" {
    local mode
    for mode in ordinary pid1; do
        run_as $mode sh -c 'kill -KILL $$'
        assert_eq "$status" 137
        run_as $mode sh -c 'kill -SEGV $$'
        assert_eq "$status" 139
        run_as $mode --nproc-per-node 2 sh -c 'kill -KILL $$'
        assert_eq "$status" 137
    done
}

@test "gpustack/gpustack#1262, eugr/spark-vllm-docker#274: 20,000 orphans: no zombie stays, memory does not grow" {
    local pid before after
    mkfifo "$T/go" "$T/end"
    start_pid1 sh -c '"$PAYLOAD" gate "$0/go" orphans 20000; echo made; exec "$PAYLOAD" gate "$0/end" exit 0' "$T"
    : >"$T/go" # opening it waits for the other side
    pid=$(pid1)
    before=$(rss_of "$pid")
    wait_line "$T/out" made 120
    wait_until '[ "$(wc -w <"/proc/$0/task/$0/children")" -le 1 ]' "$pid"
    after=$(rss_of "$pid")
    : >"$T/end"
    finish
    assert_eq "$status" 0
    [ "$after" -le $((before + 64)) ]
}

@test "gpustack/gpustack#1262: 4,000 zombies at once, after rankinit was stopped itself: all are reaped" {
    local pid before
    mkfifo "$T/go" "$T/end"
    start_pid1 sh -c '"$PAYLOAD" gate "$0/go" orphans 4000; echo made; exec "$PAYLOAD" gate "$0/end" exit 3' "$T"
    pid=$(own_child "$RUN_PID")
    wait_until '[ "$(wc -w <"/proc/$0/task/$0/children")" -gt 0 ]' "$pid"
    before=$(rss_of "$pid")
    kill -STOP "$pid"
    : >"$T/go"
    wait_line "$T/out" made 60
    [ "$(children_of "$pid")" -ge 4000 ]
    kill -CONT "$pid"
    wait_until '[ "$(wc -w <"/proc/$0/task/$0/children")" -le 1 ]' "$pid"
    [ "$(rss_of "$pid")" -le $((before + 64)) ]
    : >"$T/end"
    finish
    assert_eq "$status" 3
}

@test "gpustack/gpustack#1262: orphans are reaped while shutting down, too" {
    local pid
    start_pid1 --nproc-per-node 1 --grace 1h sh -c '
        trap "\"$PAYLOAD\" orphans 500; echo made; exec \"$PAYLOAD\" trap \"$0/more\" 1 0 USR1" TERM
        echo up; while :; do sleep 0.01; done' "$T"
    wait_line "$T/out" up
    pid=$(pid1)
    kill -TERM "$pid"
    wait_line "$T/out" made
    wait_for "$T/more"
    wait_until '[ "$(wc -w <"/proc/$0/task/$0/children")" -eq 1 ]' "$pid"
    kill -USR1 "$pid"
    finish
    assert_eq "$status" 143
}

@test "NVIDIA/TensorRT-LLM#16404: a helper that ranks share is not hit while a rank still needs it" {
    local mode
    for mode in ordinary pid1; do
        rm -f "$T"/*
        mkfifo "$T/fail"
        start_as $mode --nproc-per-node 2 --fail-grace 1h --summary "$T/s.json" sh -c '
            [ $RANK = 0 ] || exec "$PAYLOAD" gate "$0/fail" exit 4
            "$PAYLOAD" daemon trap "$0/helper" 1 0 TERM >"$0/told"
            while [ ! -s "$0/helper" ]; do :; done
            exec "$PAYLOAD" trap "$0/rank" 2 0 TERM USR1' "$T"
        wait_for "$T/rank"
        : >"$T/fail"
        wait_line "$T/out" SIGTERM # rank 0 is told to stop
        assert_eq "$(cat "$T/told")" "" # its helper is not
        kill -USR1 "$(target $mode)"
        finish
        assert_eq "$status" 4
        assert_has "$(cat "$T/told")" SIGTERM # but once no rank is left
    done
}

@test "sudo-project/sudo#98, util-linux/util-linux#4106: SIGCHLD ignored by whoever starts us" {
    local mode command
    for mode in ordinary pid1; do
        command=("$RANKINIT")
        [ $mode = ordinary ] || command=("${PID1[@]}" env --ignore-signal=CHLD "$RANKINIT")
        run timeout 20 env --ignore-signal=CHLD "${command[@]}" sh -c 'sh -c "exit 3"; exit 7'
        assert_eq "$status" 7
        run timeout 20 env --ignore-signal=CHLD "${command[@]}" --nproc-per-node 2 sh -c 'exit 7'
        assert_eq "$status" 7
    done
}

# ---- signals ----------------------------------------------------------------------------------

@test "early TERM (no thread: our own finding): not lost while the rank's setpgid is delayed, in either scope" {
    local scope mode pid
    for mode in ordinary pid1; do
        for scope in leader group; do
            rm -f "$T/ready"
            if [ $mode = pid1 ]; then
                traced -o "$T/trace" -e trace=setpgid -e inject=setpgid:delay_enter=700000 -- "${PID1[@]}" "$RANKINIT"
            else
                traced -o "$T/trace" -e trace=setpgid -e inject=setpgid:delay_enter=700000 -- "$RANKINIT"
            fi
            start_program "${TRACED[@]}" --nproc-per-node 1 --grace 1h --stop-scope $scope "$PAYLOAD" hold "$T/ready"
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

@test "docker/cli#3909, krallin/tini#204: USR2 has its default effect under an init, and can be dropped" {
    local mode
    for mode in ordinary pid1; do
        rm -f "$T"/*
        start_as $mode "$PAYLOAD" hold "$T/ready"
        wait_for "$T/ready"
        kill -USR2 "$(target $mode)"
        finish
        assert_eq "$status" 140
        rm "$T/ready"
        start_as $mode -v --rewrite USR2:0 "$PAYLOAD" trap "$T/ready" 1 3 TERM
        wait_for "$T/ready"
        kill -USR2 "$(target $mode)"
        wait_line "$T/err" 'SIGUSR2 from .*: dropped'
        kill -TERM "$(target $mode)"
        finish
        assert_eq "$status" 3
    done
}

@test "h2o/h2o#2995: a HUP that a package script sends to PID 1 can be dropped" {
    local mode
    for mode in ordinary pid1; do
        rm -f "$T"/*
        start_as $mode -v --rewrite HUP:0 --nproc-per-node 2 sh -c 'exec "$PAYLOAD" trap "$0/ready" 1 0 TERM' "$T"
        wait_lines "$T/ready" 2
        kill -HUP "$(target $mode)"
        wait_line "$T/err" 'SIGHUP from .*: dropped'
        kill -TERM "$(target $mode)"
        finish
        assert_eq "$status" 143
    done
}

@test "krallin/tini#69, kubernetes/kubernetes#80089, nats-io/nats-streaming-server#957: a stop is 143, or 0 when asked" {
    local mode flags
    for mode in ordinary pid1; do
        for flags in "" "-e 143" "--nproc-per-node 1" "--nproc-per-node 1 -e 143"; do
            rm -f "$T"/*
            # shellcheck disable=SC2086 # several words
            start_as $mode $flags "$PAYLOAD" hold "$T/ready"
            wait_for "$T/ready"
            kill -TERM "$(target $mode)"
            finish
            case $flags in *-e*) assert_eq "$status" 0 ;; *) assert_eq "$status" 143 ;; esac
        done
    done
}

@test "pytorch/pytorch#154849, pytorch/examples#1351: USR1 reaches every rank and stops none" {
    local mode
    for mode in ordinary pid1; do
        rm -f "$T"/*
        start_as $mode --nproc-per-node 3 sh -c 'exec "$PAYLOAD" trap "$0/ready" 2 0 USR1 USR2' "$T"
        wait_lines "$T/ready" 3
        kill -USR1 "$(target $mode)"
        wait_lines "$T/out" 3
        kill -USR2 "$(target $mode)"
        finish
        assert_eq "$status" 0
        assert_eq "$(cut -d' ' -f1 "$T/out" | sort | uniq -c | tr -s ' \n' ' ')" " 3 SIGUSR1 3 SIGUSR2 "
    done
}

@test "pytorch/pytorch#119856, #68258: the grace is what was asked for, by either name" {
    local flags
    for flags in "--grace 1h" "--shutdown-timeout 3600"; do
        rm -f "$T"/*
        # shellcheck disable=SC2086 # several words
        start --nproc-per-node 1 $flags "$PAYLOAD" trap "$T/ready" 2 0 TERM USR1
        wait_for "$T/ready"
        kill -TERM "$RUN_PID"
        wait_gone "$RUN_PID" 2.5 2>/dev/null && return 1
        kill -USR1 "$RUN_PID" # the checkpoint is written
        finish
        assert_eq "$status" 143
        assert_has "$(cat "$T/out")" SIGUSR1
    done
    rm "$T/ready"
    start --nproc-per-node 1 --shutdown-timeout 0 "$PAYLOAD" ignore "$T/ready" TERM
    wait_for "$T/ready"
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
}

# ---- where we run -----------------------------------------------------------------------------

@test "Yelp/dumb-init#136: on a terminal nobody is hung up, however late the loop starts" {
    traced -o "$T/trace" -e trace=epoll_wait -e inject=epoll_wait:delay_enter=300000:when=1 -- "$RANKINIT"
    run "$ROOT/tests/pty" expect=ready send='go\n' -- "${TRACED[@]}" sh -c '
        trap "exit 9" HUP; trap "exit 8" CONT; echo ready; read -r go; exit 7'
    assert_eq "$status" 7
    [ -s "$T/trace" ]
}

@test "openSUSE/catatonit#12, #14: a pipe meant for the program ends when the program closes it" {
    local mode reader before
    mkfifo "$T/pipe"
    for mode in ordinary pid1; do
        rm -f "$T/ready"
        cat "$T/pipe" >"$T/got" 3>&- &
        reader=$!
        STARTED+=("$reader")
        # The shell opens the pipe and becomes rankinit, so that nobody else holds it.
        before=()
        [ $mode = ordinary ] || before=("${PID1[@]}")
        start_program "${before[@]}" sh -c 'exec 7>"$0/pipe"; exec "$RANKINIT" sh -c "
            echo words >&7; exec 7>&-; exec \"\$PAYLOAD\" hold \"\$0/ready\"" "$0"' "$T"
        finish "$reader" # it has seen the end, and rankinit lives
        wait_for "$T/ready"
        assert_eq "$(cat "$T/got")" words
        kill -KILL "$(target $mode)"
        finish
    done
}

@test "openSUSE/catatonit#28, Yelp/dumb-init#210: our own cwd pins no mount; the program keeps it" {
    local mode
    cd "$T"
    for mode in ordinary pid1; do
        rm -f "$T/ready"
        start_as $mode sh -c 'pwd; exec "$PAYLOAD" hold "$0/ready"' "$T"
        wait_for "$T/ready"
        assert_eq "$(cat "$T/out")" "$T"
        wait_until '[ "$(readlink "/proc/$0/cwd")" = / ]' "$(target $mode)"
        kill -TERM "$(target $mode)"
        finish
    done
}

@test "krallin/tini#246, #64: stdin closed, or no terminal of ours: no reason to fail" {
    local mode command
    for mode in ordinary pid1; do
        command=("$RANKINIT")
        [ $mode = ordinary ] || command=("${PID1[@]}" "$RANKINIT")
        run bash -c '"$@" true <&-' - "${command[@]}"
        assert_eq "$status:$output" "0:"
        run bash -c '"$@" true </dev/ptmx' - "${command[@]}"
        assert_eq "$status:$output" "0:"
        run bash -c '"$@" true 0>/dev/null' - "${command[@]}"
        assert_eq "$status:$output" "0:"
        # A terminal, but not that of our session: every call about it fails.
        run /usr/bin/python3 -c 'import os, pty, sys
main, other = pty.openpty()
os.setsid()
os.dup2(other, 0)
os.execvp(sys.argv[1], sys.argv[1:])' "${command[@]}" true
        assert_eq "$status:$output" "0:"
    done
}

@test "krallin/tini#120, flant/shell-operator#377, NVIDIA/enroot#82, Cisco-Talos/clamav-docker#80: not PID 1, and quiet" {
    # In a namespace whose PID 1 is somebody else, as with shareProcessNamespace; with /proc, and with that of the host.
    local mount
    for mount in --mount-proc ""; do
        # shellcheck disable=SC2086 # a word or none
        run unshare --pid --fork --kill-child $mount sh -c '"$RANKINIT" --summary "$0/s.json" "$PAYLOAD" orphans 20; echo "code $?"' "$T"
        assert_eq "$output" "code 0"
        [ "$(json_get "$T/s.json" .orphans_reaped)" -gt 0 ] # those that ended before the program did
        # shellcheck disable=SC2086
        run unshare --pid --fork --kill-child $mount sh -c '"$RANKINIT" --report never --nproc-per-node 2 "$PAYLOAD" orphans 20; echo "code $?"' "$T"
        assert_eq "$output" "code 0"
    done
}

@test "just-containers/s6-overlay#578, #600: a read-only root and nothing to write to" {
    run unshare --mount sh -c '
        mount --make-rprivate / && mount -o remount,bind,ro / || exit 90
        cut -d" " -f5 /proc/self/mountinfo | while read -r place; do mount -o remount,bind,ro "$place"; done 2>/dev/null
        touch "$0/file" 2>/dev/null && exit 90
        "$RANKINIT" "$PAYLOAD" exit 3; [ $? = 3 ] || exit 91
        "$RANKINIT" --report never --nproc-per-node 2 sh -c "echo \$TORCHELASTIC_ERROR_FILE; exit 4"; [ $? = 4 ] || exit 92
        unshare --pid --fork --kill-child "$RANKINIT" --report never --nproc-per-node 2 "$PAYLOAD" exit 5; exit $?' "$T"
    [ "$status" -ne 90 ] || skip "the root cannot be made read-only here"
    assert_eq "$status" 5
    assert_eq "$(tr -d '\n' <<<"$output")" ""
}

@test "kubernetes/kubernetes#31839, #122219, kata-containers/kata-containers#10758: a termination log that cannot be used" {
    local log
    touch "$T/readonly"
    chmod 0400 "$T/readonly"
    mkdir "$T/folder"
    chmod 0755 "$T"
    for log in "$T/missing/log" "$T/readonly" "$T/folder"; do
        run --separate-stderr setpriv --reuid 4242 --regid 4242 --clear-groups \
            /proc/self/fd/9 --termination-log "$log" --nproc-per-node 1 sh -c "exit 6" 9<"$RANKINIT"
        assert_eq "$status" 6
        assert_has "$stderr" "termination log $log"
        assert_schema <(tail -n 1 <<<"$stderr") # on stderr it is told all the same
    done
}
