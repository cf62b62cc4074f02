#!/usr/bin/env bash
# The swarm as a program: two processes agree, and a replay shows the same events. Usage: program_test.sh shoal
set -uo pipefail
shoal=$1
failures=0
fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

first=$("$shoal" swarm --seeds 40) || fail "the swarm exits $?"
second=$("$shoal" swarm --seeds 40) || fail "the swarm exits $? the second time"
[ "$first" = "$second" ] || fail "two processes differ: $(diff <(echo "$first") <(echo "$second"))"
other=$("$shoal" swarm --seeds 40 --first 1)
[ "${first##*hash}" != "${other##*hash}" ] || fail "other seeds have the same hash"
grep -q '40 seeds from 0, each twice: [0-9]* messages, 0 failures, hash 0x' <<<"$first" || fail "no closing line: $first"

replay=$("$shoal" swarm --seed 38)
grep -qE '^fault: +[0-9.]+ s [a-z -]+ node [0-9]' <<<"$replay" || fail "the replay does not tell its faults: $replay"

"$shoal" swarm --workload nonsense >/dev/null 2>&1
[ $? -eq 1 ] || fail "an unknown workload is no usage error"
refused=$("$shoal" bench sim --scale 0 2>&1)
grep -qF -- '--scale 0 is not in (0, 100]' <<<"$refused" || fail "a scale of 0 is not refused: $refused"
json=$(mktemp)
rows=$("$shoal" bench sim --scale 0.01 --repeats 1 --json "$json") || fail "the benchmark exits $?"
grep -q 'WRONG' <<<"$rows" && fail "a benchmark's result is wrong: $rows"
grep -q '"case": "messages, bare"' "$json" || fail "no rows in the JSON file"
rm -f "$json"
exit $((failures > 0))
