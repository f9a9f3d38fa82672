#!/usr/bin/env bats
# shellcheck disable=SC2154 # run sets stderr
# Ranks' output through us: nothing lost, no line torn, and nobody waits for a slow reader but ranks.

load lib

# whole FILE PREFIX COUNT RANKS: every line is one that a rank wrote, each rank's COUNT in order.
whole() {
    local rank
    assert_eq "$(grep -vcE "^$2L[0-9]-[0-9]+-0123456789012345678901234567890123456789-end\$" "$1")" 0
    for rank in $(seq 0 $(($4 - 1))); do
        assert_eq "$(sed -nE "s/^$2L$rank-([0-9]+)-.*/\1/p" "$1" | sort -nc - 2>&1 | wc -l)" 0
        assert_eq "$(grep -cE "^$2L$rank-" "$1")" "$3"
    done
}

LINES_OF='seq -f "L$RANK-%.0f-0123456789012345678901234567890123456789-end" '

@test "four ranks, 20,000 lines each: whole, in order, none lost" {
    "$RANKINIT" --nproc-per-node 4 sh -c "$LINES_OF 20000" >"$T/out" 2>/dev/null
    whole "$T/out" "" 20000 4
}

@test "a reader that pauses tears no line" {
    cat >"$T/slow.py" <<'EOF'
import os, select
while True:
    select.select([], [], [], 0.25)  # what a slow log driver does
    chunk = os.read(0, 65536)
    if not chunk:
        break
    os.write(1, chunk)
EOF
    "$RANKINIT" --nproc-per-node 4 --log-prefix 'R ' sh -c "$LINES_OF 3000" 2>/dev/null |
        /usr/bin/python3 "$T/slow.py" >"$T/out"
    whole "$T/out" "R " 3000 4
}

@test "one rank: bytes out are bytes in, binary and without a last newline" {
    head -c 300000 /dev/urandom >"$T/in"
    "$RANKINIT" --nproc-per-node 1 -q cat "$T/in" >"$T/out" 2>"$T/err"
    cmp "$T/in" "$T/out"
}

@test "a stalled reader: TERM still ends the run within its grace, with the verdict" {
    mkfifo "$T/pipe"
    exec 8<>"$T/pipe"
    "$RANKINIT" --nproc-per-node 2 --grace 500ms --summary "$T/s.json" \
        sh -c 'echo up >>"$0/up"; exec "$PAYLOAD" write 1 1000000 100' "$T" >"$T/pipe" 2>/dev/null 3>&- 8>&- &
    RUN_PID=$!
    STARTED+=("$RUN_PID")
    wait_lines "$T/up" 2
    kill -TERM "$RUN_PID"
    finish
    exec 8>&-
    assert_eq "$status" 143
    assert_schema "$T/s.json"
}

@test "a reader that has gone: ranks get SIGPIPE, as they would without us" {
    # shellcheck disable=SC2034 # PIPESTATUS
    "$RANKINIT" --nproc-per-node 1 "$PAYLOAD" write 1 1000000 100 2>"$T/err" | head -c 1000 >/dev/null &&
        assert_eq "${PIPESTATUS[0]}" 141
}

@test "a daemon that keeps a rank's stdout does not hold up our end" {
    run timeout 20 "$RANKINIT" --nproc-per-node 1 sh -c '"$PAYLOAD" daemon hold; echo said'
    assert_eq "$status" 0
    assert_has "$output" said
}

# bats test_tags=memcheck
@test "the unfinished line of a prompt is seen, and closed before another's line" {
    mkfifo "$T/go"
    start --nproc-per-node 2 sh -c 'if [ $RANK = 0 ]; then printf "name? "; cat "$0/go" >/dev/null; else
        while ! grep -q name "$0/out"; do :; done; echo whole; fi' "$T"
    wait_line "$T/out" whole
    echo >"$T/go"
    finish
    assert_eq "$(cat "$T/out")" $'name? \nwhole'
}

@test "prefix template" {
    "$RANKINIT" --nproc-per-node 2 --node-rank 1 --nnodes 2 --master-addr m --wait-master 0 --role r \
        --log-prefix '<${role_name} ${rank} ${local_rank} ${node_rank} ${x}> ' echo hi >"$T/out" 2>/dev/null
    assert_eq "$(sort "$T/out")" $'<r 2 0 1 ${x}> hi\n<r 3 1 1 ${x}> hi'
}

@test "four ranks of 1,000,000 lines each, any bytes and lengths: whole, in order, none lost" {
    "$RANKINIT" --nproc-per-node 4 sh -c 'exec "$PAYLOAD" lines 1 "$RANK" 1000000' 2>"$T/err" |
        "$PAYLOAD" check-lines 0,1,2,3 1000000 0
}

@test "32 writers of 1,000 lines each to both streams, behind a prefix: whole, in order, none lost" {
    "$RANKINIT" --nproc-per-node 32 --report never --log-prefix 'prefix: ' \
        sh -c '"$PAYLOAD" lines 1 "$RANK" 1000; exec "$PAYLOAD" lines 2 "$RANK" 1000' >"$T/out" 2>"$T/err"
    "$PAYLOAD" check-lines "$(seq -s , 0 31)" 1000 8 <"$T/out"
    "$PAYLOAD" check-lines "$(seq -s , 0 31)" 1000 8 <"$T/err"
}

@test "a daemon that goes on writing does not hold up our end either" {
    run -0 timeout 20 bash -c '"$RANKINIT" --nproc-per-node 1 sh -c "yes & echo said" 2>/dev/null | { head -n 1; cat >/dev/null; }'
    [[ $output = y || $output = said ]] # whoever was first
}

@test "a reader that is slow, but reads, gets all, also what is left at the end" {
    cat >"$T/slow.py" <<'PY'
import os, select
while chunk := os.read(0, 50000):
    select.select([], [], [], 0.2)
    os.write(1, chunk)
PY
    "$RANKINIT" --nproc-per-node 1 "$PAYLOAD" lines 1 0 15000 2>/dev/null | /usr/bin/python3 "$T/slow.py" >"$T/out"
    "$PAYLOAD" check-lines 0 15000 0 <"$T/out"
}
