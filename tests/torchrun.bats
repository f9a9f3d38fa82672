#!/usr/bin/env bats
# shellcheck disable=SC2154 # run sets stderr
# shellcheck disable=SC2016 # the ranks expand it
# What PyTorch's own tests promise of torchrun's launching, environment and signals, as far as it is a
# matter of the command line; by rankinit's name and by a link called torchrun.

load lib

setup() {
    unset "${!PET_@}" "${!TORCHELASTIC_@}" CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES OMP_NUM_THREADS
    ln -s "$RANKINIT" "$T/torchrun"
    mkdir -p "$T/files" "$T/none/dev" "$T/three/dev"
    touch "$T/three/dev/nvidia0" "$T/three/dev/nvidia1" "$T/three/dev/nvidia2"
    printf 'import os, sys\nopen(os.path.join(sys.argv[1], os.environ["RANK"]), "x").close()\n' >"$T/touch.py"
    export RANKINIT_SYSROOT=$T/none PYTHON_EXEC=/usr/bin/python3 FILES=$T/files
    cd "$T" || exit 1
}

# made N: exactly the files 0 .. N-1 are there; takes them away again.
made() {
    assert_eq "$(find "$FILES" -type f -printf '%f\n' | sort -n | tr '\n' ' ')" "$(seq -s ' ' 0 $(($1 - 1))) "
    rm "$FILES"/*
}

# bats test_tags=smoke
@test "four ranks touch a file each: Python, a module, any program, PET_* only, --standalone" {
    ./torchrun --nproc-per-node=4 touch.py "$FILES"
    made 4
    PYTHONPATH=$T ./torchrun --nproc_per_node 4 -m touch "$FILES"
    made 4
    ./torchrun --nproc-per-node 4 --no-python sh -c ': >"$FILES/$RANK"'
    made 4
    ./torchrun --standalone --nnodes=1 --nproc-per-node=4 touch.py "$FILES"
    made 4
    PET_NPROC_PER_NODE=4 PET_NNODES=1 PET_NO_PYTHON=1 PET_STANDALONE=1 PET_RDZV_ID=7 \
        ./torchrun sh -c ': >"$FILES/$RANK"'
    made 4
    "$RANKINIT" --nproc-per-node 4 --rdzv-backend c10d --rdzv-endpoint localhost:0 --rdzv-id 7 \
        --rdzv-conf join_timeout=5,last_call_timeout=1,timeout=5 --max-restarts 0 --monitor-interval 1 \
        --start-method spawn --role trainer touch.py "$FILES"
    made 4
}

# bats test_tags=smoke
@test "two nodes of four ranks each: both end with 0, eight files" {
    job=(--nnodes 2 --nproc-per-node 4 --rdzv-endpoint 127.0.0.1:29487 --no-python)
    start "${job[@]}" --node-rank 0 sh -c ': >"$FILES/$RANK"'
    first=$RUN_PID
    ./torchrun "${job[@]}" --node_rank=1 sh -c ': >"$FILES/$RANK"'
    finish "$first"
    assert_eq "$status" 0
    made 8
}

# bats test_tags=smoke
@test "every rank has torchrun's variables, and what was inherited" {
    SENTINEL_PARENT=FOOBAR run ./torchrun --nproc-per-node 2 --rdzv-id job --role trainer --no-python \
        sh -c '[ "$RANK" = 0 ] || exec "$PAYLOAD" env'
    assert_eq "$status" 0
    for entry in RANK=1 LOCAL_RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 GROUP_RANK=0 GROUP_WORLD_SIZE=1 \
        ROLE_NAME=trainer ROLE_RANK=1 ROLE_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT= \
        TORCHELASTIC_RESTART_COUNT=0 TORCHELASTIC_MAX_RESTARTS=0 TORCHELASTIC_RUN_ID=job \
        TORCHELASTIC_USE_AGENT_STORE=False TORCHELASTIC_ERROR_FILE=/ TORCH_NCCL_ASYNC_ERROR_HANDLING=1 \
        OMP_NUM_THREADS=1 SENTINEL_PARENT=FOOBAR; do
        grep -q "^$entry" <<<"$output" || assert_has "$output" "$entry"
    done
    TORCH_NCCL_ASYNC_ERROR_HANDLING=0 run ./torchrun --no-python "$PAYLOAD" env
    assert_has "$output" TORCH_NCCL_ASYNC_ERROR_HANDLING=0
    # With one rank torchrun leaves the threads alone.
    assert_lacks "$output" OMP_NUM_THREADS
}

# bats test_tags=smoke
@test "-m with --no-python is refused; PET_MODULE=0 is no module" {
    run ./torchrun -m --no-python touch
    assert_eq "$status" 64
    assert_has "$output" "exclude each other"
    PET_MODULE=1 run ./torchrun --no-python true
    assert_eq "$status" 64
    PET_MODULE=0 ./torchrun --nproc-per-node 2 touch.py "$FILES"
    made 2
}

# bats test_tags=smoke
@test "the number of ranks: a number, auto, gpu, cpu; three devices are three ranks" {
    count() { # [VAR=VALUE...] WORD
        run --separate-stderr env "${@:1:$#-1}" ./torchrun --nproc-per-node "${!#}" --no-python sh -c 'echo $RANK'
        ranks=$(wc -l <<<"$output")
    }
    count 5 && assert_eq "$status $ranks" "0 5"
    count auto && assert_eq "$status $ranks" "0 1"
    count RANKINIT_SYSROOT="$T/three" auto && assert_eq "$status $ranks" "0 3"
    count RANKINIT_SYSROOT="$T/three" gpu && assert_eq "$status $ranks" "0 3"
    count cpu && assert_eq "$status $ranks" "0 $(nproc)"
    count gpu && assert_eq "$status" 69
    assert_has "$stderr" "there is no /dev/nvidia*"
    count tpu && assert_eq "$status" 64
    assert_has "$stderr" "\"tpu\" is not a number from 1 to 4096 or one of auto, gpu, cpu"
}

# bats test_tags=smoke
@test "the number of nodes: N and N:N; a range and three parts are refused" {
    for nodes in 1 1:1; do
        run --separate-stderr ./torchrun --nnodes "$nodes" --no-python sh -c 'echo $GROUP_WORLD_SIZE'
        assert_eq "$output" 1
    done
    run ./torchrun --nnodes 2:20 --no-python true
    assert_eq "$status" 64
    assert_has "$output" "state --nnodes N"
    for nodes in 2:20:30 0 2:1 a; do
        run ./torchrun --nnodes "$nodes" --no-python true
        assert_eq "$nodes $status" "$nodes 64"
    done
    PET_NNODES=2:20 run ./torchrun --no-python true
    assert_eq "$status" 78
}

# bats test_tags=smoke
@test "exact names: no abbreviations; - and _, = and a blank" {
    for word in --nproc=2 --redirect=3 --nproc-per-nod=2 --rdzv_endpoin=a; do
        run ./torchrun "$word" --no-python true
        assert_eq "$word $status" "$word 64"
    done
    assert_has "$output" "did you mean --rdzv-endpoint?"
    run ./torchrun --nproc=2 --no-python true
    assert_has "$output" "unknown option --nproc; did you mean --nproc-per-node?"
    run ./torchrun -standalone --no-python true
    assert_eq "$status $output" "64 rankinit: unknown option -standalone; did you mean --standalone?"
    for words in "--nproc_per_node=2" "--nproc_per_node 2" "--nproc-per-node 2" "--nproc-per_node=2"; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr ./torchrun $words --no_python sh -c 'echo x'
        assert_eq "$output" $'x\nx'
    done
}

# bats test_tags=smoke
@test "what belongs to the script stays the script's" {
    printf 'import sys\nprint(sys.argv[1:])\n' >args.py
    run --separate-stderr ./torchrun args.py --nproc-per-node 2 -- -m --help '$x'
    assert_eq "$output" "['--nproc-per-node', '2', '--', '-m', '--help', '\$x']"
}

# bats test_tags=smoke
@test "empty PET_* variables are unset, with a notice; flags are 1 and 0" {
    PET_NNODES='' PET_RDZV_ENDPOINT='' run ./torchrun --no-python sh -c 'echo $WORLD_SIZE'
    assert_eq "$status" 0
    assert_has "$output" "PET_NNODES is empty: taken as unset"
    PET_NO_PYTHON=yes run ./torchrun true
    assert_eq "$status" 78
    PET_NO_PYTHON=0 PET_NPROC_PER_NODE=2 ./torchrun touch.py "$FILES"
    made 2
}

# bats test_tags=smoke
@test "called as torchrun: an operator's bare RANK, WORLD_SIZE and MASTER_* are not read" {
    RANK=3 WORLD_SIZE=4 MASTER_ADDR=elsewhere MASTER_PORT=1 run --separate-stderr ./torchrun --nproc-per-node 1 --no-python \
        sh -c 'echo $RANK $WORLD_SIZE $MASTER_ADDR'
    assert_eq "$output" "0 1 127.0.0.1"
}

# bats test_tags=smoke
@test "called as torchrun: fewer devices than ranks is a notice; under our name it is refused" {
    RANKINIT_SYSROOT=$T/three run ./torchrun --nproc-per-node 4 --no-python true
    assert_eq "$status" 0
    assert_has "$output" "4 ranks, but 3 devices are visible"
    RANKINIT_SYSROOT=$T/three run "$RANKINIT" --nproc-per-node 4 true
    assert_eq "$status" 78
}

# bats test_tags=smoke
@test "--virtual-local-rank: every rank is number 0 of its own device" {
    CUDA_VISIBLE_DEVICES=GPU-aa,GPU-bb run --separate-stderr ./torchrun --nproc-per-node 2 --virtual-local-rank --no-python \
        sh -c 'echo $RANK $LOCAL_RANK $CUDA_VISIBLE_DEVICES'
    assert_eq "$(sort <<<"$output")" $'0 0 GPU-aa\n1 0 GPU-bb'
    # Without devices too, as under torchrun; to ask for them under our name is another matter.
    RANKINIT_SYSROOT=$T run --separate-stderr env -u CUDA_VISIBLE_DEVICES ./torchrun --nproc-per-node 2 \
        --virtual-local-rank --no-python sh -c 'echo $RANK $LOCAL_RANK'
    assert_eq "$status $(sort <<<"$output")" $'0 0 0\n1 0'
    assert_has "$stderr" "--virtual-local-rank, but there is no /dev/nvidia*"
    RANKINIT_SYSROOT=$T run env -u CUDA_VISIBLE_DEVICES "$RANKINIT" --nproc-per-node 2 --virtual-local-rank true
    assert_eq "$status" 69
}

# bats test_tags=smoke
@test "python -m torch.distributed.launch: --local-rank-arg adds the argument, --use-env does not" {
    printf 'import sys\nprint(sys.argv[1:])\n' >args.py
    run --separate-stderr ./torchrun --local-rank-arg --nproc-per-node 2 args.py --x
    assert_eq "$(sort <<<"$output")" "['--local-rank=0', '--x']
['--local-rank=1', '--x']"
    for word in --use-env --use_env; do
        run --separate-stderr ./torchrun "$word" args.py --x
        assert_eq "$output" "['--x']"
    done
    run --separate-stderr ./torchrun --nproc-per-node 2 args.py '--cache=/tmp/${local_rank}'
    assert_eq "$(sort <<<"$output")" "['--cache=/tmp/0']
['--cache=/tmp/1']"
}

# bats test_tags=smoke
@test "a failing rank's own code, also one above 128, is the job's" {
    run ./torchrun --nproc-per-node 2 --no-python sh -c '[ "$RANK" = 1 ] || exit 138; exec "$PAYLOAD" hold'
    assert_eq "$status" 138
}

# bats test_tags=smoke
@test "SEGV is named" {
    ulimit -c 0
    run ./torchrun --nproc-per-node 2 --no-python sh -c '[ "$RANK" = 1 ] || exec "$PAYLOAD" hold; exec "$PAYLOAD" die SEGV'
    assert_eq "$status" 139
    assert_has "$output" "rank 1"
    assert_has "$output" SIGSEGV
}

# bats test_tags=smoke
@test "a missing program, a log directory that is a file, no Python: said before any rank runs" {
    run -127 ./torchrun --nproc-per-node 2 --no-python ./no-such-program
    assert_has "$output" "./no-such-program: No such file or directory"
    touch file
    run ./torchrun --log-dir file --no-python sh -c 'echo a rank runs'
    assert_eq "$status" 78
    assert_has "$output" "file"
    assert_lacks "$output" "a rank runs"
    PATH=/nowhere PYTHON_EXEC='' run -127 ./torchrun touch.py
    assert_has "$output" "touch.py needs Python"
}

# A shell's background child ignores INT and QUIT: it goes with the grace.
# bats test_tags=smoke
@test "TERM, INT, HUP, QUIT and a named signal leave no child behind" {
    ulimit -c 0
    for signal in TERM INT HUP QUIT USR1; do
        rm -f pids ready
        start --nproc-per-node 2 --signals-to-handle SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1 \
            --grace 300ms --summary "$T/s.json" sh -c \
            '"$PAYLOAD" hold & echo $$ $! >>pids; echo >>ready; exec "$PAYLOAD" hold'
        wait_lines ready 2
        kill -"$signal" "$RUN_PID"
        finish
        assert_eq "$signal $status" "$signal $((128 + $(kill -l "$signal")))"
        assert_json "$T/s.json" .stop.signal "SIG$signal"
        while read -r leader child; do
            [ ! -e "/proc/$leader" ]
            [ ! -e "/proc/$child" ]
        done <pids
    done
}

# bats test_tags=smoke
@test "--shutdown-timeout: 0 kills at once, negative is refused; the option beats the variable" {
    start --shutdown-timeout 0 --nproc-per-node 2 sh -c 'exec "$PAYLOAD" ignore "$0/ready.$RANK" TERM' "$T"
    wait_for ready.0
    wait_for ready.1
    kill -TERM "$RUN_PID"
    finish
    assert_eq "$status" 143
    run ./torchrun --shutdown-timeout=-1 --no-python true
    assert_eq "$status" 64
    PET_SHUTDOWN_TIMEOUT=-1 run ./torchrun --no-python true
    assert_eq "$status" 78
}

@test "real PyTorch: four ranks meet by env://, and torch sees a launcher" {
    PYTHON_EXEC=$PYTHON run --separate-stderr ./torchrun --nproc-per-node 4 "$ROOT/tests/e2e/meet.py" env
    assert_eq "$status" 0
    assert_eq "$(sort <<<"$output")" "$(printf 'launched True, rank %d of 4, sum 6\n' 0 1 2 3)"
    run "$PYTHON" "$ROOT/tests/e2e/meet.py" alone
    assert_eq "$output" "launched False"
}

@test "real PyTorch: four ranks meet by tcp:// at the master's port" {
    PYTHON_EXEC=$PYTHON run --separate-stderr "$RANKINIT" --nproc-per-node 4 "$ROOT/tests/e2e/meet.py" tcp
    assert_eq "$status" 0
    assert_eq "$(sort <<<"$output")" "$(printf 'launched True, rank %d of 4, sum 6\n' 0 1 2 3)"
}
