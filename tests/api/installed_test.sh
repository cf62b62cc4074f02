#!/usr/bin/env bash
# Builds a user's program against an installed Shoal, and trains with it.
# Usage: installed_test.sh cmake build-folder example-folder compiler
set -euo pipefail
cmake=$1 build=$2 example=$3 compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/prefix/bin/shoal" --version
# From here on nothing of the source tree is used: the prefix has everything that the example needs.
cp -r "$example" "$work/example"
"$cmake" -G Ninja -S "$work/example" -B "$work/build" -D CMAKE_PREFIX_PATH="$work/prefix" -D CMAKE_BUILD_TYPE=Debug \
  -D CMAKE_CXX_COMPILER="$compiler" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$cmake" --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

program=$work/build/example_02_my_own_module
cd "$work"
"$program" --data synthetic:images,n=640 --steps 20 --batch 16 --out run
test -s run/summary.json
test -s run/checkpoint/step-20/model.safetensors
"$program" --resume run --steps 25 --quiet
test -s run/checkpoint/step-25/model.safetensors
"$program" --data synthetic:images,n=640 --steps 10 --batch 8 --workers 2 --out two --quiet
grep -q '"workers": 2,' two/summary.json
if "$program" --epoch 3 2>err; then echo "an unknown option was taken"; exit 1; fi
grep -q "unknown option '--epoch'. Did you mean '--epochs'" err
