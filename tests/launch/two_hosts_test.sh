#!/usr/bin/env bash
# tools/two-hosts: its counts, exit codes and leftovers. Usage: two_hosts_test.sh path/to/two-hosts
set -uo pipefail
two_hosts=$1
. "$(dirname "$0")/support.sh"
export TMPDIR="$scratch/tmp"
mkdir "$TMPDIR"

refuse() {
  scenario="refused: $*"
  local text=$1
  shift
  run "$two_hosts" "$@"
  expect_equal "$rc|$out" "2|"
  expect_has "$err" "$text"
}
refuse "'' is not a rate" -- true
refuse "'fast' is not a rate" fast -- true
refuse "the command is missing" 1gbit
refuse "comes after the rate" 1gbit true
refuse "unknown option '--cutt'" --cutt 1gbit -- true
refuse "--cut 3" --cut 3 1gbit -- true
scenario=no_such_command
run "$two_hosts" 1gbit -- nonexistent-program
expect_equal "$rc" 127

scenario=without_root_it_is_skipped
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  # Copied to a folder that any user may read: the checkout may be in root's own folder.
  readable=$(mktemp -d -p /tmp)
  cp "$two_hosts" "$readable/two-hosts"
  chmod -R a+rX "$readable"
  run setpriv --reuid 65534 --regid 65534 --clear-groups bash "$readable/two-hosts" 1gbit -- true
  rm -r "$readable"
  expect_equal "$rc|$out" "77|"
  expect_has "$err" "needs root"
fi

scenario=a_rank_in_each
run "$two_hosts" 1gbit -- bash -c 'echo "$RANK/$WORLD_SIZE at $SHOAL_HOST_ADDRESS of $MASTER_ADDR:$MASTER_PORT"
  tc qdisc show dev "$SHOAL_DEVICE"; echo "to stderr" >&2; stat -c %a "$SHOAL_TOKEN_FILE"; printf "the end"'
if [ "$rc" -eq 77 ]; then
  echo "skipped: $err"
  exit 77
fi
expect_equal "$rc" 0
expect_has "$out" "[0] 0/2 at 10.77.0.1 of 10.77.0.1:29500"
expect_has "$out" "[1] 1/2 at 10.77.0.2 of 10.77.0.1:29500"
expect_equal "$(grep -c '^\[[01]\] qdisc tbf .* rate 1Gbit' <<<"$out")" 2
expect_equal "$(grep -c '^\[[01]\] 600$' <<<"$out")" 2
expect_equal "$(grep -c '^\[[01]\] the end$' <<<"$out")" 2
expect_equal "$(sort <<<"$err" | tr '\n' ,)" "[0] to stderr,[1] to stderr,"
expect_has "$(tail -n 1 <<<"$out")" "bytes over a link of 1gbit in"

# Nothing of that process is left: no namespace, link or folder. A namespace goes a moment after its last process.
expect_nothing_of() {
  await '! ip netns list | grep -q "^shoal-'"$1"'-"'
  await '! ip -o link show | grep -q " sh'"$1"'[ab][@:]"'
  expect_equal "$(ls -A "$TMPDIR")" ""
}

scenario=bytes_are_counted
cat >"$scratch/transfer.py" <<'END'
# Rank 1 sends 10 MB to rank 0, which answers when it has them all.
import os, socket, time
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
size = 10_000_000
if os.environ["RANK"] == "0":
    server = socket.create_server(address)
    connection = server.accept()[0]
    got = 0
    while got < size:
        got += len(connection.recv(1 << 20))
    connection.sendall(b"all here")
else:
    while True:
        try:
            connection = socket.create_connection(address)
            break
        except OSError:
            time.sleep(0.02)
    connection.sendall(bytes(size))
    assert connection.recv(100) == b"all here"
END
run "$two_hosts" --json "$scratch/report.json" 1gbit -- python3 "$scratch/transfer.py"
expect_equal "$rc|$err" "0|"
read -r back there < <(python3 -c '
import json, sys
print(*json.load(open(sys.argv[1]))["sent_bytes"])' "$scratch/report.json")
expect_equal "$(tail -n 1 <<<"$out" | grep -oE '^two-hosts: rank 0 sent [0-9]+ bytes, rank 1 sent [0-9]+ bytes')" \
  "two-hosts: rank 0 sent $back bytes, rank 1 sent $there bytes"
# Headers add a few per cent at most, and so do the answers on the way back.
[ "$there" -ge 10000000 ] && [ "$there" -le 11000000 ] || fail "10 MB counted as $there"
[ "$back" -ge 8 ] && [ "$back" -le 2000000 ] || fail "the way back counted as $back"

scenario=talk_inside_of_a_host_is_not_counted
run "$two_hosts" 1gbit -- sh -c 'MASTER_ADDR=127.0.0.1 RANK=0 python3 '"$scratch"'/transfer.py &
  MASTER_ADDR=127.0.0.1 RANK=1 python3 '"$scratch"'/transfer.py && wait'
expect_equal "$rc" 0
sent=$(tail -n 1 <<<"$out" | grep -oE 'rank 1 sent [0-9]+' | grep -oE '[0-9]+$')
[ "$sent" -le 10000 ] || fail "$sent bytes on the link, and nobody has used it"

scenario=a_failing_status_is_passed_on_and_the_other_ends
start "$two_hosts" 1gbit -- bash -c 'if [ $RANK = 0 ]; then echo $$ >'"$scratch"'/waiting; exec sleep 1000; fi
  while [ ! -s '"$scratch"'/waiting ]; do sleep 0.01; done; exit 7'
wait "$pid"
expect_equal "$?" 7
expect_equal "$(<"$scratch/err")" "two-hosts: rank 1 failed first: status 7; ending the other"
await "is_dead $(<"$scratch/waiting")"
expect_nothing_of "$pid"
run "$two_hosts" --keep-going 1gbit -- bash -c '[ $RANK = 0 ] && exit 3; sleep 0.3; echo done'
expect_equal "$rc" 3
expect_has "$out" "[1] done"

scenario=what_a_rank_leaves_behind_goes
start "$two_hosts" 1gbit -- bash -c 'setsid sleep 1000 & echo $! >'"$scratch"'/left$RANK'
wait "$pid"
expect_equal "$?" 0
for rank in 0 1; do await "is_dead $(<"$scratch/left$rank")"; done
expect_nothing_of "$pid"

# A process that ignores the signal is killed after the grace period.
for case in TERM:143:'trap "" TERM' INT:130:true; do
  IFS=: read -r signal status reaction <<<"$case"
  scenario="ended by $signal"
  rm -f "$scratch"/ready*
  # Background jobs of a script ignore SIGINT, unless they say otherwise.
  start env --default-signal=INT "$two_hosts" --cut 500:1 1gbit -- \
    bash -c "$reaction"'; sleep 1000 & echo $$ >'"$scratch"'/ready$RANK; wait; wait'
  await 'has_pid $scratch/ready0 && has_pid $scratch/ready1'
  kill -s "$signal" "$pid"
  wait "$pid"
  expect_equal "$?" "$status"
  for rank in 0 1; do await "is_dead $(<"$scratch/ready$rank")"; done
  expect_nothing_of "$pid"
done

scenario=what_a_killed_run_leaves_is_swept_by_the_next
rm -f "$scratch"/ready*
start "$two_hosts" 1gbit -- bash -c 'sleep 1000 & echo $! >'"$scratch"'/ready$RANK; wait'
await 'has_pid $scratch/ready0 && has_pid $scratch/ready1'
kill -KILL "$pid"
wait "$pid" 2>/dev/null
run "$two_hosts" 1gbit -- true
expect_equal "$rc" 0
for rank in 0 1; do await "is_dead $(<"$scratch/ready$rank")"; done
expect_nothing_of "$pid"

scenario=a_cut_link_comes_back
run "$two_hosts" --cut 0.2:0.3 1gbit -- bash -c 'state() { cat /sys/class/net/$SHOAL_DEVICE/carrier 2>/dev/null || echo 0; }
  until [ "$(state)" = 0 ]; do sleep 0.01; done; echo cut; until [ "$(state)" = 1 ]; do sleep 0.01; done; echo back'
expect_equal "$rc" 0
expect_equal "$(grep -cE '^\[[01]\] (cut|back)$' <<<"$out")" 4
expect_has "$err" "the link is cut"

scenario=kept_namespaces_stay
start "$two_hosts" --keep 1gbit -- true
wait "$pid"
expect_equal "$?" 0
for rank in 0 1; do
  ip netns list | grep -q "^shoal-kept-$pid-$rank" || fail "shoal-kept-$pid-$rank is gone"
  ip netns del "shoal-kept-$pid-$rank"
done

[ "$failures" -eq 0 ] && echo "all scenarios passed"
exit $((failures > 0))
