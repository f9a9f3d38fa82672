#!/usr/bin/env bats
# Privileges given and taken in real containers: rankinit as PID 1 of them.
# bats file_tags=alone
# shellcheck disable=SC2016 # the ranks expand it

load lib
load container

setup_file() { engine_up; }
teardown_file() { engine_down; }
teardown() { box_remove; }

hard=(--cap-drop ALL --security-opt no-new-privileges --read-only)
show='grep -E "^(Uid|Cap|NoNew|Seccomp:)" /proc/self/status | tr "\n\t" ": "'

# assert_status UID INH PRM EFF BND AMB NNP SECCOMP: what each of two ranks said in $T/out.
assert_status() {
    local want="Uid: $1 $1 $1 $1:"
    want+=$(printf 'CapInh: %016x:CapPrm: %016x:CapEff: %016x:CapBnd: %016x:CapAmb: %016x:' \
        "0x$2" "0x$3" "0x$4" "0x$5" "0x$6")
    assert_eq "$(sort -u "$T/out")" "${want}NoNewPrivs: $7:Seccomp: $8:"
}

# box_status WANT...: ends the box, whose ranks ran $show; exit 0 and a verdict.
box_status() {
    box_end
    assert_eq "$status" 0
    assert_status "$@"
    assert_json "$T/log" .verdict succeeded
}

@test "as Kubernetes' restricted profile has it, and the same asked for again" {
    box "${hard[@]}" --user 1000:1000 -- --nproc-per-node 2 sh -c "$show; echo"
    box_status 1000 0 0 0 0 0 1 2
    box "${hard[@]}" --user 1000:1000 -- --user 1000:1000 --cap-drop ALL --no-new-privs --seccomp default \
        --nproc-per-node 2 sh -c "$show; echo"
    box_status 1000 0 0 0 0 0 1 2
    assert_lacks "$(cat "$T/err")" "refused"
}

@test "root in a container: another user, nothing left" {
    box --security-opt seccomp=unconfined -- --user 1000:1000 --cap-drop ALL --nproc-per-node 2 sh -c "$show; echo"
    box_status 1000 0 0 0 0 0 0 0
    box -- --user 1000:1000 --cap-drop ALL --cap-keep chown --seccomp default --nproc-per-node 2 sh -c "$show; echo"
    box_status 1000 1 1 1 1 1 1 2
}

@test "root without capabilities cannot become another user, and says so; dropping them again is fine" {
    box "${hard[@]}" -- --user 1000:1000 --nproc-per-node 2 true
    box_end
    assert_eq "$status" 78
    assert_has "$(cat "$T/err")" "user 0, group 0 may not become user 1000"
    box "${hard[@]}" -- --cap-drop ALL --nproc-per-node 2 sh -c "$show; echo"
    box_status 0 0 0 0 0 0 1 2
}

@test "three capabilities are enough to start ranks as another user, and to stop them" {
    box "${hard[@]}" --cap-add SETUID --cap-add SETGID --cap-add KILL -- --user 1000:1000 --nproc-per-node 2 \
        sh -c 'echo up; exec tail -f /dev/null'
    box_says up
    wait_until 'grep -qx "CapEff:.0000000000000020" "/proc/$0/status"' "$(box_pid)"
    docker stop -t 10 "$BOX"
    box_end
    assert_eq "$status" 143
    assert_json "$T/log" .verdict stopped
    assert_json "$T/log" '.ranks.stopped' 2
}

@test "under Docker's own filter ours changes nothing that works, and denies what it left" {
    box -- --nproc-per-node 1 /payload calls-needed
    box_end
    cp "$T/out" "$T/without"
    box -- --seccomp default --nproc-per-node 1 /payload calls-needed
    box_end
    diff -u "$T/without" "$T/out"
    box --cap-add SYS_ADMIN -- --seccomp default --nproc-per-node 1 /payload calls-denied
    box_end
    assert_eq "$(grep -v ': EPERM$' "$T/out" | grep -v '^i386: killed')" "clone3: ENOSYS"
}
