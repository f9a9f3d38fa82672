# shellcheck shell=bash
# Expected texts of rank environments, golden/env/NAME.env. Recipe, in a bats file after `load lib`:
#
#     load golden
#     setup() { golden_setup; }
#     @test "two pods" {
#         node pod-0 PET_NODE_RANK=0 PET_NNODES=2 -- --nproc-per-node 2
#         node pod-1 PET_NODE_RANK=1 PET_NNODES=2 -- --nproc-per-node 2
#         expect pods
#     }
#
# After a change that is meant to show there, write them anew with
#     UPDATE_GOLDEN=1 tests/run tests/golden.bats tests/platforms.bats
# and read the difference. Only the random part of the error files' folder is made the same ("XXXXXX").

UTS=(unshare --uts)
[ "$(id -u)" = 0 ] || UTS=(unshare --user --map-root-user --uts)

golden_setup() {
    # Found by its name: a *.py fans out by itself, and with --no-python it is executed as it is.
    ln -s "$PAYLOAD" "$T/env.py"
    mkdir -p "$T/none/dev" "$T/gpus/dev" "$T/logs"
    touch "$T/gpus/dev/nvidia3" "$T/gpus/dev/nvidia5"
    : >"$T/got"
}

# enter NAME VAR=VALUE... -- ARG...: rankinit as the node of that host name, env.py as its ranks.
enter() {
    local name=$1 vars=()
    shift
    while [ "$1" != -- ]; do vars+=("$1") && shift; done
    shift
    # shellcheck disable=SC2016 # expanded by the inner shell
    "${UTS[@]}" sh -c 'echo "$0" >/proc/sys/kernel/hostname && exec "$@"' "$name" \
        env -i PATH=/usr/bin:/bin HOME=/root HOSTNAME="$name" KUBERNETES_SERVICE_HOST=10.96.0.1 "${vars[@]}" \
        "$RANKINIT" --wait-master 0 --sysroot "$T/${TREE:-none}" --log-dir "$T/logs" --rdzv-id golden --threads 2 \
        --log-prefix "\${local_rank}|" "$@" --no-python "$T/env.py" env \
        </dev/null >"$T/out" 2>"$T/err"
}

# node NAME VAR=VALUE... -- ARG...: adds the environments of that node's ranks.
node() {
    enter "$@" || {
        cat "$T/err"
        return 1
    }
    # Ranks write at the same time, each in its order.
    LC_ALL=C sort -s -t '|' -k 1,1n "$T/out" | sed -e "s#$T/logs/golden_[^/]*#/logs/golden_XXXXXX#" |
        awk -v node="$1" '{
            bar = index($0, "|"); rank = substr($0, 1, bar - 1)
            if (NR == 1 || rank != last) print "== " node ", local rank " rank
            last = rank; print substr($0, bar + 1)
        }' >>"$T/got"
}

# same NAME: what node gathered is golden/env/NAME.env.
same() {
    local file=$ROOT/tests/golden/env/$1.env
    if [ -n "${UPDATE_GOLDEN:-}" ]; then
        cp "$T/got" "$file"
    fi
    diff -u "$file" "$T/got"
}

# expect NAME [MASTER...]: what node gathered is golden/env/NAME.env, and a whole job: every rank from
# 0 to WORLD_SIZE - 1 once, each of them with the same master. MASTER: another one that may be there,
# or `none` for ranks without one.
expect() {
    same "$1" || return 1
    shift
    awk -F= -v others=" $* " '
        function wrong(text) { print text; bad = 1 }
        /^== / { blocks++; next }
        $1 == "RANK" { ranks++; if (seen[$2]++) wrong("rank " $2 " is there twice") }
        $1 == "WORLD_SIZE" { if (world && world != $2) wrong("world sizes " world " and " $2); world = $2 }
        $1 == "MASTER_PORT" { if (port && port != $2) wrong("ports " port " and " $2); port = $2 }
        $1 == "MASTER_ADDR" && !index(others, " " $2 " ") {
            if (master && master != $2) wrong("masters " master " and " $2)
            master = $2
        }
        $1 == "MASTER_ADDR" { masters++ }
        END {
            if (!ranks || ranks != blocks || ranks != world) wrong(ranks " ranks of " world " in " blocks " blocks")
            for (rank = 0; rank < world; rank++) if (!(rank in seen)) wrong("rank " rank " is missing")
            if (masters != ranks && !index(others, " none ")) wrong("a rank without a master")
            exit bad
        }' "$T/got"
}

# refuse CODE TEXT NAME VAR=VALUE... -- ARG...: that node starts nothing, and says why.
refuse() {
    local code=$1 text=$2 status=0
    shift 2
    enter "$@" || status=$?
    assert_eq "$status" "$code" && assert_has "$(cat "$T/err")" "$text" && assert_eq "$(cat "$T/out")" ""
}
