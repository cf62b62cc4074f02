#!/usr/bin/env bash
# Jobs started in every usual way, and in ways that cannot work: each of those explains why.
#
#   starts_test.sh SHOAL LIVE_RANK
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../launch/support.sh"
shoal=$1 rank=$2
port=$((20000 + RANDOM % 9000))
token_a=$(printf 'a%.0s' {1..64}) token_b=$(printf 'b%.0s' {1..64})
printf '%s\n' "$token_a" >"$scratch/a" && printf '%s\n' "$token_b" >"$scratch/b" && chmod 600 "$scratch"/[ab]

# fresh: a folder for the logs of one job, and a port that no other job of this script had.
fresh() { folder=$(mktemp -d "$scratch/job.XXXXXX"); port=$((port + 1)); }
train=("$rank" --dimensions 1000 --batch 8)
# all_equal N: each of N ranks has finished, with the same parameters.
all_equal() {
  local hashes
  hashes=$(awk '/^done/ { print $4 }' "$folder"/rank-*.log 2>/dev/null)
  expect_equal "$(wc -l <<<"$hashes") finished, $(sort -u <<<"$hashes" | wc -l) results" "$1 finished, 1 results"
}
# by_hand RANK WORLD VARIABLE=VALUE...: starts a rank in the background, with a plain environment.
pids=()
secret=SHOAL_TOKEN_FILE=$scratch/a
by_hand() {
  env RANK="$1" WORLD_SIZE="$2" LOCAL_RANK="$1" LOCAL_WORLD_SIZE="$2" MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" \
    "$secret" "${@:3}" "${train[@]}" --folder "$folder" --steps "${steps:-30}" \
    >"$folder/out.$1.${#pids[@]}" 2>&1 </dev/null &
  pids+=($!) started+=($!)
}
wait_all() { local p; codes=; for p in "${pids[@]}"; do wait "$p"; codes+="$? "; done; pids=(); }

scenario=shoal_launch
fresh
run "$shoal" launch -n 4 -- "${train[@]}" --folder "$folder" --steps 30
expect_equal "$rc" 0
all_equal 4

scenario=mpirun
fresh
run mpirun --allow-run-as-root --oversubscribe -n 3 "${train[@]}" --folder "$folder" --steps 30
expect_equal "$rc" 0
all_equal 3

scenario=srun
fresh
for r in 0 1; do
  env SLURM_JOB_ID="$port" SLURM_STEP_ID=0 SLURM_PROCID=$r SLURM_NTASKS=2 SLURM_LOCALID=$r SLURM_TASKS_PER_NODE=2 \
    SLURM_STEP_TASKS_PER_NODE=2 SLURM_STEP_NODELIST=localhost SHOAL_TOKEN_FILE="$scratch/a" \
    "${train[@]}" --folder "$folder" --steps 30 >"$folder/out.$r" 2>&1 </dev/null &
  pids+=($!) started+=($!)
done
wait_all
expect_equal "$codes" "0 0 "
[ "$codes" = "0 0 " ] || cat "$folder"/out.*
all_equal 2

scenario=torchrun
fresh
for r in 0 1; do by_hand "$r" 2 TORCHELASTIC_RUN_ID=fish TORCHELASTIC_USE_AGENT_STORE=False; done
wait_all
expect_equal "$codes" "0 0 "
all_equal 2

scenario=plain_variables_and_a_shared_token
fresh
secret=NOTHING=
for r in 0 1; do by_hand "$r" 2; done
wait_all
secret=SHOAL_TOKEN_FILE=$scratch/a
expect_equal "$codes" "0 0 "
all_equal 2

scenario=another_secret
fresh
steps=100000000
by_hand 0 2
by_hand 1 2 SHOAL_TOKEN_FILE="$scratch/b"
wait "${pids[1]}"
expect_equal "$?" 1
expect_has "$(cat "$folder"/out.1.*)" "another token"
kill -TERM "${pids[0]}" && wait "${pids[0]}" 2>/dev/null
pids=()

scenario=a_port_in_use
fresh
start python3 -c "
import socket, time
s = socket.socket(); s.bind(('127.0.0.1', $port)); s.listen(); print('up', flush=True); time.sleep(60)"
await 'grep -q up "$scratch/out"'
by_hand 0 2
wait_all
expect_equal "$codes" "1 "
expect_has "$(cat "$folder"/out.0.*)" "port $port of 127.0.0.1 is in use"
kill "$pid"

scenario=a_rank_given_twice
fresh
steps=100000000
by_hand 0 2
by_hand 1 2
await 'grep -qs ^step "$folder/rank-0.log"'
by_hand 1 2
wait "${pids[2]}"
expect_equal "$?" 1
expect_has "$(cat "$folder"/out.1.2)" "node 1"
expect_has "$(cat "$folder"/out.1.2)" "process"
kill -TERM "${pids[@]:0:2}" && wait "${pids[@]:0:2}" 2>/dev/null
pids=()

scenario=a_store_that_answers_nonsense
fresh
start python3 -m http.server "$port" --bind 127.0.0.1 --directory "$folder"
await '(exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null'
by_hand 0 1 SHOAL_STORE="http://127.0.0.1:$port"
wait_all
expect_equal "$codes" "1 "
expect_has "$(cat "$folder"/out.0.*)" "is this an etcd 3.4 or later?"
kill "$pid"

scenario=nothing_is_left_behind
fresh
# In folders of its own, because other tests make and remove files meanwhile.
mkdir "$folder/tmp"
before=$(ls /dev/shm)
start env TMPDIR="$folder/tmp" "$shoal" launch -n 3 -- "${train[@]}" --folder "$folder" --steps 100000000
await 'grep -qs ^step "$folder/rank-2.log"'
ranks=$(awk '/^pid/ { print $2 }' "$folder"/rank-*.log)
kill -KILL "$pid"
wait "$pid" 2>/dev/null
for p in $ranks; do await "is_dead $p"; done
expect_equal "$(ls "$folder/tmp")" ""
expect_equal "$(comm -13 <(echo "$before") <(ls /dev/shm))" ""

[ "$failures" -eq 0 ] || exit 1
