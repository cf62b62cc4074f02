#!/usr/bin/env bash
# A rank whose link is cut: the other goes on, and when the link is back the cut-off one is fenced and rejoins.
# Prints how long the other took: "measured: ...". Exits with 77 where two hosts cannot be made.
#
#   cut_test.sh LIVE_RANK     SHOAL_STRIKES: how often (1)
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../launch/support.sh"
rank=$1
two_hosts=$here/../../tools/two-hosts
scenario=a_rank_is_cut_off

now() { read -r up _ </proc/uptime; printf '%s' "${up/./}0000000"; } # nanoseconds, of the monotonic clock, to 10 ms
last_view() { awk '/^view/ { v = $3 " " $4 } END { print v }' "$scratch/rank-$1.log" 2>/dev/null; }
# in_step MEMBERS: rank 0 makes steps in a view of so many.
in_step() {
  awk -v want="$1" '/^view/ { g = $3; m = $4; s = 0 } /^step/ && $4 == g { s = 1 } END { exit !(m == want && s) }' \
    "$scratch/rank-0.log" 2>/dev/null
}
# first_alone: when rank 0 made its first step in a view of its own; empty before.
first_alone() { awk '/^view/ { alone = $4 == 1 } /^step/ && alone { print $2; exit }' "$scratch/rank-0.log"; }
times=()
for ((strike = 0; strike < ${SHOAL_STRIKES:-1}; ++strike)); do
  rm -f "$scratch"/rank-* && rm -rf "$scratch/files"
  start "$two_hosts" --keep-going --cut 2:3 1gbit -- "$rank" --folder "$scratch" --steps 100000000 \
    --dimensions 20000 --batch 16 --transports ucx
  await 'in_step 2 || ! kill -0 "$pid" 2>/dev/null' || break
  if ! kill -0 "$pid" 2>/dev/null; then
    wait "$pid" && status=0 || status=$?
    [ "$status" -ne 77 ] || exit 77
    fail "ended early with $status: $(<"$scratch/err") $(<"$scratch/out")"
    break
  fi
  await 'grep -q "the link is cut" "$scratch/err"' || break
  cut=$(now)
  await '[ -n "$(first_alone)" ]' || break
  times+=($((($(first_alone) - cut) / 1000000)))
  await 'grep -q "the link is back" "$scratch/err"' || break
  await 'grep -q ^fenced "$scratch/rank-1.log"' || break
  await 'in_step 2' || break
  kill -TERM "$pid"
  wait "$pid" 2>/dev/null
done
if [ "$failures" -gt 0 ]; then
  tail -n 20 "$scratch/err" "$scratch/out"
  exit 1
fi
sorted=($(printf '%s\n' "${times[@]}" | sort -n))
printf 'measured: a cut link, ucx: %d times, median %d ms, worst %d ms\n' \
  "${#sorted[@]}" "${sorted[${#sorted[@]} / 2]}" "${sorted[-1]}"
