#!/usr/bin/env bats
# Who was first, where deaths come in another order or at once: real PyTorch, again and again (`make soak`: more often).
# bats file_tags=alone

load lib

TIMES=$((10 * ${SOAK:-1}))

# Each run imports PyTorch in every rank: many seconds where much else runs.
setup_file() { export BATS_TEST_TIMEOUT=$((600 * ${SOAK:-1})); }

# race COUNT WHAT: one run of that many ranks.
race() {
    OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo PYTHON_EXEC=$PYTHON PYTHONDONTWRITEBYTECODE=1 \
        run "$RANKINIT" --nproc-per-node "$1" --device-mode none --summary "$T/s.json" "$ROOT/tests/e2e/races.py" "$2"
}

# assert_raised: rank 1 is the cause, and whoever else failed lost it.
assert_raised() {
    assert_json "$T/s.json" .root_cause.rank 1
    assert_json "$T/s.json" .root_cause.error.type Fault
    assert_json "$T/s.json" .root_cause.kind traceback
    assert_json "$T/s.json" '[.failures[] | select(.class == "cause").ranks] | @csv' '"1"'
}

@test "a rank raises, its peers die of the lost connection at once or a little later: always that rank" {
    for ((i = 0; i < TIMES; i++)); do
        race 2 raise
        assert_eq "$status" 1
        assert_raised
    done
}

@test "a rank raises and is held up while its peers die first: always that rank" {
    for ((i = 0; i < TIMES; i++)); do
        race 2 linger
        assert_eq "$status" 1
        assert_raised
        assert_json "$T/s.json" '[.failures[] | select(.class == "consequence").ranks] | @csv' '"0"'
    done
}

@test "a rank skips a collective until the others time out: always that rank is the silent one" {
    for ((i = 0; i < TIMES; i++)); do
        race 3 skip
        assert_eq "$status" 1
        assert_json "$T/s.json" .reason collective_timeout
        assert_json "$T/s.json" .collective.silent 1
        assert_has "$(json_get "$T/s.json" .message)" 'rank 1 was silent in a collective; rank '
    done
}
