#!/usr/bin/env bash
# Ranks from foreign launchers: a real mpirun, and the variables that srun and torchrun set.
# Usage: launchers_test.sh path/to/shoal path/to/print_place
set -uo pipefail
shoal=$1 print_place=$2
. "$(dirname "$0")/support.sh"
export XDG_RUNTIME_DIR="$scratch/runtime"
mkdir -m 700 "$XDG_RUNTIME_DIR"

scenario=mpirun
as_root=()
[ "$(id -u)" -ne 0 ] || as_root=(--allow-run-as-root)
mpirun=(mpirun "${as_root[@]}" --oversubscribe)
run "${mpirun[@]}" -n 3 "$print_place"
expect_equal "$rc" 0
for rank in 0 1 2; do
  expect_has "$out" "{\"rank\":$rank,\"world\":3,\"local_rank\":$rank,\"local_world\":3,\"master_addr\":\"127.0.0.1\",\"master_port\":2"
done
expect_equal "$(grep -c '"source":"Open MPI"' <<<"$out")" 3
expect_equal "$(grep -oE '"master_port":2[0-9]{4},"job":"[^"]+"' <<<"$out" | sort -u | wc -l)" 1

# Rank 0 makes the secret, the others find it; nothing is left behind. Rank 0 stays until its stdin ends.
scenario=mpirun_with_a_shared_secret
mkfifo "$scratch/stdin"
"${mpirun[@]}" -n 3 "$print_place" --secret <"$scratch/stdin" >"$scratch/out" 2>"$scratch/err" &
pid=$!
started+=("$pid")
exec {hold}>"$scratch/stdin"
await '[ "$(wc -l <$scratch/out)" -eq 3 ]'
exec {hold}>&-
wait "$pid"
expect_equal "$?" 0
expect_equal "$(grep -oE '[0-9a-f]{64}$' "$scratch/out" | sort | uniq -c | awk '{ print $1 }')" 3
expect_equal "$(ls -A "$XDG_RUNTIME_DIR")" ""

scenario=mpirun_starts_our_launcher
run "${mpirun[@]}" -n 1 "$shoal" launch -n 2 -- "$print_place"
expect_equal "$(grep -c '"world":2.*"source":"shoal launch"' <<<"$out")" 2

clean=(env -i "PATH=$PATH" "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR")
scenario=srun
run "${clean[@]}" SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_NNODES=2 SLURM_JOB_ID=77 SLURM_STEP_ID=3 \
  'SLURM_STEP_NODELIST=node[03-07,12]' "$print_place"
expect_equal "$rc" 0
expect_has "$out" '{"rank":1,"world":2,"local_rank":0,"local_world":0,"master_addr":"node03",'
expect_has "$out" '"job":"77.3","life":1,"source":"Slurm"}'
# Across hosts no process may join without a secret.
run "${clean[@]}" SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_JOB_ID=77 SLURM_STEP_NODELIST=node3,node4 "$print_place" --secret
expect_equal "$rc" 1
expect_has "$err" "has no secret to join the others at node3"
(umask 077; printf '%064d\n' 0 >"$scratch/token")
run "${clean[@]}" SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_JOB_ID=77 SLURM_STEP_NODELIST=node3,node4 \
  SHOAL_TOKEN_FILE="$scratch/token" "$print_place" --secret
expect_equal "$rc" 0
expect_has "$out" "$(printf '%064d' 0)"

scenario=torchrun
run "${clean[@]}" RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 \
  TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=2 "$print_place"
expect_equal "$rc" 0
expect_equal "$out" '{"rank":3,"world":4,"local_rank":1,"local_world":2,"master_addr":"10.0.0.1","master_port":29500,"job":"none","life":3,"source":"torchrun"}'

scenario=plain_and_nothing
run "${clean[@]}" RANK=0 WORLD_SIZE=2 MASTER_ADDR=10.0.0.1 MASTER_PORT=5000 "$print_place"
expect_has "$out" '{"rank":0,"world":2,'
run "${clean[@]}" "$print_place"
expect_has "$out" '{"rank":0,"world":1,'

scenario=contradiction
run "${clean[@]}" RANK=1 WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=3 "$print_place"
expect_equal "$rc|$out" "1|"
expect_has "$err" "OMPI_COMM_WORLD_RANK=2 (Open MPI) contradicts RANK=1"

[ "$failures" -eq 0 ] && echo "all scenarios passed"
exit $((failures > 0))
