#!/usr/bin/env bats
# bats file_tags=smoke
# The whole environment of every rank of every node, byte for byte, as each platform leads to it: what
# its operator puts into a container normally, and where it sets a trap.

load lib
load golden

setup() { golden_setup; }

# ---- Kubeflow PyTorchJob v1 --------------------------------------------------------------------

# pod INDEX: the name of a pod of a PyTorchJob with a Master.
pod() {
    if [ "$1" = 0 ]; then echo job-master-0; else echo "job-worker-$(($1 - 1))"; fi
}

# pytorchjob INDEX NPROC WORLD_SIZE [VAR=VALUE...] [-- ARG...]: what training-operator 1.7 and later
# puts into a pod.
pytorchjob() {
    local index=$1 nproc=$2 world=$3
    shift 3
    [[ " $* " == *" -- "* ]] || set -- "$@" --
    node "$(pod "$index")" PYTHONUNBUFFERED=1 MASTER_ADDR=job-master-0 MASTER_PORT=23456 RANK="$index" \
        WORLD_SIZE="$world" PET_MASTER_ADDR=job-master-0 PET_MASTER_PORT=23456 PET_NNODES=2 \
        PET_NODE_RANK="$index" PET_NPROC_PER_NODE="$nproc" "$@"
}

@test "PyTorchJob 1.7 and later, nprocPerNode a number" {
    pytorchjob 0 2 4
    pytorchjob 1 2 4
    expect pytorchjob-integer
}

@test "PyTorchJob 1.7 and later, nprocPerNode auto: the devices are counted" {
    TREE=gpus pytorchjob 0 auto 2
    TREE=gpus pytorchjob 1 auto 2
    expect pytorchjob-auto
}

@test "PyTorchJob: a number of ranks that the operator did not think of" {
    pytorchjob 0 8 16 -- --nproc-per-node 2
    pytorchjob 1 8 16 -- --nproc-per-node 2
    expect pytorchjob-other-nproc
}

@test "PyTorchJob beside a Service called master, whose links look like ports" {
    local i
    for i in 0 1; do
        pytorchjob $i 2 4 MASTER_PORT=tcp://10.0.0.9:80 MASTER_SERVICE_HOST=10.0.0.9 PET_PORT=tcp://10.0.0.8:1
    done
    expect pytorchjob-service-link
}

@test "PyTorchJob with a Master and an elasticPolicy: the endpoint names a worker, RANK counts from the master" {
    local i
    for i in 0 1; do
        pytorchjob $i 2 4 PET_NNODES=2:2 PET_RDZV_BACKEND=c10d PET_RDZV_ENDPOINT=job-worker-0:23456 \
            PET_RDZV_ID=job PET_MAX_RESTARTS=0
    done
    expect pytorchjob-elastic-master
}

@test "PyTorchJob of workers only, elastic: the hostname has the number" {
    local i
    for i in 0 1; do
        node job-worker-$i PYTHONUNBUFFERED=1 PET_RDZV_BACKEND=c10d PET_RDZV_ENDPOINT=job-worker-0:23456 \
            PET_NNODES=2:2 PET_NPROC_PER_NODE=2 --
    done
    expect pytorchjob-elastic
}

@test "PyTorchJob of workers only, elastic, in full host names" {
    local i
    for i in 0 1; do
        node job-worker-$i.job.ns.svc PET_RDZV_BACKEND=c10d PET_NNODES=2 PET_NPROC_PER_NODE=1 \
            PET_RDZV_ENDPOINT=job-worker-0.job.ns.svc.cluster.local --
    done
    expect pytorchjob-elastic-full-names
}

@test "PyTorchJob of workers only, without a policy: the user names worker 0" {
    local i
    for i in 0 1; do
        node job-worker-$i PET_NNODES=2 PET_NPROC_PER_NODE=2 MASTER_ADDR=job-worker-0 MASTER_PORT=23456 --
    done
    expect pytorchjob-workers
}

@test "PyTorchJob 1.4, whose name for the ranks of a node is misspelt" {
    local i
    for i in 0 1; do
        node job-worker-$i PYTHONUNBUFFERED=0 PET_RDZV_BACKEND=c10d PET_RDZV_ENDPOINT=job-worker-0:23456 \
            PET_NNODES=2:2 PET_N_PROC_PER_NODE=2 --
    done
    expect pytorchjob-1.4
}

@test "PyTorchJob with an empty PET_STANDALONE, which means yes" {
    node job-worker-0 PET_STANDALONE= PET_NNODES=1:1 PET_NPROC_PER_NODE=2 PET_RDZV_ENDPOINT=job-worker-0:23456 \
        -- --master-port 29511
    expect pytorchjob-standalone
}

# early INDEX PODS -- ARG...: training-operator up to 1.6, which knows no PET_*.
early() {
    local index=$1 pods=$2
    shift 2
    node "$(pod "$index")" PYTHONUNBUFFERED=0 MASTER_ADDR=job-master-0 MASTER_PORT=23456 RANK="$index" \
        WORLD_SIZE="$pods" "$@"
}

@test "PyTorchJob up to 1.6: RANK and WORLD_SIZE count pods" {
    early 0 2 -- --nproc-per-node 4
    early 1 2 -- --nproc-per-node 4
    expect pytorchjob-1.6
}

@test "PyTorchJob up to 1.6 with a multiple of the ranks in a pod: the pods' names tell" {
    local i
    for i in 0 1 2 3; do early $i 4 -- --nproc-per-node 2; done
    expect pytorchjob-1.6-many-pods
}

@test "PyTorchJob: ranges and contradictions" {
    refuse 78 "PET_NNODES: 1:4 is a range: a running job is not resized, state --nnodes N" \
        job-worker-0 PET_NNODES=1:4 --
    refuse 78 "WORLD_SIZE=5 is neither 2 nodes (PET_NNODES)" \
        job-worker-0 PET_NNODES=2 PET_NODE_RANK=1 RANK=1 WORLD_SIZE=5 PET_NPROC_PER_NODE=2 MASTER_ADDR=m --
}

# ---- Kubeflow Trainer v2, JobSet, Indexed Job ---------------------------------------------------

# trainjob INDEX NPROC [VAR=VALUE...]
trainjob() {
    local index=$1 nproc=$2
    shift 2
    node "tj-node-0-$index" PET_NNODES=2 PET_NPROC_PER_NODE="$nproc" PET_NODE_RANK="$index" \
        PET_MASTER_ADDR=tj-node-0-0.tj PET_MASTER_PORT=29500 JOB_COMPLETION_INDEX="$index" "$@" --
}

@test "Trainer v2" {
    trainjob 0 2
    trainjob 1 2
    expect trainjob
}

@test "Trainer v2, numProcPerNode auto: the devices are counted" {
    TREE=gpus trainjob 0 auto
    TREE=gpus trainjob 1 auto
    expect trainjob-auto
}

@test "Trainer v2: PET_NODE_RANK decides, not another index" {
    local i
    for i in 0 1; do
        trainjob $i 2 JOB_COMPLETION_INDEX=$((1 - i)) LWS_WORKER_INDEX=5
        assert_has "$(cat "$T/err")" "not used: LWS_WORKER_INDEX=5, JOB_COMPLETION_INDEX=$((1 - i))"
    done
    expect trainjob-other-index
}

# jobset JOB POD VAR=VALUE... -- ARG...: a pod of one of two Jobs with two pods each.
jobset() {
    local job=$1 pod=$2
    shift 2
    node "js-workers-$job-$pod" JOB_COMPLETION_INDEX="$pod" MASTER_ADDR=js-workers-0-0.js MASTER_PORT=29511 "$@" \
        --nnodes 4 --nproc-per-node 1
}

@test "JobSet: the index restarts in each Job" {
    local job pod
    for job in 0 1; do
        for pod in 0 1; do
            jobset $job $pod JOBSET_JOB_GLOBAL_INDEX=$job JOBSET_GLOBAL_REPLICAS=2 --
        done
    done
    expect jobset
}

@test "JobSet: RANK has the completion index, as the project's own sample puts it there" {
    local job pod
    for job in 0 1; do
        for pod in 0 1; do
            jobset $job $pod JOBSET_JOB_INDEX=$job JOBSET_REPLICATEDJOB_REPLICAS=2 RANK=$pod WORLD_SIZE=4 --
        done
    done
    expect jobset-rank
}

@test "JobSet without the Job's index: two pods with one number are refused" {
    refuse 78 "they are in two Jobs of a JobSet, which both count JOB_COMPLETION_INDEX from 0" \
        js-workers-1-0 JOB_COMPLETION_INDEX=0 MASTER_ADDR=js-workers-0-0.js -- --nnodes 4
    refuse 78 "--nnodes says 5 nodes, which 2 Jobs (JOBSET_GLOBAL_REPLICAS) cannot share evenly" \
        js-workers-1-0 JOB_COMPLETION_INDEX=0 JOBSET_JOB_GLOBAL_INDEX=1 JOBSET_GLOBAL_REPLICAS=2 \
        MASTER_ADDR=js-workers-0-0.js -- --nnodes 5
}

@test "Indexed Job: the size by flags, the node by its index" {
    local i
    for i in 0 1; do
        node "ij-$i" JOB_COMPLETION_INDEX=$i -- --nnodes 2 --nproc-per-node 2 --master-addr ij-0.ij \
            --master-port 29511
    done
    expect indexed-job
}

@test "Indexed Job, the port made from the job's id: the same on each node" {
    local i
    for i in 0 1; do
        node "ij-$i" JOB_COMPLETION_INDEX=$i -- --nnodes 2 --nproc-per-node 2 --master-addr ij-0.ij \
            --master-port from-job-id
    done
    expect indexed-job-from-job-id
}

@test "Indexed Job, in torchrun's documented form of several nodes" {
    local i
    for i in 0 1; do
        node "ij-$i" JOB_COMPLETION_INDEX=$i -- --nnodes=2 --nproc-per-node=2 --rdzv-backend=c10d \
            --rdzv-endpoint=ij-0.ij:29400
    done
    expect indexed-job-c10d
}

@test "Indexed Job: RANK and WORLD_SIZE written by the user count nodes" {
    local i
    for i in 0 1; do
        node "ij-$i" JOB_COMPLETION_INDEX=$i RANK=$i WORLD_SIZE=2 MASTER_ADDR=ij-0.ij -- --nproc-per-node 4
    done
    expect indexed-job-rank
}

@test "Indexed Job: an index out of range, and a size without an index" {
    refuse 78 "JOB_COMPLETION_INDEX says node 2, but --nnodes is 2: nodes count from 0 to 1" \
        ij-2 JOB_COMPLETION_INDEX=2 -- --nnodes 2 --master-addr ij-0.ij
    refuse 78 "--nnodes says 2 nodes, but nothing says which one this is" ij-0 -- --nnodes 2 --master-addr ij-0.ij
}

# ---- LeaderWorkerSet, Volcano, StatefulSet -------------------------------------------------------

# lws INDEX [VAR=VALUE...] [-- ARG...]
lws() {
    local index=$1
    shift
    [[ " $* " == *" -- "* ]] || set -- "$@" --
    node "lws-0${1:+-$index}" LWS_LEADER_ADDRESS=lws-0.lws.ns LWS_GROUP_SIZE=2 LWS_WORKER_INDEX="$index" "$@"
}

@test "LeaderWorkerSet" {
    lws 0 -- --nproc-per-node 2
    lws 1 -- --nproc-per-node 2
    expect lws
}

@test "LeaderWorkerSet beside TPU variables, another index and a Service called master" {
    local i
    for i in 0 1; do
        TREE=gpus lws $i TPU_WORKER_ID=7 TPU_NAME=x MASTER_PORT=tcp://10.0.0.9:80 JOB_COMPLETION_INDEX=3
    done
    expect lws-leftovers
}

@test "LeaderWorkerSet with torchrun's variable for the ranks of a node" {
    lws 0 PET_NPROC_PER_NODE=2
    lws 1 PET_NPROC_PER_NODE=2
    expect lws-pet
}

@test "Volcano's pytorch plugin: RANK and WORLD_SIZE count pods, VC_TASK_INDEX those of a task" {
    local i
    for i in 0 1; do
        node "$(pod $i)" MASTER_ADDR=job-master-0.job MASTER_PORT=23456 WORLD_SIZE=2 RANK=$i VC_TASK_INDEX=0 \
            VK_TASK_INDEX=0 VC_MASTER_HOSTS=job-master-0.job VC_MASTER_NUM=1 VC_WORKER_HOSTS=job-worker-0.job \
            VC_WORKER_NUM=1 -- --nproc-per-node 2
    done
    expect volcano-pytorch
}

@test "Volcano's pytorch plugin with a multiple of the ranks in a pod" {
    local i
    for i in 0 1 2 3; do
        node "x-$i" MASTER_ADDR=x.job WORLD_SIZE=4 RANK=$i VC_TASK_INDEX=$((i > 0 ? i - 1 : 0)) -- \
            --nproc-per-node 2
    done
    expect volcano-pytorch-many-pods
}

@test "Volcano's svc plugin with one task" {
    local i
    for i in 0 1; do
        node "job-worker-$i" VC_TASK_INDEX=$i VK_TASK_INDEX=$i VC_WORKER_NUM=2 \
            VC_WORKER_HOSTS=job-worker-0.job,job-worker-1.job -- --nproc-per-node 2
    done
    expect volcano-svc
}

@test "Volcano's svc plugin with two tasks: their indexes overlap" {
    refuse 78 "VC_TASK_INDEX=0 numbers the pods of one task of Volcano, and the job has 2" \
        job-worker-0 VC_TASK_INDEX=0 VC_WORKER_NUM=1 VC_MASTER_NUM=1 --
}

@test "StatefulSet: the ordinal, where it is asked for" {
    local i
    for i in 0 1; do
        node "sts-$i" -- --nnodes 2 --node-rank from-hostname --nproc-per-node 2 --master-addr sts-0.sts
    done
    expect statefulset
}

@test "StatefulSet: the ordinal by a variable, a full host name, and another platform's index" {
    local i
    for i in 0 1; do
        node "sts-2-$i.sts.ns.svc" JOB_COMPLETION_INDEX=7 RANKINIT_NODE_RANK=from-hostname MASTER_ADDR=sts-2-0.sts \
            -- --nnodes 2 --nproc-per-node 1
    done
    expect statefulset-full-names
}

@test "StatefulSet: no ordinal, and one that starts above 0" {
    refuse 78 "the hostname deployment does not end in -N" deployment -- --nnodes 2 --node-rank from-hostname
    refuse 78 "(hostname sts-2) says node 2, but --nnodes is 2" \
        sts-2 -- --nnodes 2 --node-rank from-hostname --master-addr sts-1.sts
    refuse 64 "--node-rank: \"from-host\" is not" sts-0 -- --nnodes 2 --node-rank from-host
}

# ---- Slurm ---------------------------------------------------------------------------------------

# slurm PROCID TASKS-PER-NODE VAR=VALUE... -- ARG...: a task of srun on two nodes.
slurm() {
    local id=$1 per=$2
    shift 2
    node "gpu0$((id / per + 7))" SLURM_JOB_ID=4711 SLURM_STEP_ID=0 SLURM_PROCID="$id" SLURM_LOCALID=$((id % per)) \
        SLURM_NODEID=$((id / per)) SLURM_NTASKS=$((2 * per)) SLURM_NNODES=2 SLURM_STEP_NUM_TASKS=$((2 * per)) \
        SLURM_STEP_NUM_NODES=2 SLURM_STEP_TASKS_PER_NODE="$per(x2)" SLURM_STEP_NODELIST="gpu[07-08]" \
        SLURM_JOB_NODELIST="gpu[07-08]" "$@"
}

# hook ID SIZE LOCAL: what enroot's hook for PyTorch adds; sets HOOK.
hook() {
    HOOK=(MASTER_ADDR=gpu07 MASTER_PORT=61175 RANK="$1" WORLD_SIZE="$2" LOCAL_RANK="$3")
}

@test "Slurm, a task on each node" {
    slurm 0 1 -- --nproc-per-node 2
    slurm 1 1 -- --nproc-per-node 2
    expect slurm
}

@test "pyxis and enroot, a task on each node: LOCAL_RANK is there, and yet it is a node" {
    local i
    for i in 0 1; do
        hook $i 2 0
        TREE=gpus slurm $i 1 "${HOOK[@]}" --
    done
    expect enroot
}

@test "Slurm, several tasks on a node: each is a rank" {
    local i
    for i in 0 1 2 3; do slurm $i 2 --; done
    expect slurm-tasks
}

@test "pyxis and enroot, several tasks on a node: what is there stays" {
    local i
    for i in 0 1 2 3; do
        hook $i 4 $((i % 2))
        slurm $i 2 "${HOOK[@]}" OMP_NUM_THREADS=1 PMI_RANK=$i PMIX_RANK=$i TORCHELASTIC_RESTART_COUNT=3 --
    done
    expect enroot-tasks
}

@test "Slurm, several tasks on a node, which are said to be nodes" {
    local i
    for i in 0 1 2 3; do slurm $i 2 -- --rank-means node --nproc-per-node 2; done
    expect slurm-tasks-as-nodes
}

@test "Slurm, a step on fewer nodes than the job has" {
    local i
    for i in 0 1; do
        slurm $i 1 SLURM_NTASKS=8 SLURM_NNODES=4 SLURM_JOB_NODELIST="gpu[06-09]" SLURM_TASKS_PER_NODE="2(x4)" \
            -- --nproc-per-node 1
    done
    expect slurm-step
}

@test "Slurm, the batch script of one node: no task of the many that it asked for" {
    TREE=gpus node gpu07 SLURM_JOB_ID=4711 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NTASKS=8 \
        SLURM_NNODES=1 SLURM_JOB_NODELIST=gpu07 -- --master-port 29511
    expect slurm-batch
}

@test "Slurm, what cannot be" {
    refuse 78 "this is the batch script of a Slurm job" \
        gpu07 SLURM_PROCID=0 SLURM_NODEID=0 SLURM_NTASKS=2 SLURM_NNODES=2 --
    refuse 78 "RANK=0 contradicts SLURM_PROCID=3" gpu08 SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_NODEID=1 \
        SLURM_LOCALID=1 SLURM_NTASKS=4 SLURM_NNODES=2 RANK=0 WORLD_SIZE=4 --
    refuse 78 "--nproc-per-node asks for 2 ranks here, but SLURM_PROCID=3" gpu08 SLURM_STEP_ID=0 SLURM_PROCID=3 \
        SLURM_NODEID=1 SLURM_NTASKS=4 SLURM_NNODES=2 -- --nproc-per-node 2
}

# ---- MPI -----------------------------------------------------------------------------------------

# ompi RANK LOCAL-SIZE VAR=VALUE... -- ARG...: a process of mpirun on two hosts.
ompi() {
    local rank=$1 per=$2
    shift 2
    node "host-$((rank / per))" OMPI_COMM_WORLD_RANK="$rank" OMPI_COMM_WORLD_SIZE=$((2 * per)) \
        OMPI_COMM_WORLD_LOCAL_RANK=$((rank % per)) OMPI_COMM_WORLD_LOCAL_SIZE="$per" \
        OMPI_COMM_WORLD_NODE_RANK=$((rank % per)) OMPI_UNIVERSE_SIZE=$((2 * per)) PMIX_RANK="$rank" \
        PMIX_NAMESPACE=n PMIX_SERVER_URI41=u OMPI_MCA_btl=self,tcp "$@"
}

@test "Open MPI" {
    local i
    for i in 0 1 2 3; do ompi $i 2 MASTER_ADDR=host-0 MASTER_PORT=29511 --; done
    expect openmpi
}

@test "Open MPI below Slurm: SLURM_PROCID is that of its daemon" {
    local i
    for i in 0 1 2 3; do
        ompi $i 2 MASTER_ADDR=host-0 SLURM_STEP_ID=0 SLURM_PROCID=$((i / 2)) SLURM_NODEID=$((i / 2)) \
            SLURM_LOCALID=0 SLURM_NTASKS=2 SLURM_NNODES=2 --
    done
    assert_has "$(cat "$T/err")" ", SLURM_PROCID=1"
    expect openmpi-slurm
}

@test "Open MPI, one process on each host, which starts its ranks" {
    ompi 0 1 -- --nproc-per-node 2 --master-addr host-0
    ompi 1 1 -- --nproc-per-node 2 --master-addr host-0
    expect openmpi-nodes
}

@test "Open MPI with nobody to say where rank 0 is: not set, MPI programs need none" {
    local i
    for i in 0 1 2 3; do ompi $i 2 --; done
    expect openmpi-no-master none
}

@test "MPICH, all processes on one host" {
    local i
    for i in 0 1; do
        node host PMI_RANK=$i PMI_SIZE=2 PMI_FD=7 MPI_LOCALRANKID=$i MPI_LOCALNRANKS=2 --
    done
    expect mpich
}

@test "Intel MPI started through Slurm's srun as its bootstrap" {
    local i
    for i in 0 1; do
        node "host-$i" PMI_RANK=$i PMI_SIZE=2 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1 I_MPI_PIN=1 \
            I_MPI_HYDRA_BOOTSTRAP=slurm SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NODEID=0 SLURM_NTASKS=1 \
            SLURM_NNODES=1 MASTER_ADDR=host-0 --
    done
    expect intelmpi-slurm
}

@test "PALS" {
    local i
    for i in 0 1; do
        node "x100$i" PALS_RANKID=$i PALS_NODEID=$i PALS_LOCAL_RANKID=0 PALS_LOCAL_SIZE=1 PMI_RANK=$i PMI_SIZE=2 \
            PMI_LOCAL_RANK=0 PMI_LOCAL_SIZE=1 MASTER_ADDR=x1000 --
    done
    expect pals
}

@test "MVAPICH" {
    local i
    for i in 0 1 2 3; do
        node "host-$((i / 2))" MV2_COMM_WORLD_RANK=$i MV2_COMM_WORLD_SIZE=4 MV2_COMM_WORLD_LOCAL_RANK=$((i % 2)) \
            MV2_COMM_WORLD_LOCAL_SIZE=2 MASTER_ADDR=host-0 RANK=$i WORLD_SIZE=4 LOCAL_RANK=$((i % 2)) --
    done
    expect mvapich
}

@test "PMI alone: which process of its host this is stays open" {
    local i
    for i in 0 1; do node "host-$i" PMI_RANK=$i PMI_SIZE=2 MASTER_ADDR=host-0 --; done
    expect pmi
}

# ---- clouds, torchx ------------------------------------------------------------------------------

# batch INDEX MAIN VAR=VALUE...: a node of AWS Batch; the main node is not told its own address.
batch() {
    local index=$1 main=$2 address=(AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.0.0.5)
    shift 2
    [ "$index" != "$main" ] || address=()
    node "ip-10-0-0-$index" AWS_BATCH_JOB_NUM_NODES=2 AWS_BATCH_JOB_NODE_INDEX="$index" \
        AWS_BATCH_JOB_MAIN_NODE_INDEX="$main" AWS_BATCH_JOB_ATTEMPT=1 "${address[@]}" "$@" -- --nproc-per-node 2
}

@test "AWS Batch: the main node lacks its own address" {
    batch 0 0
    batch 1 0
    expect aws-batch 127.0.0.1
}

@test "AWS Batch: the main node is not number 0, but has rank 0" {
    batch 0 1
    batch 1 1
    expect aws-batch-main 127.0.0.1
}

@test "SageMaker's variables; its hosts are sorted as texts" {
    local host hosts='["algo-1","algo-10","algo-2"]'
    for host in 1 10 2; do
        node "algo-$host" SM_HOSTS="$hosts" SM_CURRENT_HOST="algo-$host" SM_NUM_GPUS=0 -- --nproc-per-node 1
    done
    expect sagemaker
}

@test "SageMaker's document, all that a bare container has" {
    local i
    for i in 1 2; do
        mkdir -p "$T/algo-$i/opt/ml/input/config" "$T/algo-$i/dev"
        echo "{\"current_host\": \"algo-$i\", \"hosts\": [\"algo-1\", \"algo-2\"], \"network_interface_name\": \"eth0\"}" \
            >"$T/algo-$i/opt/ml/input/config/resourceconfig.json"
        TREE=algo-$i node "algo-$i" -- --nproc-per-node 2
    done
    expect sagemaker-document
}

@test "SageMaker: a host that is not of the job" {
    refuse 78 "SM_CURRENT_HOST says that this is algo-3, which is not among the hosts of SM_HOSTS" \
        algo-3 SM_HOSTS='["algo-1"]' SM_CURRENT_HOST=algo-3 --
}

@test "torchx: the first replica is told localhost" {
    local i hosts=(localhost job-t-0-0.job)
    for i in 0 1; do
        node "job-t-$i-0" TORCHX_REPLICA_IDX=$i TORCHX_RANK0_HOST="${hosts[i]}" TORCHX_JOB_ID=kubernetes://x/job \
            -- --nnodes 2 --nproc-per-node 2
    done
    expect torchx localhost
}

@test "torchx on Volcano, where each replica is a task of its own with index 0" {
    local i
    for i in 0 1; do
        node "job-t-$i-0" TORCHX_REPLICA_IDX=$i VC_TASK_INDEX=0 VK_TASK_INDEX=0 VC_T_0_NUM=1 VC_T_1_NUM=1 \
            VC_T_0_HOSTS=job-t-0-0.job VC_T_1_HOSTS=job-t-1-0.job -- --nnodes 2 --nproc-per-node 2 \
            --rdzv-backend c10d --rdzv-endpoint job-t-0-0.job
    done
    expect torchx-volcano
}

# ---- RANK and WORLD_SIZE, from wherever ----------------------------------------------------------

@test "RANK and WORLD_SIZE that are said to count nodes" {
    local i
    for i in 0 1; do
        node "n$i" RANK=$i WORLD_SIZE=2 MASTER_ADDR=n0 -- --rank-means node --nproc-per-node 2
    done
    expect bare-nodes
}

@test "RANK and WORLD_SIZE that are said to count processes" {
    local i
    for i in 0 1; do node "n$i" RANK=$i WORLD_SIZE=2 MASTER_ADDR=n0 -- --rank-means process; done
    expect bare-processes
}

@test "RANK and WORLD_SIZE beside LOCAL_RANK count processes" {
    local i
    for i in 0 1 2 3; do
        node "n$((i / 2))" RANK=$i WORLD_SIZE=4 LOCAL_RANK=$((i % 2)) LOCAL_WORLD_SIZE=2 MASTER_ADDR=n0 --
    done
    expect bare-local-rank
}

@test "RANK and WORLD_SIZE that may count either" {
    refuse 78 "RANK=1 and WORLD_SIZE=4 may count nodes or processes: state --rank-means node or" \
        n1 RANK=1 WORLD_SIZE=4 MASTER_ADDR=n0 -- --nproc-per-node 2
}
