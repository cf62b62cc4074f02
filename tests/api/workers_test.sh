#!/usr/bin/env bash
# A user's program restarts itself for every worker, and ends with their trained model.
# Usage: workers_test.sh example_02_my_own_module
set -euo pipefail
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
data=(--data synthetic:images,n=640 --batch 8)

"$program" "${data[@]}" --steps 20 --workers 2 --out run >out
grep -q "workers   2 processes, 16 samples a step in all" out
grep -q '"workers": 2,' run/summary.json
grep -q '"steps": 20,' run/summary.json
test -s run/checkpoint/step-20/model.safetensors
"$program" --resume run --steps 25 --workers 1 --quiet
grep -q '"consumed": 400,' run/summary.json

if "$program" "${data[@]}" --steps 20 --workers 2 --lr 1e20 --out bad 2>err; then echo "it did not diverge"; exit 1; fi
[ "$(grep -c "^$(basename "$program"): the loss became" err)" -eq 1 ]
