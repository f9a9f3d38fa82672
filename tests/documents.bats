#!/usr/bin/env bats
# Documents by the thousand, of outcomes made up at random, against the schema.

load lib

@test "whatever has happened and whatever the budget, the document keeps the schema" {
    RANKINIT_DOCUMENTS=$T/all "$ROOT/build/${VARIANT:-release}/unit/test_summary" any_outcome_fits_any_budget
    [ "$(wc -l <"$T/all")" -ge 2000 ]
    split -l 1 -a 4 "$T/all" "$T/one."
    "$PYTHON" "$ROOT/tests/validate" "$T"/one.*
}

@test "the spec's schema has the keys of the tables, and takes the same values" {
    RANKINIT_SPEC_KEYS=$T/keys "$ROOT/build/${VARIANT:-release}/unit/test_spec_schema"
    [ "$(wc -l <"$T/keys")" -ge 60 ]
    "$PYTHON" "$ROOT/tests/validate-spec" --keys "$T/keys"
}

# Documents that both accept, and such that both refuse for what the key tables do not say.
@test "the spec's schema and rankinit agree on whole documents" {
    local name
    mkdir "$T/good" "$T/bad"
    # The example of the manual.
    awk '/^apiVersion: /{on=1} /^\.Ed/{on=0} on' "$ROOT/cmd/rankinit/rankinit.1" |
        sed "s#/logs#$T#; s#/workspace#$T#; s#/dev/termination-log#$T/log#
            s#1000:1000#$(id -u):$(id -g)#" >"$T/good/manual"
    [ "$(wc -l <"$T/good/manual")" -ge 15 ]
    echo '{"apiVersion": "rankinit/v1"}' >"$T/good/least"
    echo '{"apiVersion": "rankinit/v1", "env": [{"name": "A", "value": ""}, {"name": "B", "value": 2}]}' >"$T/good/env"
    echo '{"apiVersion": "rankinit/v1", "command": ["a", "", 1]}' >"$T/good/command"
    echo '{"apiVersion": "rankinit/v1", "ranks": [{"local": 3, "command": ["a"]}]}' >"$T/good/ranks"

    echo '{"apiVersion": "rankinit/v1", "ranks": [{"local": 3, "cpus": 0}, {"local": 2, "cpus": "0-1,3"}]}' >"$T/good/ranks-cpus"

    echo '{}' >"$T/bad/version"
    echo '{"apiVersion": "rankinit/v2"}' >"$T/bad/version-2"
    echo '{"apiVersion": "rankinit/v1", "jobs": {}}' >"$T/bad/key"
    echo '{"apiVersion": "rankinit/v1", "job": []}' >"$T/bad/list"
    echo '{"apiVersion": "rankinit/v1", "workdir": ""}' >"$T/bad/empty"
    echo '{"apiVersion": "rankinit/v1", "workdir": null}' >"$T/bad/null"
    echo '{"apiVersion": "rankinit/v1", "command": "train.py"}' >"$T/bad/command"
    echo '{"apiVersion": "rankinit/v1", "command": ["", "x"]}' >"$T/bad/command-empty"
    echo '{"apiVersion": "rankinit/v1", "env": [{"name": "A"}]}' >"$T/bad/env"
    echo '{"apiVersion": "rankinit/v1", "env": [{"name": "A", "value": "", "unset": true}]}' >"$T/bad/env-both"
    echo '{"apiVersion": "rankinit/v1", "env": [{"name": "A=B", "value": ""}]}' >"$T/bad/env-name"
    echo '{"apiVersion": "rankinit/v1", "env": [{"name": "A", "unset": false}]}' >"$T/bad/env-unset"
    echo '{"apiVersion": "rankinit/v1", "ranks": [{"command": ["a"]}]}' >"$T/bad/ranks-nobody"
    echo '{"apiVersion": "rankinit/v1", "ranks": [{"local": "a", "command": ["a"]}]}' >"$T/bad/ranks-local"
    echo '{"apiVersion": "rankinit/v1", "ranks": [{"local": 4096, "command": ["a"]}]}' >"$T/bad/ranks-large"
    echo '{"apiVersion": "rankinit/v1", "ranks": [{"local": 0}]}' >"$T/bad/ranks-nothing"
    echo '{"apiVersion": "rankinit/v1", "ranks": [{"local": 0, "cpus": "all"}]}' >"$T/bad/ranks-cpus"

    "$PYTHON" "$ROOT/tests/validate-spec" "$T"/good/*
    for name in "$T"/good/*; do
        run "$RANKINIT" --spec "$name" --init-only -q true
        assert_eq "$name $status $output" "$name 0 "
    done
    run "$PYTHON" "$ROOT/tests/validate-spec" "$T"/bad/*
    complaints=$output
    for name in "$T"/bad/*; do
        assert_has "$complaints" "$name: "
        run "$RANKINIT" --spec "$name" --init-only true
        assert_eq "$name $status" "$name 78"
    done
}
