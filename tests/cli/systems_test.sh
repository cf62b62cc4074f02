#!/usr/bin/env bash
# `shoal systems` prints the table of the docs. Usage: systems_test.sh path/to/shoal source-folder
set -uo pipefail
shoal=$1
root=$2
failures=0
fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

"$shoal" systems --markdown | diff "$root/docs/systems.md" - || fail 'docs/systems.md is old: run tools/update-docs'
"$shoal" systems | grep -E '^horovod +2018 +64 MiB +central, synchronous' >/dev/null || fail 'the table has no horovod'
"$shoal" systems --json | python3 -c '
import json, sys
systems = {s["name"]: s for s in json.load(sys.stdin)}
assert systems["bigdl"]["aliases"] == ["caffeonspark"], systems["bigdl"]
assert systems["gosgd"]["criteria"]["kind"] == "decentral, asynchronous", systems["gosgd"]
assert systems["downpour"]["criteria"]["needs_balanced_data"] and systems["downpour"]["criteria"]["resilience"] == 3
assert systems["project-adam-epoch"]["recipe"]["epoch-fraction"] == "0.75"
assert all(s["citation"] and s["recipe"]["update"] for s in systems.values())
' || fail 'the JSON is not as it should be'
"$shoal" systems --json --markdown 2>/dev/null && fail 'two formats at once'
exit $((failures > 0))
