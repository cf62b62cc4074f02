#!/usr/bin/env bash
# shoal launch --hosts, with a stand-in for ssh that does what sshd does: it hands its arguments, joined by spaces, to
# a shell. Usage: remote_test.sh path/to/shoal path/to/print_place
set -uo pipefail
shoal=$1 print_place=$2
. "$(dirname "$0")/support.sh"

cat >"$scratch/ssh" <<'END'
#!/bin/bash
[ "$1" = -q ] && shift
host=$1
shift
[ "$host" = unreachable ] && { echo "ssh: connect to host $host: No route to host" >&2; exit 255; }
cd /
export FAKE_HOST=$host
exec env -u RANK -u SHOAL_NODE sh -c "$*"
END
chmod +x "$scratch/ssh"
export SHOAL_SSH="$scratch/ssh -q"
cd "$scratch" || exit 1

scenario=each_process_knows_its_place_and_its_secret
run "$shoal" launch --hosts me@alpha,beta:2 -n 3 --name fish -- "$print_place" --secret
expect_equal "$rc|$err" "0|"
expect_has "$out" '[0] {"rank":0,"world":3,"local_rank":0,"local_world":1,"master_addr":"alpha",'
expect_has "$out" '[1] {"rank":1,"world":3,"local_rank":0,"local_world":2,"master_addr":"alpha",'
expect_has "$out" '[2] {"rank":2,"world":3,"local_rank":1,"local_world":2,"master_addr":"alpha",'
expect_equal "$(grep -oE '[0-9a-f]{64}$' <<<"$out" | sort | uniq -c | awk '{ print $1 }')" 3

scenario=words_settings_and_the_directory_arrive_unchanged
mkdir "$scratch/it's a dir"
cd "$scratch/it's a dir" || exit 1
run "$shoal" launch --hosts a --no-tag --env 'A=it'\''s "x" $HOME `id`' -- \
  sh -c 'printf "<%s>" "$FAKE_HOST" "$PWD" "$A" "$@"' name 'a b' '' '*' '$(id)' '!' "'" $'new\nline'
cd "$scratch" || exit 1
expect_equal "$rc|$err" "0|"
expect_equal "$out" "<a><$scratch/it's a dir><it's \"x\" \$HOME \`id\`><a b><><*><\$(id)><!><'><new
line>"

scenario=the_token_is_in_no_command_line_and_no_environment
run "$shoal" launch --hosts a --no-tag -- bash -c 'token=$(cat <&3)
  [ ${#token} -eq 64 ] || exit 9
  for p in $$ $PPID $(awk "/^PPid/ { print \$2 }" /proc/$PPID/status); do tr "\0" "\n" <"/proc/$p/cmdline"; tr "\0" "\n" <"/proc/$p/environ"; done |
    grep -cF -- "$token"'
expect_equal "$out" 0

scenario=the_first_failing_status_is_returned_and_the_others_end
run "$shoal" launch --hosts a,b,c -- sh -c 'echo $$ >'"$scratch"'/rank$RANK
  if [ $RANK = 1 ]; then while [ ! -s '"$scratch"'/rank0 ] || [ ! -s '"$scratch"'/rank2 ]; do sleep 0.01; done; exit 7; fi
  while :; do sleep 0.01; done'
expect_equal "$rc|$out" "7|"
expect_equal "$err" "shoal launch: rank 1 on b failed first: exit status 7; ending the others"
for rank in 0 1 2; do await "is_dead $(<"$scratch/rank$rank")"; done
run "$shoal" launch --hosts a -- sh -c 'kill -KILL $$'
expect_equal "$rc" 137

scenario=a_host_that_cannot_be_reached_is_named
run "$shoal" launch --hosts a,unreachable -- sleep 1000
expect_equal "$rc" 255
expect_has "$err" "[1] ssh: connect to host unreachable: No route to host"
expect_has "$err" "rank 1 on unreachable failed first: exit status 255 (the connection failed, or the program)"

scenario=a_program_that_is_not_there_is_named
run "$shoal" launch --hosts a -- nonexistent-program
expect_equal "$rc" 127
expect_has "$err" "nonexistent-program"
SHOAL_SSH=nonexistent-ssh run "$shoal" launch --hosts a -- true
expect_equal "$rc" 127
expect_has "$err" "nonexistent-ssh"

scenario=signals_are_passed_on
rm -f "$scratch"/rank*
start "$shoal" launch --hosts a,b -- bash -c 'trap "echo usr" USR1; trap "echo term; exit 6" TERM; echo $$ >'"$scratch"'/rank$RANK
  while :; do sleep 0.01; done'
await 'has_pid $scratch/rank0 && has_pid $scratch/rank1'
kill -USR1 "$pid"
await '[ "$(grep -c usr $scratch/out)" -eq 2 ]'
kill -TERM "$pid"
wait "$pid"
expect_equal "$?" 6
expect_equal "$(sort "$scratch/out" | tr '\n' ,)" "[0] term,[0] usr,[1] term,[1] usr,"

scenario=a_second_interrupt_kills_there_too
rm -f "$scratch"/rank*
start "$shoal" launch --hosts a,b -- sh -c 'trap "" INT TERM; echo $$ >'"$scratch"'/rank$RANK; while :; do sleep 0.01; done'
await 'has_pid $scratch/rank0 && has_pid $scratch/rank1'
kill -INT "$pid"
await 'kill -INT "$pid" 2>/dev/null; grep -q "interrupted again" $scratch/err'
wait "$pid"
expect_equal "$?" 137
for rank in 0 1; do await "is_dead $(<"$scratch/rank$rank")"; done

scenario=nobody_there_outlives_a_killed_launcher
start "$shoal" launch --hosts a,b -- sh -c 'sleep 1000 & echo $! >'"$scratch"'/inner$RANK; echo $$ >'"$scratch"'/outer$RANK; wait'
await 'has_pid $scratch/outer0 && has_pid $scratch/outer1 && has_pid $scratch/inner0 && has_pid $scratch/inner1'
kill -KILL "$pid"
wait "$pid" 2>/dev/null
for name in outer0 outer1 inner0 inner1; do await "is_dead $(<"$scratch/$name")"; done

scenario=failed_ranks_are_started_again
run "$shoal" launch --hosts a,b --restart 2 -- sh -c 'echo life $SHOAL_LIFE; [ $SHOAL_LIFE = 2 ] || exit 5'
expect_equal "$rc" 0
expect_equal "$(sort <<<"$out" | tr '\n' ,)" "[0] life 1,[0] life 2,[1] life 1,[1] life 2,"

[ "$failures" -eq 0 ] && echo "all scenarios passed"
exit $((failures > 0))
