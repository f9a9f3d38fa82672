#!/usr/bin/env bats
# --explain: what saved documents and lists of pods say of the whole job.

load lib

GOLDEN=$ROOT/tests/golden/explain

explain() { "$RANKINIT" --explain "$@"; }

# assert_page TEXT: what holds for every page.
assert_page() {
    [ "$(awk '{ if (length > most) most = length } END { print most + 0 }' <<<"$1")" -le 80 ]
    ! LC_ALL=C grep -q '[^ -~]' <<<"$1"
}

# bats test_tags=smoke
@test "lists of pods: the job's cause, its nodes, what is missing" {
    local file
    for file in "$GOLDEN"/*.json; do
        explain "$file" >"$T/page"
        [ -z "${UPDATE_GOLDEN:-}" ] || cp "$T/page" "${file%.json}.txt"
        diff -u "${file%.json}.txt" "$T/page"
        assert_page "$(cat "$T/page")"
    done
}

# bats test_tags=smoke
@test "the order of pods, of documents and of files does not matter" {
    local file parts
    for file in "$GOLDEN"/*.json; do
        jq '.items |= reverse' "$file" | explain - >"$T/page"
        diff -u "${file%.json}.txt" "$T/page"
        jq -c '.items[]' "$file" >"$T/one"
        explain "$T/one" >"$T/page"
        diff -u "${file%.json}.txt" "$T/page"
        split -l 1 "$T/one" "$T/part."
        mapfile -t parts < <(printf '%s\n' "$T"/part.* | sort -r)
        explain "${parts[@]}" >"$T/page"
        diff -u "${file%.json}.txt" "$T/page"
        rm "$T"/part.*
    done
}

# bats test_tags=smoke,memcheck
@test "documents alone: files, concatenated, at the end of logs, printed in many lines" {
    jq -j '.items[0].status.containerStatuses[0].state.terminated.message' "$GOLDEN/raised.json" >"$T/0.json"
    jq -j '.items[1].status.containerStatuses[0].state.terminated.message' "$GOLDEN/raised.json" >"$T/1.json"
    explain "$T/0.json" "$T/1.json" >"$T/want"
    grep -q 'rank 9 (local rank 1 on node 1) failed first' "$T/want"
    grep -q 'node    0 |.*x.*| lost a peer' "$T/want"
    explain "$T/1.json" "$T/0.json" | diff -u "$T/want" -
    cat "$T/1.json" "$T/0.json" | explain - | diff -u "$T/want" -
    { echo '{"step": 3'; cat "$T/0.json"; echo; echo '[rank 1] {"loss": 1}'; cat "$T/1.json"; echo; } |
        explain - | diff -u "$T/want" -
    { jq . "$T/0.json"; jq . "$T/1.json"; } | explain - | diff -u "$T/want" -
    jq -s . "$T/0.json" "$T/1.json" | explain - | diff -u "$T/want" -
    # What is not ours is named; the rest counts.
    echo hello >"$T/hello"
    run explain "$T/0.json" "$T/hello" "$T/1.json"
    assert_eq "$status" 0
    assert_has "$(tr -s ' \n' ' ' <<<"$output")" "failed first: ValueError: bad batch 17"
    assert_has "$output" "holds no summary document"
}

# bats test_tags=smoke
@test "a document that was cut anywhere still tells what is left of it" {
    local size
    jq -j '.items[1].status.containerStatuses[0].state.terminated.message' "$GOLDEN/raised.json" >"$T/whole"
    for size in $(seq 1 13 "$(stat -c %s "$T/whole")"); do
        head -c "$size" "$T/whole" >"$T/cut"
        run explain "$T/cut"
        [ "$status" = 0 ] || [ "$size" -lt 40 ]
        [ "$size" -lt 700 ] || assert_has "$output" 'ValueError: bad batch 17'
        [ "$status" != 0 ] || assert_page "$output"
    done
    # The list itself.
    size=$(stat -c %s "$GOLDEN/raised.json")
    run explain <(head -c $((size - 40)) "$GOLDEN/raised.json")
    assert_has "$output" 'rank 9 (local rank 1 on node 1) failed first'
}

# bats test_tags=smoke
@test "what cannot be explained is refused in one line" {
    run explain
    assert_eq "$status" 64
    run explain "$T/nothing"
    assert_eq "$status" 78
    assert_eq "${#lines[@]}" 1
    assert_has "$output" 'cannot open'
    run explain /dev/null
    assert_eq "$status" 78
    assert_has "$output" '/dev/null: no summary document of rankinit, and no pod'
    run explain "$T"
    assert_eq "$status" 78
    jq '.items = []' "$GOLDEN/raised.json" >"$T/empty"
    run explain "$T/empty"
    assert_eq "$status" 78
    run bash -c '"$RANKINIT" --explain "$0" >/dev/full' "$GOLDEN/raised.json"
    assert_eq "$status" 71
    # Nothing is started, whatever follows.
    run explain "$GOLDEN/raised.json" "$GOLDEN/raised.json" "$T/touch"
    assert_eq "$status" 78
    [ ! -e "$T/touch" ]
}

@test "16 MB of brackets, markers, strings and zeros end soon" {
    /usr/bin/python3 - "$T" <<'END'
import pathlib, sys
folder, mark = pathlib.Path(sys.argv[1]), '{"schema":"rankinit.summary.v1"'
for name, piece in {"brackets": "[", "objects": '{"a":', "markers": mark, "strings": mark + ',"', "quotes": mark + "\n\"",
                    "members": mark + "},", "nul": "\0", "pods": '{"kind":"Pod","status":{}}\n'}.items():
    (folder / name).write_text(piece * (16_000_000 // len(piece)))
(folder / "items").write_text('{"items":[' + '{"kind":"Pod"},' * 1_000_000)
END
    local name
    for name in brackets objects markers strings quotes members nul pods items; do
        # Each a second or less where nothing else runs; the limit is for a machine that does much else.
        run timeout 60 "$RANKINIT" --explain "$T/$name"
        echo "$name: $status ${output:0:300}"
        [ "$status" = 0 ] || [ "$status" = 78 ]
        [ "$status" != 0 ] || assert_page "$output"
        rm "$T/$name"
    done
    head -c 70000000 /dev/zero >"$T/large"
    run explain "$T/large"
    assert_eq "$status" 78
    assert_has "$output" 'is larger than'
}

# two_nodes HOW: real PyTorch on two nodes of two ranks each, in a network of their own; their documents.
two_nodes() {
    # shellcheck disable=SC2016 # the inner shell expands it
    PYTHON_EXEC=$PYTHON GLOO_SOCKET_IFNAME=lo timeout 170 unshare --net bash -c '
        ip link set lo up
        for node in 0 1; do
            "$RANKINIT" --nnodes 2 --node-rank $node --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29533 \
                --termination-log "$T/log.$node" --summary "$T/summary.$node" "$ROOT/tests/e2e/steps.py" "$0" \
                >"$T/out.$node" 2>&1 &
        done
        wait' "$1" 3>&-
}

@test "real PyTorch on two nodes: the job's cause is the same whichever order the documents come in" {
    local how
    for how in raise kill; do
        install -m 666 /dev/null "$T/log.0"
        install -m 666 /dev/null "$T/log.1"
        two_nodes $how
        explain "$T/summary.0" "$T/summary.1" >"$T/want"
        cat "$T/want"
        explain "$T/summary.1" "$T/summary.0" | diff -u "$T/want" -
        # The termination logs, of which less is left, tell the same.
        explain "$T/log.1" "$T/log.0" | head -n 2 | diff -u <(head -n 2 "$T/want") -
        page=$(tr -s ' \n' ' ' <"$T/want")
        case $how in
            raise) assert_has "$page" 'rank 1 (local rank 1 on node 0) failed first: ValueError: no digit in step 5' ;;
            kill) assert_has "$page" 'rank 1 (local rank 1 on node 0) failed first: killed by SIGKILL' ;;
        esac
        assert_schema "$T/summary.0" "$T/summary.1" "$T/log.0" "$T/log.1"
        assert_page "$(cat "$T/want")"
    done
}
