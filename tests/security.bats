#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154 # the ranks expand it; run sets stderr
# What ranks may do, and what rankinit keeps for itself: read from /proc/PID/status.

load lib

setup() {
    [ "$(id -u)" = 0 ] || skip "only root can be several users"
}

# A place that every user may walk to, unlike $T.
walkway() {
    OPEN=$(mktemp -d /tmp/rankinit-open.XXXXXX)
    chmod 755 "$OPEN"
}
teardown() {
    stop_all
    [ -z "${OPEN-}" ] || rm -rf "$OPEN"
}

# What a container is given: root with Docker's set, with none, with two of them; user 1000 with
# nothing in effect, with one ambient capability, and as Kubernetes runs it.
docker_set=+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service
docker_set+=,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap
user=(--reuid 1000 --regid 1000 --clear-groups)
as_root() { setpriv --inh-caps=-all --bounding-set="-all,$docker_set" "$@"; }
as_root_bare() { setpriv --inh-caps=-all --bounding-set=-all "$@"; }
as_root_two() { setpriv --inh-caps=-all --bounding-set=-all,+chown,+kill "$@"; }
as_user() { setpriv --inh-caps=-all --bounding-set="-all,$docker_set" "${user[@]}" "$@"; }
as_user_ambient() {
    setpriv --bounding-set="-all,$docker_set" --inh-caps=-all,+chown --ambient-caps=-all,+chown "${user[@]}" "$@"
}
as_kubernetes() { setpriv --inh-caps=-all --bounding-set=-all "${user[@]}" --no-new-privs "$@"; }

# rank_status START ARG...: rankinit ARG... as PID 1, started as START; sets $got to the ids, the five
# sets (the effective one must be the permitted one), no_new_privs and seccomp of its program.
rank_status() {
    local start=$1 text
    shift
    run --separate-stderr "${PID1[@]}" bash -c "docker_set=$docker_set; user=(${user[*]})
        $(declare -f "$start"); $start"' /proc/self/fd/9 "$@"' bash "$@" cat /proc/self/status 9<"$RANKINIT"
    got="exit $status"
    [ "$status" = 0 ] || return 0
    text=$output
    field() { sed -n "s/^$1:[[:space:]]*//p" <<<"$text"; }
    hex() { printf '%x' "$((16#$(field "$1")))"; }
    [ "$(field CapPrm)" = "$(field CapEff)" ] || echo "permitted and effective differ" >&2
    read -r uid _ <<<"$(field Uid)"
    read -r gid _ <<<"$(field Gid)"
    got="$uid $gid $(hex CapInh) $(hex CapPrm) $(hex CapBnd) $(hex CapAmb) $(field NoNewPrivs) $(field Seccomp)"
}

@test "ids, capabilities, no_new_privs and filter of a rank, in 36 combinations" {
    local start arguments want
    while IFS='|' read -r start arguments want; do
        # shellcheck disable=SC2086 # words
        rank_status $start $arguments
        assert_eq "$start $arguments: $got" "$start $arguments: ${want# }"
    done <<'ROWS'
as_root|| 0 0 0 a80425fb a80425fb 0 0 0
as_root|--cap-drop ALL| 0 0 0 0 0 0 0 0
as_root|--cap-drop NET_RAW,cap_mknod| 0 0 0 a00405fb a00405fb 0 0 0
as_root|--cap-drop ALL --cap-keep KILL| 0 0 0 20 20 0 0 0
as_root|--cap-drop ALL --cap-keep ALL| 0 0 0 a80425fb a80425fb 0 0 0
as_root|--no-new-privs| 0 0 0 a80425fb a80425fb 0 1 0
as_root|--seccomp default| 0 0 0 a80425fb a80425fb 0 1 2
as_root|--cap-drop ALL --seccomp default| 0 0 0 0 0 0 1 2
as_root|--user 1000:1000| 1000 1000 0 0 a80425fb 0 0 0
as_root|--user 1000:1000 --cap-keep chown| 1000 1000 1 1 a80425fb 1 0 0
as_root|--user 1000:1000 --cap-drop ALL| 1000 1000 0 0 0 0 0 0
as_root|--user 1000:1000 --cap-drop ALL --cap-keep CHOWN| 1000 1000 1 1 1 1 0 0
as_root|--user 1000:1000 --cap-drop ALL --cap-keep CHOWN --no-new-privs| 1000 1000 1 1 1 1 1 0
as_root|--user 1000:1000 --cap-drop ALL --cap-keep CHOWN --seccomp default| 1000 1000 1 1 1 1 1 2
as_root|--user 1000:1000 --no-new-privs| 1000 1000 0 0 a80425fb 0 1 0
as_root|--user 1000:1000 --seccomp default| 1000 1000 0 0 a80425fb 0 1 2
as_root|--user 1000:1000 --cap-keep sys_admin| 1000 1000 0 0 a80425fb 0 0 0
as_root|--user 0:0 --cap-drop ALL| 0 0 0 0 0 0 0 0
as_root|--user 0:5| 0 5 0 a80425fb a80425fb 0 0 0
as_root|--user 4294967294:7| 4294967294 7 0 0 a80425fb 0 0 0
as_root_bare|| 0 0 0 0 0 0 0 0
as_root_bare|--cap-drop ALL --no-new-privs --seccomp default| 0 0 0 0 0 0 1 2
as_root_two|--cap-drop ALL --no-new-privs| 0 0 0 0 21 0 1 0
as_root_two|--cap-drop ALL| exit 78
as_root_two|--user 1000:1000| exit 78
as_user|| 1000 1000 0 0 a80425fb 0 0 0
as_user|--cap-drop ALL| 1000 1000 0 0 a80425fb 0 0 0
as_user|--cap-drop ALL --no-new-privs| 1000 1000 0 0 a80425fb 0 1 0
as_user|--seccomp default| 1000 1000 0 0 a80425fb 0 1 2
as_user|--user 1000:1000| 1000 1000 0 0 a80425fb 0 0 0
as_user|--user 1001:1001| exit 78
as_user_ambient|| 1000 1000 1 1 a80425fb 1 0 0
as_user_ambient|--cap-drop chown| 1000 1000 0 0 a80425fb 0 0 0
as_user_ambient|--cap-drop ALL --cap-keep chown| 1000 1000 1 1 a80425fb 1 0 0
as_kubernetes|| 1000 1000 0 0 0 0 1 0
as_kubernetes|--user 1000:1000 --cap-drop ALL --no-new-privs --seccomp default| 1000 1000 0 0 0 0 1 2
ROWS
}

@test "what cannot be had is said, and nothing is raised" {
    rank_status as_root --user 1000:1000 --cap-keep sys_admin
    assert_has "$stderr" "--cap-keep: not all of them are held here"
    rank_status as_user --cap-drop ALL
    assert_has "$stderr" "a setuid program could get them back"
    rank_status as_root_two --user 1000:1000
    assert_has "$stderr" "may not become user 1000"
    run "$RANKINIT" --cap-drop NET_ROW true
    assert_eq "$status" 78
    assert_has "$output" '"NET_ROW" is no capability'
    run "$RANKINIT" --user no-such-user true
    assert_eq "$status" 78
    assert_has "$output" 'no user "no-such-user"'
}

# bats test_tags=memcheck
@test "a user by name: its groups, HOME, USER and LOGNAME; another /etc below --sysroot" {
    mkdir -p "$T/root/etc"
    echo 'ada:x:7001:7002:Ada:/home/ada:/bin/sh' >"$T/root/etc/passwd"
    printf 'video:x:7044:ada\nother:x:7045:bob\nada:x:7002:\n' >"$T/root/etc/group"
    run --separate-stderr "$RANKINIT" --sysroot "$T/root" --user ada sh -c 'id -u; id -G; echo "$HOME $USER $LOGNAME"'
    assert_eq "$output" $'7001\n7002 7044\n/home/ada ada ada'
    run --separate-stderr "$RANKINIT" --sysroot "$T/root" --user ada:video sh -c 'id -G'
    assert_eq "$output" 7044
    run --separate-stderr env USER=root "$RANKINIT" --user 7001:7002 sh -c 'echo "$HOME ${USER-none}"'
    assert_eq "$output" "/ none"
}

@test "ranks of another user: error and ready files and /dev/stderr are theirs, the folders above are not" {
    run --separate-stderr "$RANKINIT" --user 7001:7002 --nproc-per-node 2 sh -c '
        echo "{}" >"$TORCHELASTIC_ERROR_FILE" && echo written
        echo >"$RANKINIT_THIS_READY_FILE" || echo not ready
        touch "${TORCHELASTIC_ERROR_FILE%/*/*}/x" || echo kept
        echo seen >/dev/stderr'
    assert_eq "$status" 0
    assert_eq "$(sort <<<"$output")" $'kept\nkept\nwritten\nwritten'
    assert_eq "$(grep -c '^seen' <<<"$stderr")" 2
}

# own_sets WANT: until rankinit, started by start, holds just that.
own_sets() { wait_until 'grep -qx "CapPrm:.$1" "/proc/$0/status" && grep -qx "CapEff:.$1" "/proc/$0/status"' "$RUN_PID" "$1"; }

# bats test_tags=memcheck
@test "once ranks run, rankinit has nothing that they lack, but KILL; and can stop them" {
    start --user 7001:7002 --nproc-per-node 2 sh -c 'echo up; exec tail -f /dev/null'
    wait_lines "$T/out" 2
    own_sets 0000000000000020
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    # In init mode too: without what the program holds we could not see where it hangs in the kernel.
    start "$PAYLOAD" hold "$T/up"
    wait_for "$T/up"
    own_sets "$(sed -n 's/^CapPrm:\t//p' /proc/self/status)"
    kill -TERM "$RUN_PID"
    finish
    start --cap-drop ALL --cap-keep chown,kill --nproc-per-node 1 "$PAYLOAD" hold "$T/up2"
    wait_for "$T/up2"
    own_sets 0000000000000021
    kill -TERM "$RUN_PID"
    finish
}

@test "the summary still comes into a folder of another user" {
    walkway
    chown 7001:7002 "$OPEN"
    run "$RANKINIT" --user 7001:7002 --nproc-per-node 1 --summary "$OPEN/s.json" false
    assert_eq "$status" 1
    assert_json "$OPEN/s.json" .exit_code 1
    TMPDIR=$OPEN run "$RANKINIT" --user 7001:7002 --nproc-per-node 1 true
    assert_eq "$(ls "$OPEN")" s.json
}

@test "limits, umask, nice value and oom_score_adj of the ranks" {
    cat >"$T/spec.yaml" <<'YAML'
apiVersion: rankinit/v1
security: {rlimits: ["core=0", "nofile=100:200"], umask: 027, nice: 3, oom_score_adj: 250}
YAML
    run --separate-stderr "$RANKINIT" --spec "$T/spec.yaml" --rlimit stack=1Mi:2Mi --rlimit fsize=unlimited sh -c '
        umask; nice; cat /proc/self/oom_score_adj; ulimit -Ss; ulimit -Hs; ulimit -f'
    assert_eq "$output" $'0027\n3\n250\n1024\n2048\nunlimited'
    assert_eq "$stderr" ""
    run "$RANKINIT" --spec "$T/spec.yaml" sh -c 'ulimit -c; ulimit -Sn; ulimit -Hn'
    assert_eq "$output" $'0\n100\n200'
}

@test "what may not be raised is told, and the rank runs" {
    run "${PID1[@]}" bash -c 'ulimit -n 64; exec setpriv --reuid 7001 --regid 7002 --clear-groups "$@"' bash \
        /proc/self/fd/9 --nproc-per-node 1 --report never --rlimit nofile=128 sh -c 'ulimit -n' 9<"$RANKINIT"
    assert_eq "$status" 0
    assert_has "$output" "rank 0: setting a resource limit refused (Operation not permitted): it runs without"
    assert_has "$output" $'\n64'
    echo '{"apiVersion": "rankinit/v1", "security": {"oom_score_adj": -900, "nice": -5}}' >"$T/spec.yaml"
    run setpriv --reuid 7001 --regid 7002 --clear-groups \
        /proc/self/fd/9 --report never --spec /proc/self/fd/8 sh -c nice 9<"$RANKINIT" 8<"$T/spec.yaml"
    assert_eq "$status" 0
    assert_has "$output" "setting its oom_score_adj refused"
    assert_has "$output" "setting its nice value refused"
}

@test "a start that fails is told by its stage" {
    # In such a namespace there is only one user.
    run unshare --user --map-root-user "${PID1[@]}" "$RANKINIT" --nproc-per-node 1 --user 7001:7002 --summary "$T/s.json" true
    assert_eq "$status" 71
    assert_has "$(json_get "$T/s.json" .message)" "could not be started: user: "
}

@test "the default filter: denied calls are EPERM, clone3 is missing, other ABIs are closed" {
    run --separate-stderr "$RANKINIT" --seccomp default "$PAYLOAD" calls-denied
    assert_eq "$status" 0
    [ "$(wc -l <<<"$output")" -gt 40 ]
    # An ABI that the kernel does not have at all kills.
    assert_eq "$(grep -v ': EPERM$' <<<"$output" | grep -v '^i386: killed')" "clone3: ENOSYS"
    # Without it none is EPERM for root: the filter was the reason.
    [ "$("$PAYLOAD" calls-denied | grep -c ': EPERM$')" -lt 5 ]
}

@test "the default filter: what training needs works as it does without" {
    "$PAYLOAD" calls-needed >"$T/without"
    "$RANKINIT" --seccomp default "$PAYLOAD" calls-needed >"$T/with"
    diff -u "$T/without" "$T/with"
    [ "$(grep -c ': ok$' "$T/with")" -ge 12 ]
}

@test "allow and deny adjust the filter; names are checked" {
    echo '{"apiVersion": "rankinit/v1", "security": {"seccomp": "default", "allow": ["mount"], "deny": ["memfd_create"]}}' >"$T/spec.yaml"
    run "$RANKINIT" --spec "$T/spec.yaml" "$PAYLOAD" calls-denied
    assert_has "$output" "mount: EFAULT"
    assert_has "$output" "umount2: EPERM"
    run "$RANKINIT" --spec "$T/spec.yaml" "$PAYLOAD" calls-needed
    assert_has "$output" "memfd_create: EPERM"
    sed -i s/memfd_create/memfd_creat/ "$T/spec.yaml"
    run "$RANKINIT" --spec "$T/spec.yaml" true
    assert_eq "$status" 78
    assert_has "$output" '"memfd_creat" is no system call'
}

@test "--plan shows it, and starts nothing" {
    run --separate-stderr "$RANKINIT" --plan=json --user 7001:7002 --cap-drop ALL --cap-keep kill --seccomp default true
    printf '%s\n' "$output" >"$T/plan.json"
    assert_schema "$T/plan.json"
    assert_json "$T/plan.json" '.security | [.uid, .gid, .ambient, .no_new_privs, .seccomp] | map(tostring) | join(" ")' \
        "7001 7002 0000000000000020 true true"
    run --separate-stderr "$RANKINIT" --plan --user 7001:7002 --seccomp default true
    assert_has "$output" "security    user 7001, group 7002, capabilities 0000000000000000, no new"
}
