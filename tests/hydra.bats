#!/usr/bin/env bats
# The Hydra launcher, with the real Hydra.
# shellcheck disable=SC2030,SC2031,SC2154 # each test has its own environment; bats sets stderr

load lib

setup_file() {
    # As it is installed by its users; in a copy, since building leaves files beside the source.
    cp -r "$ROOT/lib/hydra" "$BATS_FILE_TMPDIR/hydra"
    "$PYTHON" -m pip install -q --no-index --no-deps --no-build-isolation --disable-pip-version-check \
        --root-user-action ignore --target "$BATS_FILE_TMPDIR/site" "$BATS_FILE_TMPDIR/hydra"
}

setup() {
    export PYTHONPATH=$BATS_FILE_TMPDIR/site:$ROOT/tests/hydra PATH=${RANKINIT%/*}:$PATH
    export PYTHONDONTWRITEBYTECODE=1
    unset CUDA_VISIBLE_DEVICES
    cd "$T" || return
}

APP=(-m hydra/launcher=rankinit hydra.launcher.nproc_per_node=2 hydra.sweep.dir=out)

# sweep ARG...: the sweep of app.py; output in $T/out.txt and $T/err.txt.
sweep() {
    status=0
    "$PYTHON" "$ROOT/tests/hydra/app.py" "${APP[@]}" "$@" >out.txt 2>err.txt </dev/null || status=$?
}

# seen JOB RANK NAME
seen() { jq -r ".$3" "out/$1/seen.$2"; }

@test "a sweep of four jobs of two ranks, two of which fail: the others run, and it says why" {
    sweep 'do=return,raise' x=1,2 hydra.job.chdir=true +hydra.job.env_set.FROM_JOB=given
    assert_eq "$status" 1
    for job in 0 1 2 3; do
        assert_eq "$(seen $job 0 job) $(seen $job 1 job)" "$job $job"
        assert_eq "$(seen $job 0 WORLD_SIZE) $(seen $job 1 LOCAL_RANK)" "2 1"
        assert_eq "$(seen $job 0 now)" "$(seen $job 1 now)"
        assert_eq "$(seen $job 0 dir) $(seen $job 1 cwd)" "$T/out/$job $T/out/$job"
        assert_eq "$(seen $job 1 FROM_JOB)" given
        grep -q 'logged by rank 0' out/$job/app.log
        run ! grep -q 'logged by rank 1' out/$job/app.log
        grep -q 'logged by rank 1' out/$job/app.rank1.log
        # What was frozen is gone with the job.
        assert_eq "$(ls -A out/$job/.rankinit)" summary.json
        assert_schema out/$job/.rankinit/summary.json
    done
    [ "$(cat out/*/seen.0 | jq -r .MASTER_PORT | sort -u | wc -l)" = 4 ]
    # One directory with one .hydra for each job, and nothing that ranks made elsewhere.
    assert_eq "$(find . -name .hydra | wc -l) $(find . -maxdepth 1 -type d | wc -l)" "4 2"
    assert_json out/2/.rankinit/summary.json .root_cause.error.type ValueError
    assert_has "$(cat out.txt)" 'Job 2 failed: rank 1'
    assert_has "$(cat out.txt)" 'Job 3 failed: rank 1'
    # Hydra ends with the first failure: the rank's own, with its traceback.
    assert_has "$(cat err.txt)" $'\nValueError: bad batch 1\n'
    assert_has "$(cat err.txt)" 'tests/hydra/app.py", line'
    assert_lacks "$(cat err.txt)" 'Experimental rerun'
}

@test "a rank killed by a signal fails its job with the verdict's words" {
    sweep do=die
    assert_eq "$status" 1
    assert_has "$(cat err.txt)" 'RankFailed: rank 1 (local rank 1 on node 0) failed first: killed by SIGKILL'
}

@test "python -m, a structured configuration: what rank 0 returns reaches the sweeper" {
    export PYTHONPATH=$PYTHONPATH:$ROOT/tests/hydra/plugins
    for carry in rerun pickle; do
        "$PYTHON" -m plain.app "${APP[@]}" hydra/sweeper=climbing hydra.sweep.dir=$carry \
            hydra.launcher.carry=$carry
        assert_eq "$(jq -c . $carry/history.json)" '[[10,20],[200]]'
        [ -e $carry/2/ran.0 ] && [ -e $carry/2/ran.1 ]
    done
}

@test "an exception of the application's own comes back by its name" {
    run -1 --separate-stderr "$PYTHON" -m plain.app "${APP[@]}" x=-5
    assert_has "$stderr" 'Odd: x is -5'
}

@test "carry=pickle says what it cannot carry" {
    sweep hydra.launcher.carry=pickle
    assert_eq "$status" 1
    assert_has "$(cat err.txt)" "carry=rerun needs no pickling"
}

@test "four jobs side by side on four devices, each on one of its own" {
    mkdir -p root/dev meet
    touch root/dev/nvidia{0..3}
    export RANKINIT_SYSROOT=$T/root CUDA_VISIBLE_DEVICES=0,1,2,3
    sweep x=1,2,3,4 do=meet folder="$T/meet" count=4 hydra.launcher.nproc_per_node=auto \
        hydra.launcher.parallel_jobs=4 hydra.launcher.gpus_per_job=1
    assert_eq "$status" 0
    assert_eq "$(cat out/*/seen.0 | jq -r .CUDA_VISIBLE_DEVICES | sort | paste -sd ' ')" '0 1 2 3'
    assert_eq "$(for job in 0 1 2 3; do seen $job 0 x; done | paste -sd ' ')" '1 2 3 4'
    # More than there are: refused before any job starts, with both numbers.
    rm -r out
    sweep x=1,2,3 hydra.launcher.parallel_jobs=3 hydra.launcher.gpus_per_job=2
    assert_eq "$status" 1
    assert_has "$(cat err.txt)" '3 jobs at a time with 2 devices each need 6, but 4 are visible: 0,1,2,3'
    [ ! -e out/0 ]
}

@test "the alias torchrun takes the old fields" {
    "$PYTHON" -m plain.app -m hydra/launcher=torchrun hydra.launcher.nproc_per_node=2 \
        hydra.launcher.rdzv_endpoint=127.0.0.1:1 hydra.launcher.max_nodes=1 hydra.sweep.dir=out >log
    assert_has "$(cat log)" 'hydra.launcher.rdzv_endpoint has no effect'
    [ -e out/0/ran.1 ]
    run -1 --separate-stderr "$PYTHON" -m plain.app -m hydra/launcher=torchrun hydra.launcher.max_nodes=2
    assert_has "$stderr" 'a sweep runs on one node'
}

@test "TERM stops the sweep: no further job, 143" {
    APP[3]=hydra.sweep.dir=sweep
    start_program "$PYTHON" "$ROOT/tests/hydra/app.py" "${APP[@]}" x=1,2 do=wait
    wait_line "$T/out" '^waiting' 90
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    [ -e sweep/0 ] && [ ! -e sweep/1 ]
}

@test "INT stops jobs that run side by side, and those that wait" {
    APP[3]=hydra.sweep.dir=sweep
    start_program env --default-signal=INT "$PYTHON" "$ROOT/tests/hydra/app.py" "${APP[@]}" x=1,2,3 \
        do=wait hydra.launcher.parallel_jobs=2
    wait_line sweep/0/seen.1 job 90
    wait_line sweep/1/seen.1 job 90
    kill -INT "$RUN_PID"
    finish
    assert_eq "$status" 130
    [ ! -e sweep/2 ]
}

@test "below a rankinit that is PID 1" {
    run_pid1 "$PYTHON" -m plain.app "${APP[@]}" x=1,2
    assert_eq "$status" 0
    [ -e out/0/ran.1 ] && [ -e out/1/ran.1 ]
    # Ranks do not each run the sweep.
    PYTHON_EXEC=$PYTHON run_pid1 --nproc-per-node 2 -m plain.app "${APP[@]}"
    assert_eq "$status" 1
    assert_has "$output" 'every rank would run the whole sweep'
}

@test "--hydra: four ranks that start one after another share one directory (hydra #2070)" {
    PYTHON_EXEC=$PYTHON run_pid1 --hydra --nproc-per-node 4 "$ROOT/tests/hydra/late.py" x=1
    assert_eq "$status" 0
    dirs=(outputs/*/*)
    assert_eq "${#dirs[@]}" 1
    assert_eq "$(cd "${dirs[0]}" && find . -type f | sort | paste -sd ' ')" \
        "./.hydra/config.yaml ./.hydra/hydra.yaml ./.hydra/overrides.yaml ./late.log ./seen.0 ./seen.1 ./seen.2 ./seen.3"
    assert_eq "$(wc -l <"${dirs[0]}/late.log")" 1
    assert_eq "$(sed -n 's/^- //p' "${dirs[0]}/.hydra/overrides.yaml")" x=1
}

@test "--hydra: what cannot work is refused" {
    run -64 "$RANKINIT" --hydra --nproc-per-node 2 train.py -m lr=1,2
    assert_has "$output" 'a sweep is run once'
    run -78 "$RANKINIT" --hydra --nnodes 2 --node-rank 0 --master-addr a --plan train.py
    assert_has "$output" 'state --rdzv-id ID'
}
