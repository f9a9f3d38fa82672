# shellcheck shell=bash
# A Docker Engine of our own, for the tests and docker/demo. Source this file, then:
#
#   dockerd_missing        prints why no engine can be started here (nothing: one can)
#   dockerd_start DIR      starts one that keeps all it has under DIR, waits until it answers and
#                          points the docker client of this shell at it
#   dockerd_stop DIR       removes its containers, ends it by its pid and leaves nothing behind
#   userland_mounts        sets USERLAND to the arguments of `docker run` that give a container
#                          made FROM scratch this machine's programs and libraries, read-only,
#                          and a /tmp of mode $TMP_MODE (1777); without a network, or in the
#                          one called $NETWORK, or in that of the container $PEER
#
# The engine never meets another one: it has its own data, sockets, cgroup parent and network
# namespace (its bridge and firewall code cannot touch the host's), and reads no configuration of
# the machine. There is no network but loopback and what `docker network create` makes: containers
# that find each other by name, and no way out.
# Programs in the folder DOCKERD_TOOLS, if set, are the engine's too: it looks for NVIDIA's hook when
# it starts.
# DIR should be short, for it has sockets: `mktemp -d /tmp/NAME.XXXXXX`.

DOCKERD_DEADLINE=${DOCKERD_DEADLINE:-60} # seconds to start, and to stop

dockerd_missing() {
    local tool PATH=$PATH:/usr/sbin:/sbin
    for tool in dockerd containerd runc docker; do
        command -v "$tool" >/dev/null || { echo "$tool is not installed"; return; }
    done
    [ "$(id -u)" = 0 ] || { echo "starting an engine needs root"; return; }
    unshare --net true 2>/dev/null || echo "no network namespace can be made here"
}

# The client must not follow another engine that this shell was told of.
dockerd_client() {
    export DOCKER_HOST=unix://$1/docker.sock DOCKER_CONFIG=$1/client DOCKER_BUILDKIT=0
    unset DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION
    unset DOCKER_DEFAULT_PLATFORM
}

dockerd_start() {
    local dir=$1 deadline=$((SECONDS + DOCKERD_DEADLINE))
    mkdir -p "$dir/client"
    echo '{}' >"$dir/daemon.json"
    dockerd_client "$dir"
    # Should this shell be killed, the engine is told to end. File descriptor 3 belongs to bats,
    # which waits until nobody holds it. `unshare` and `exec` keep the pid.
    # shellcheck disable=SC2016 # expanded by the inner shell
    PATH=${DOCKERD_TOOLS:+$DOCKERD_TOOLS:}$PATH:/usr/sbin:/sbin unshare --net sh -c '
        cd / && ip link set lo up && exec setpriv --pdeathsig TERM dockerd "$@"' sh \
        --config-file "$dir/daemon.json" --host "$DOCKER_HOST" --pidfile "$dir/docker.pid" \
        --data-root "$dir/data" --exec-root "$dir/exec" \
        --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/${dir##*/}" \
        --bridge none --iptables=false --ip6tables=false --ip-masq=false --ip-forward=false \
        </dev/null >"$dir/dockerd.log" 2>&1 3>&- &
    echo $! >"$dir/engine"
    until docker version >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$deadline" ] || ! dockerd_alive "$(cat "$dir/engine")"; then
            echo "the Docker Engine did not start; the end of its log:" >&2
            tail -n 15 "$dir/dockerd.log" >&2
            return 1
        fi
        sleep 0.05
    done
}

# Whether process $1 runs. One that has ended but was not waited for does not.
dockerd_alive() {
    local stat
    read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
    stat=${stat##*) }
    [ "${stat%% *}" != Z ]
}

# Ends process $1: asked first, killed when it does not go in time.
dockerd_end() {
    local deadline=$((SECONDS + DOCKERD_DEADLINE))
    kill "$1" 2>/dev/null
    while dockerd_alive "$1"; do
        [ "$SECONDS" -lt "$deadline" ] || kill -KILL "$1" 2>/dev/null
        sleep 0.02
    done
}

# The processes of this engine: programs of Docker with its folder in their arguments.
dockerd_processes() {
    local proc comm
    for proc in /proc/[0-9]*; do
        read -r comm 2>/dev/null <"$proc/comm" || continue
        case $comm in
            dockerd | containerd* | runc*) ;;
            *) continue ;;
        esac
        ! grep -qsF "$1/" "$proc/cmdline" || echo "${proc#/proc/}"
    done
}

dockerd_stop() {
    local dir=$1 pid mount
    [ -d "$dir" ] || return 0
    dockerd_client "$dir"
    if [ -f "$dir/engine" ]; then
        # Containers first: an engine that ends gives each of them ten seconds.
        docker ps --all --quiet 2>/dev/null | xargs -r docker rm --force >/dev/null 2>&1
        dockerd_end "$(cat "$dir/engine")"
    fi
    for pid in $(dockerd_processes "$dir"); do dockerd_end "$pid"; done
    awk -v dir="$dir/" 'index($5, dir) == 1 { print $5 }' /proc/self/mountinfo | tac |
        while read -r mount; do umount --lazy "$mount"; done
    find /sys/fs/cgroup -depth -type d -path "/sys/fs/cgroup/*${dir##*/}*" \
        -exec rmdir {} + 2>/dev/null
    rm -rf "$dir"
}

# Beside the programs: a writable /tmp, room in /dev/shm, and a name that resolves, which gloo
# asks for. Without /etc/alternatives Debian's numpy finds no BLAS; without nsswitch.conf the C
# library asks the DNS before it reads /etc/hosts.
userland_mounts() {
    local path
    USERLAND=(--network none --hostname box --add-host box:127.0.0.1)
    [ -z "${PEER:-}" ] || USERLAND=(--network "container:$PEER")
    [ -z "${NETWORK:-}" ] || USERLAND=(--network "$NETWORK")
    USERLAND+=(--tmpfs "/tmp:exec,mode=${TMP_MODE:-1777}" --shm-size 256m)
    for path in /usr /bin /lib /lib64 /etc/alternatives /etc/nsswitch.conf; do
        [ ! -e "$path" ] || USERLAND+=(--volume "$path:$path:ro")
    done
}
