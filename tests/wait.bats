#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154 # the net expands it; start sets them
# Node 1 waits for the master: until its name is there, or its port; what keeps it is told, and a signal
# is honoured at once. Each test has a network of its own: only a loopback, with a name server on it.

load lib

setup() {
    unset "${!PET_@}" "${!TORCHELASTIC_@}"
    [ "$(id -u)" = 0 ] || skip "needs root for a network of its own"
    : >"$T/zone"
    : >"$T/hosts"
    echo 'nameserver 127.0.0.1' >"$T/resolv.conf"
    echo 'hosts: files dns' >"$T/nsswitch.conf"
    export NODE="$RANKINIT --nnodes 2 --node-rank 1 --nproc-per-node 1 --capture both --summary $T/s.json"
}

# A shell that is alone with its network, its name server (unless NO_SERVER is set) and its own
# resolv.conf, hosts and nsswitch.conf, which are the files of these names in $T.
net() {
    ${EXEC-} unshare --net --mount --pid --fork --mount-proc --kill-child bash -euc '
        ip link set lo up
        for file in resolv.conf hosts nsswitch.conf; do
            [ -e "/etc/$file" ] || : >"/etc/$file"
            mount --bind "$0/$file" "$(readlink -f /etc/$file)"
        done
        if [ -z "${NO_SERVER-}" ]; then
            "$ROOT/tests/dns-server" "$0/zone" "$0/asked" &
            until grep -qs ready "$0/asked"; do sleep 0.05; done
        fi
        cd "$0"
        '"$1" "$T" 3>&-
}

# in_net SCRIPT: `run` of it; net_start SCRIPT: in the background, as start.
in_net() { run net "$1"; }
net_start() {
    EXEC='exec' net "$1" >"$T/out" 2>"$T/err" </dev/null &
    RUN_PID=$!
    STARTED+=("$RUN_PID")
}

@test "pytorch/pytorch#73682, kubeflow/trainer#1482: a name that appears later is found, with a search domain" {
    echo 'search train.svc.cluster.local svc.cluster.local' >>"$T/resolv.conf"
    echo 'options ndots:5' >>"$T/resolv.conf"
    net_start 'exec $NODE --master-addr job-0.train sh -c "echo started"'
    wait_line "$T/asked" '^job-0.train.train.svc.cluster.local$'
    wait_line "$T/asked" '^job-0.train$'
    [ ! -s "$T/out" ]
    echo 'job-0.train.svc.cluster.local 10.1.2.3' >"$T/zone"
    finish
    assert_eq "$status" 0
    assert_has "$(cat "$T/out")" started
}

@test "a name that comes into the hosts file is found without any name server" {
    : >"$T/resolv.conf"
    NO_SERVER=1 net_start 'echo waiting >asked; exec $NODE --master-addr job-0 sh -c "echo started"'
    wait_line "$T/asked" waiting
    echo '10.1.2.3 job-0' >"$T/hosts"
    finish
    assert_eq "$status" 0
    assert_has "$(cat "$T/out")" started
}

# bats test_tags=memcheck
@test "kubeflow/arena#547, trainer#2034: no such name at the deadline is 75, and says so" {
    in_net '$NODE --wait-master 2s --master-addr job-0.train true'
    assert_eq "$status" 75
    assert_json "$T/s.json" .reason master_unreachable
    assert_has "$(jq -r .message "$T/s.json")" "the master job-0.train cannot be reached: no such name, after 2.0 s"
    assert_has "$(jq -r '.hints[]' "$T/s.json")" "the name of node 0 is not in DNS"
    assert_schema "$T/s.json"
    echo 'job-0.train nodata' >"$T/zone"
    in_net '$NODE --wait-master 1s --master-addr job-0.train true'
    assert_eq "$status" 75
}

@test "a name server that is away, silent or failing stops nobody: the ranks start with a notice" {
    for case in "NO_SERVER=1 away" "X=1 silent" "X=1 servfail"; do
        echo "job-0.train ${case#* }" >"$T/zone"
        : >"$T/asked"
        in_net "export ${case% *}; "'$NODE --wait-master 2s --master-addr job-0.train sh -c "echo started"'
        assert_eq "$status" 0
        assert_has "$output" started
        assert_has "$output" "could not be looked up"
    done
}

@test "modules of nsswitch.conf that only the ranks can ask: no wait" {
    echo 'hosts: files resolve dns' >"$T/nsswitch.conf"
    in_net '$NODE --wait-master 1h --master-addr job-0.train sh -c "echo started"'
    assert_eq "$status" 0
    assert_has "$output" "no wait for the master job-0.train"
}

# bats test_tags=memcheck
@test "pytorch-operator#333: --wait-check tcp waits for the port; by default the name is enough" {
    echo 'job-0.train 127.0.0.1' >"$T/zone"
    in_net '$NODE --master-addr job-0.train true'
    assert_eq "$status" 0
    net_start 'echo waiting >waiting
        (until [ -e open ]; do sleep 0.05; done
         exec /usr/bin/python3 -c "
import socket, time
s = socket.create_server((\"127.0.0.1\", 29500)); s.accept(); time.sleep(60)") &
        exec $NODE --wait-check tcp --master-addr job-0.train sh -c "echo started"'
    wait_line "$T/asked" '^job-0.train$'
    : >"$T/open"
    finish
    assert_eq "$status" 0
    assert_has "$(cat "$T/out")" started
}

@test "a closed port is refused, a filtered one times out, and no route is unreachable" {
    in_net '$NODE --wait-master 1s --wait-check tcp --master-addr 127.0.0.1 true'
    assert_eq "$status" 75
    assert_has "$(jq -r .message "$T/s.json")" "the master 127.0.0.1, port 29500 cannot be reached: connection refused"
    assert_has "$(jq -r '.hints[]' "$T/s.json")" "nobody answers at its port"
    in_net 'iptables -A INPUT -p tcp --dport 29500 -j DROP
        $NODE --wait-master 4s --wait-check tcp --master-addr 127.0.0.1 true'
    assert_eq "$status" 75
    assert_has "$(jq -r .message "$T/s.json")" "connection timed out"
    in_net '$NODE --wait-master 1s --wait-check tcp --master-addr 10.9.9.9 true'
    assert_eq "$status" 75
    assert_has "$(jq -r .message "$T/s.json")" "host or network unreachable"
}

@test "of two addresses the one that answers is enough, whichever comes first" {
    printf 'job-0.train 127.0.0.9\njob-0.train 127.0.0.1\njob-0.train ::1\n' >"$T/zone"
    in_net '/usr/bin/python3 -c "
import socket, time
s = socket.create_server((\"127.0.0.1\", 29500)); print(\"open\", file=open(\"open\", \"w\")); time.sleep(60)" &
        until [ -s open ]; do sleep 0.05; done
        $NODE --wait-master 20s --wait-check tcp --master-addr job-0.train sh -c "echo started"'
    assert_eq "$status" 0
    assert_has "$output" started
}

@test "TERM is honoured at once while looking up, pausing and connecting" {
    echo 'silent.train silent' >"$T/zone"
    for phase in "silent.train dns" "job-0.train dns" "127.0.0.1 tcp"; do
        in_net ': >log
            iptables -A INPUT -p tcp --dport 29500 -j DROP
            $NODE --wait-master 1h --wait-check '"${phase#* }"' --termination-log log --master-addr '"${phase% *}"' true &
            until grep -q "waiting for the master" log; do sleep 0.05; done
            kill -TERM $!
            wait $!'
        assert_eq "$status" 143
        assert_json "$T/s.json" .verdict stopped
        assert_has "$(jq -r .message "$T/s.json")" "no rank was running"
    done
}

@test "a signal that is no stop waits with us and reaches the ranks" {
    in_net ': >log
        $NODE -v --wait-master 1h --termination-log log --master-addr job-0.train "$PAYLOAD" hold 2>err &
        until grep -q "waiting for the master" log; do sleep 0.05; done
        kill -USR1 $!
        until grep -q "SIGUSR1 from" err; do sleep 0.05; done
        echo "job-0.train 10.1.2.3" >zone
        wait $!'
    assert_eq "$status" 138
}

@test "the time limit holds while we wait; 0 does not wait; node 0 and numbers never do" {
    in_net '$NODE --wait-master 1h --timeout 1s --master-addr job-0.train true'
    assert_eq "$status" 124
    assert_json "$T/s.json" .reason timed_out
    in_net '$NODE --wait-master 0 --master-addr job-0.train true'
    assert_eq "$status" 0
    in_net '$NODE --node-rank 0 --master-addr job-0.train true'
    assert_eq "$status" 0
    in_net '$NODE --wait-master 1h --master-addr 10.9.9.9 true'
    assert_eq "$status" 0
}

@test "a master's name that means this host is a notice on another node" {
    echo 'job-0.train 10.5.5.5' >"$T/zone"
    in_net 'ip addr add 10.5.5.5/32 dev lo
        $NODE --master-addr job-0.train true'
    assert_eq "$status" 0
    assert_has "$output" "the master's name job-0.train means this host, but this is node 1"
}

@test "kubeflow/trainer#2794: a line every 10 s tells what is missing" {
    net_start 'exec $NODE --wait-master 1h --master-addr job-0.train true'
    wait_line "$T/err" 'waiting for the master job-0.train: no such name; 10\.[0-9] s of 3600.0 s' 60
    echo 'job-0.train 10.1.2.3' >"$T/zone"
    finish
    assert_eq "$status" 0
}

@test "real PyTorch: the worker starts before the master's name exists, and the job runs" {
    [ -x "$PYTHON" ] || skip "no PyTorch here"
    cat >"$T/train.py" <<'PY'
import torch, torch.distributed as dist
dist.init_process_group("gloo")
t = torch.ones(1)
dist.all_reduce(t)
print("rank", dist.get_rank(), "sum", t.item(), flush=True)
dist.barrier()
dist.destroy_process_group()
PY
    export PYTHON_EXEC=$PYTHON OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
    net_start 'job="$RANKINIT --nnodes 2 --nproc-per-node 1 --capture both --master-addr job-0.train"
        $job --node-rank 1 train.py &
        worker=$!
        until grep -qs job-0.train asked; do sleep 0.05; done
        echo "job-0.train 127.0.0.1" >zone
        $job --node-rank 0 train.py
        wait $worker'
    wait_gone "$RUN_PID" 120
    finish
    [ "$status" -eq 0 ] || cat "$T/err" "$T/out"
    assert_eq "$status" 0
    assert_has "$(cat "$T/out")" "rank 0 sum 2.0"
    assert_has "$(cat "$T/out")" "rank 1 sum 2.0"
}
