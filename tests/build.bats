#!/usr/bin/env bats
# What the build promises about the binary and about installing it.
# bats file_tags=alone

load lib

# Whatever variant is tested, this is about the one that ships.
setup_file() {
    make -s -C "$ROOT" VARIANT=release all >&2
}

# A copy of what the build reads, as a second checkout would be.
second_tree() {
    mkdir -p "$T/else/where"
    (cd "$ROOT" && tar cf - --exclude=build Makefile .version cmd lib tests) | tar xf - -C "$T/else/where"
    make -s -C "$T/else/where" "$@" >&2
}

@test "the release binary has no interpreter and needs no library" {
    binary=$ROOT/build/release/rankinit
    run readelf -lW "$binary"
    assert_lacks "$output" INTERP
    run readelf -dW "$binary"
    assert_lacks "$output" NEEDED
}

@test "its stack is not executable and its relocations are read-only" {
    run readelf -lW "$ROOT/build/release/rankinit"
    [[ $output =~ GNU_STACK[^R]*RW\  ]]
    assert_has "$output" GNU_RELRO
}

@test "it is position-independent, bound at once, with guarded stacks and checked copies" {
    run readelf -hW "$ROOT/build/release/rankinit"
    [[ $output =~ Type:\ +DYN ]]
    run readelf -dW "$ROOT/build/release/rankinit"
    assert_has "$output" BIND_NOW
    assert_has "$output" PIE
    assert_lacks "$output" TEXTREL
    # No segment can be written and executed.
    run readelf -lW "$ROOT/build/release/rankinit"
    [ "$(grep -cE ' (RWE|WE) ' <<<"$output")" -eq 0 ]
    # Our own objects call the guards: the linked program has them for glibc's sake anyway.
    run nm -u "$ROOT"/build/release/lib/*/*.o
    [ "$(grep -c __stack_chk_fail <<<"$output")" -gt 20 ]
    [ "$(grep -cE '__(mem|st|vsn|sn)[a-z]*_chk' <<<"$output")" -gt 10 ]
}

@test "it is stripped and no larger than 1.5 MB" {
    run readelf -SW "$ROOT/build/release/rankinit"
    assert_lacks "$output" .symtab
    [ "$(stat -c %s "$ROOT/build/release/rankinit")" -le 1500000 ]
}

@test "a second build in another folder has the same bytes" {
    second_tree
    cmp "$ROOT/build/release/rankinit" "$T/else/where/build/release/rankinit"
}

@test "it does not contain the folder that it was built in" {
    run grep -c "$ROOT/" "$ROOT/build/release/rankinit.full"
    assert_eq "$output" 0
}

@test "--version is what .version says" {
    run "$RANKINIT" --version
    [ "$status" -eq 0 ]
    assert_has "$output" "$(cat "$ROOT/.version")"
}

@test "install puts two files under DESTDIR and PREFIX, uninstall removes both" {
    make -s -C "$ROOT" install DESTDIR="$T/root" PREFIX=/opt/x
    run find "$T/root" -type f -printf '%m /%P\n'
    assert_eq "$(sort <<<"$output")" "644 /opt/x/share/man/man1/rankinit.1
755 /opt/x/bin/rankinit"
    make -s -C "$ROOT" uninstall DESTDIR="$T/root" PREFIX=/opt/x
    run find "$T/root" ! -type d
    assert_eq "$output" ""
}

@test "an unknown variant is refused by name" {
    run make -C "$ROOT" VARIANT=fast
    [ "$status" -ne 0 ]
    assert_has "$output" "VARIANT=fast is unknown"
}

@test "make deps is silent and quick when nothing is missing" {
    begin=$(elapsed_ms)
    run make -s -C "$ROOT" deps
    [ "$status" -eq 0 ]
    assert_eq "$output" ""
    [ $(($(elapsed_ms) - begin)) -lt 2000 ]
}

@test "check-layers complains of a call upwards, of the kernel and of state" {
    second_tree all
    cd "$T/else/where"
    cat >>lib/base/err.c <<'EOF'
#include "model/plan.h"
#include <unistd.h>
int bad_state = 1;
pid_t bad_call(void);
pid_t bad_call(void)
{
    return getpid();
}
EOF
    run make -s check-layers WERROR=
    [ "$status" -ne 0 ]
    assert_has "$output" "lib/base/err.c: layer base must not include model/plan.h"
    assert_has "$output" "lib/base/err.c: layer base must not use getpid"
    assert_has "$output" "lib/base/err.c: mutable state: bad_state"
}
