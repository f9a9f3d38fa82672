#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # the ranks expand it; run sets status and stderr
# Ranks' output in files, by torchrun's options: which stream goes where, whole, and what happens when
# a file cannot be written any more.

load lib

setup() {
    unset "${!PET_@}" "${!RANKINIT_@}" TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE
    ln -s "$RANKINIT" "$T/torchrun"
    export TMPDIR=$T/tmp
    mkdir "$TMPDIR"
    cd "$T" || exit 1
}

# log FILE: a file of the one run below $T/logs, as attempt_0/FILE.
log() { echo "$T"/logs/*/attempt_0/"$1"; }

# said FILE TEXT: the file has just this; without TEXT: there is no such file.
said() {
    if [ $# = 1 ]; then
        [ ! -e "$(log "$1")" ] || { echo "$1 is there: $(cat "$(log "$1")")" >&2 && return 1; }
    else
        assert_eq "$(cat "$(log "$1")")" "$2"
    fi
}

SAY='echo "out $RANK"; echo "err $RANK" >&2'

# bats test_tags=smoke,memcheck
@test "-r and -t, all ranks or rank by rank: each stream in its file, on the console, or both" {
    ./torchrun --nproc-per-node 2 --log-dir logs -r 3 --no-python sh -c "$SAY" >out 2>err
    assert_eq "$(cat out)" ""
    assert_lacks "$(cat err)" "err "
    said 0/stdout.log "out 0"
    said 1/stderr.log "err 1"
    rm -r logs
    ./torchrun --nproc-per-node 2 --log-dir logs --tee 3 --log-prefix never --no-python sh -c "$SAY" >out 2>err
    assert_eq "$(sort out)" $'out 0\nout 1'
    assert_eq "$(grep -c '^err [01]$' err)" 2
    said 1/stdout.log "out 1"
    said 0/stderr.log "err 0"
    rm -r logs
    "$RANKINIT" --nproc-per-node 3 --log-dir logs --redirects 0:1,1:3 --tee 0:2 --log-prefix never \
        sh -c "$SAY" >out 2>err
    assert_eq "$(cat out)" "out 2"
    assert_eq "$(grep '^err ' err | sort)" $'err 0\nerr 2'
    said 0/stdout.log "out 0"
    said 0/stderr.log "err 0"
    said 1/stdout.log "out 1"
    said 1/stderr.log "err 1"
    said 2/stdout.log
    said 2/stderr.log
}

# bats test_tags=smoke
@test "the tree is torchrun's: id, attempt, local rank, the error file beside the output" {
    PET_LOG_DIR=$T/logs/deep PET_TEE=1 PET_RDZV_ID=job/7 ./torchrun --nproc-per-node 2 --no-python \
        sh -c 'echo "$TORCHELASTIC_ERROR_FILE"' >out 2>err
    assert_eq "$(cd logs/deep && find . -mindepth 2 | sed 's/_7_....../_7_X/' | sort)" "./job_7_X/attempt_0
./job_7_X/attempt_0/0
./job_7_X/attempt_0/0/error.json
./job_7_X/attempt_0/0/stdout.log
./job_7_X/attempt_0/1
./job_7_X/attempt_0/1/error.json
./job_7_X/attempt_0/1/stdout.log"
    assert_eq "$(cat logs/deep/*/attempt_0/1/stdout.log)" "$(echo "$T"/logs/deep/*/attempt_0/1/error.json)"
}

# bats test_tags=smoke
@test "each attempt has files of its own" {
    run -3 "$RANKINIT" --nproc-per-node 1 --max-restarts 1 --log-dir logs --tee 1 \
        sh -c 'echo "try $TORCHELASTIC_RESTART_COUNT"; exit 3'
    assert_eq "$(cat logs/*/attempt_0/0/stdout.log)" "try 0"
    assert_eq "$(cat logs/*/attempt_1/0/stdout.log)" "try 1"
}

# bats test_tags=smoke
@test "the spec and the twins say it too; bytes in a file are bytes of the rank" {
    head -c 300000 /dev/urandom >in
    printf 'apiVersion: rankinit/v1\noutput: {log_dir: "%s/logs", tee: "0:1"}\n' "$T" >spec.yaml
    RANKINIT_REDIRECTS=1:1 "$RANKINIT" --spec spec.yaml --nproc-per-node 2 --log-prefix 'R ' cat in >out
    cmp in "$(log 0/stdout.log)"
    cmp in "$(log 1/stdout.log)"
    rm -r logs
    "$RANKINIT" --log-dir logs -t 1 cat in >out
    cmp in "$(log 0/stdout.log)"
    cmp in out
}

# bats test_tags=smoke
@test "without --log-dir: what is redirected is kept and its place told, a tee needs no file" {
    "$RANKINIT" --nproc-per-node 2 -r 1 sh -c "$SAY" >out 2>err
    assert_eq "$(cat out)" ""
    dir=$(sed -n "s/.*the ranks' output is kept in //p" err)
    assert_eq "$(cat "$dir"/attempt_0/1/stdout.log)" "out 1"
    rm -r "$dir"
    "$RANKINIT" --nproc-per-node 2 -t 3 sh -c "$SAY" >out 2>err
    assert_eq "$(sort out)" $'[rank 0] out 0\n[rank 1] out 1'
    assert_has "$(cat err)" "no files without --log-dir"
    "$RANKINIT" --nproc-per-node 2 sh -c "$SAY" >out 2>err
    assert_eq "$(ls -A "$TMPDIR")" ""
}

# bats test_tags=smoke
@test "--log-dir /dev/null: no file, no error file; what is redirected is dropped" {
    ./torchrun --nproc-per-node 2 --log-dir /dev/null -r 1 -t 2 --no-python \
        sh -c "$SAY"'; echo "<$TORCHELASTIC_ERROR_FILE>" >&2' >out 2>err
    assert_eq "$(cat out)" ""
    assert_has "$(cat err)" "err 1"
    assert_eq "$(grep -c '<>' err)" 2
    assert_eq "$(ls -A "$TMPDIR")" ""
}

# bats test_tags=smoke
@test "a log directory that is a file, a map that is none, output that must not pass: refused" {
    : >logs
    run -78 "$RANKINIT" --nproc-per-node 2 --log-dir logs -t 3 sh -c ': >ran'
    assert_has "$output" "--log-dir: cannot make a folder in $T/logs: Not a directory"
    run -64 "$RANKINIT" --nproc-per-node 2 -t 0:1, sh -c ': >ran'
    assert_has "$output" '-t: "0:1," is not 0 (none), 1 (stdout), 2 (stderr), 3 (both)'
    run -78 "$RANKINIT" --nproc-per-node 2 -r 3 --capture none sh -c ': >ran'
    assert_has "$output" "-r needs stdout to pass through, --capture says none"
    [ ! -e ran ]
}

# bats test_tags=smoke
@test "--local-ranks-filter: the others are not shown; their files are written" {
    "$RANKINIT" --nproc-per-node 3 --local-ranks-filter 1 --log-dir logs -t 0:1,1:1 sh -c "$SAY" >out 2>err
    assert_eq "$(cat out)" "[rank 1] out 1"
    assert_eq "$(grep -c 'err [02]' err)" 0
    assert_has "$(cat err)" "err 1"
    said 0/stdout.log "out 0"
    said 1/stdout.log "out 1"
    said 2/stdout.log
}

# bats test_tags=smoke
@test "lines that hold a text are in one file of all ranks too, with their prefix" {
    "$RANKINIT" --nproc-per-node 3 --log-dir logs -t 0:3,1:1 --duplicate-stdout-filters 'loss,lr,,' \
        --duplicate-stderr-filters warn --log-prefix '<$rank> ' \
        sh -c 'echo step; echo "loss $RANK"; printf "lr, $RANK"; echo warn >&2; echo fine >&2' >out 2>err
    assert_eq "$(sort "$(log filtered_stdout.log)")" $'<0> loss 0\n<0> lr, 0\n<1> loss 1\n<1> lr, 1'
    said filtered_stderr.log "<0> warn"
}

# bats test_tags=smoke
@test "torchrun's template of prefixes" {
    TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE='[rank${rank}]: ' ./torchrun --nproc-per-node 4 --log-dir logs -t 3 \
        --no-python sh -c 'echo hi' >out 2>err
    assert_eq "$(sort out)" $'[rank0]: hi\n[rank1]: hi\n[rank2]: hi\n[rank3]: hi'
    said 3/stdout.log hi
}

# bats test_tags=smoke
@test "a rank's code, its words in the file, nothing in the others' files, and no process is left" {
    run ./torchrun --nproc-per-node 2 --log-dir logs -r 3 --no-python \
        sh -c 'echo $$ >>pids; [ "$RANK" = 1 ] && exec "$PAYLOAD" hold; echo "going down" >&2; exit 138'
    assert_eq "$status" 138
    said 0/stderr.log "going down"
    said 1/stderr.log ""
    said 1/stdout.log ""
    while read -r pid; do [ ! -e "/proc/$pid" ]; done <pids
    run -127 ./torchrun --nproc-per-node 2 --log-dir logs2 -r 3 --no-python ./missing
    assert_has "$output" missing
}

# bats test_tags=smoke
@test "the verdict knows what a redirected rank has said, also a hidden one" {
    cat >boom.py <<'PY'
import os, time
if os.environ["RANK"] == "1":
    raise ValueError("bad batch")
time.sleep(60)
PY
    for how in "-r 3" "--log-dir /dev/null -r 3" "--local-ranks-filter 0"; do
        # shellcheck disable=SC2086
        run "$RANKINIT" --nproc-per-node 2 --log-dir logs $how --summary s.json /usr/bin/python3 boom.py
        assert_eq "$status" 1
        assert_json s.json .root_cause.error.message "bad batch"
        assert_has "$(jq -r .root_cause.stderr_tail s.json)" "ValueError: bad batch"
        assert_schema s.json
    done
}

# bats test_tags=smoke
@test "a file of limited size makes way once: the last lines are there, whole" {
    printf 'apiVersion: rankinit/v1\noutput: {max_bytes: 10k}\n' >spec.yaml
    "$RANKINIT" --spec spec.yaml --nproc-per-node 2 --log-dir logs -r 1 seq -f "line %.0f of the rank" 5000
    for rank in 0 1; do
        cat "$(log $rank/stdout.log.1)" "$(log $rank/stdout.log)" >both
        assert_eq "$(tail -n 1 both)" "line 5000 of the rank"
        seq -f "line %.0f of the rank" 5000 | tail -n "$(wc -l <both)" | cmp - both
        [ "$(stat -c %s "$(log $rank/stdout.log.1)")" -le 10000 ]
        [ "$(stat -c %s "$(log $rank/stdout.log)")" -le 10000 ]
        assert_eq "$(find "$T"/logs/*/attempt_0/$rank -name 'stdout*' | wc -l)" 2
    done
}

# full MODE: rank 0's 3,000 lines go, by MODE, to files on a file system that is too small.
full() {
    mkdir -p small
    run --separate-stderr unshare -m sh -c 'mount -t tmpfs -o size=64k none small || exit 99
        "$RANKINIT" --nproc-per-node 1 --log-dir small '"$1"' --log-prefix never "$PAYLOAD" lines 1 0 3000 >out || exit
        cat small/*/attempt_0/0/stdout.log >file'
    assert_eq "$status" 0
    assert_eq "$(grep -c 'stdout.log is not written any more (No space left on device); the console has the rest' \
        <<<"$stderr")" 1
}

@test "a full disk is a notice, and the console goes on: with -t it has all, with -r the rest" {
    full "-t 1"
    "$PAYLOAD" check-lines 0 3000 0 <out
    cmp -n "$(stat -c %s file)" file out
    full "-r 1"
    # The file ends anywhere; the piece that did not fit is shown whole.
    tail -n 1 out >last
    "$PAYLOAD" lines 1 0 3000 | tail -n 1 | cmp - last
    [ "$(($(stat -c %s out) + $(stat -c %s file)))" -ge "$("$PAYLOAD" lines 1 0 3000 | wc -c)" ]
}

@test "a log directory that vanishes is a notice, and the console goes on" {
    mkfifo go
    start --nproc-per-node 2 --log-dir "$T/logs" -r 1 \
        sh -c 'echo one; echo $RANK >>"$0/up"; [ "$RANK" = 1 ] || { read -r _ <"$0/go"; echo two; }' "$T"
    wait_lines up 2
    rm -r logs
    echo >go
    finish
    assert_eq "$status" 0
    assert_has "$(cat err)" "rank 0: stdout.log is not written any more (it was removed)"
}

@test "a rank that puts links where files are does not lead us astray" {
    printf 'apiVersion: rankinit/v1\noutput: {max_bytes: 100}\n' >spec.yaml
    echo precious >victim
    "$RANKINIT" --spec spec.yaml --nproc-per-node 1 --log-dir logs -r 1 sh -c '
        cd "$(dirname "$TORCHELASTIC_ERROR_FILE")" && ln -s "$0/victim" stdout.log.1 && mv stdout.log away &&
            ln -s "$0/victim" stdout.log && seq 100' "$T" >out 2>err
    assert_eq "$(cat victim)" precious
    [ ! -L "$(log 0/stdout.log)" ]
    assert_eq "$(tail -n 1 "$(log 0/stdout.log)")" 100
}

@test "a stalled console: TERM ends the run, and what ranks had written is in the files" {
    mkfifo pipe
    exec 8<>pipe
    "$RANKINIT" --nproc-per-node 1 --grace 500ms --log-dir logs -t 1 \
        sh -c 'trap "" TERM; "$PAYLOAD" lines 1 0 200000 & exec "$PAYLOAD" ignore "$0/up" TERM' "$T" >pipe 2>err 3>&- 8>&- &
    RUN_PID=$!
    STARTED+=("$RUN_PID")
    wait_for up
    kill -TERM "$RUN_PID"
    finish
    exec 8>&-
    assert_eq "$status" 143
    "$PAYLOAD" lines 1 0 200000 | head -c "$(stat -c %s "$(log 0/stdout.log)")" | cmp - "$(log 0/stdout.log)"
}

@test "a console that has gone: what goes to a file goes on" {
    "$RANKINIT" --nproc-per-node 1 --log-dir logs -t 1 "$PAYLOAD" lines 1 0 100000 2>err | head -c 1000 >/dev/null
    "$PAYLOAD" check-lines 0 100000 0 <"$(log 0/stdout.log)"
}

@test "32 writers of 1,000 lines each: all in the files and on the console, whole and in order" {
    "$RANKINIT" --nproc-per-node 32 --log-dir logs -t 3 --log-prefix '12345 ' \
        sh -c 'exec "$PAYLOAD" lines 1 "$RANK" 1000' >out 2>err
    "$PAYLOAD" check-lines "$(seq -s , 0 31)" 1000 6 <out
    for rank in $(seq 0 31); do
        "$PAYLOAD" check-lines "$rank" 1000 0 <"$(log "$rank/stdout.log")"
    done
}
