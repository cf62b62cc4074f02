#!/usr/bin/env bash
# shoal launch as a user meets it, with real processes. Usage: program_test.sh path/to/shoal path/to/print_place
set -uo pipefail
shoal=$1 print_place=$2
. "$(dirname "$0")/support.sh"

scenario=each_process_knows_its_place
run "$shoal" launch -n 3 --name fish -- "$print_place" --secret
expect_equal "$rc|$err" "0|"
for rank in 0 1 2; do
  expect_has "$out" "[$rank] {\"rank\":$rank,\"world\":3,\"local_rank\":$rank,\"local_world\":3,\"master_addr\":\"127.0.0.1\""
done
expect_has "$out" '"job":"fish","life":1,"source":"shoal launch"}'
expect_equal "$(grep -oE '"master_port":[0-9]+' <<<"$out" | sort -u | wc -l)" 1
expect_equal "$(grep -oE '[0-9a-f]{64}$' <<<"$out" | sort | uniq -c | awk '{ print $1 }')" 3

scenario=the_token_is_in_no_command_line_and_no_environment
run "$shoal" launch -n 1 -- bash -c 'token=$(cat <&3)
  [ ${#token} -eq 64 ] || exit 9
  cat /proc/$PPID/cmdline /proc/$PPID/environ /proc/$$/cmdline /proc/$$/environ | tr "\0" "\n" | grep -cF -- "$token"'
expect_equal "$out" 0

scenario=other_launchers_variables_are_set_too
run "$shoal" launch -n 2 --no-tag --store http://a:1,http://b:2 --listen 127.0.0.1:4321 -- \
  sh -c 'echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR:$MASTER_PORT $SHOAL_STORE $SHOAL_LISTEN'
expect_equal "$(sort <<<"$out")" "0/2 0/2 127.0.0.1:4321 http://a:1,http://b:2 127.0.0.1:4321
1/2 1/2 127.0.0.1:4321 http://a:1,http://b:2 127.0.0.1:4321"

scenario=arguments_and_settings_arrive_unchanged
run "$shoal" launch -n 1 --env 'A=it'\''s "x" $HOME' 'B=[1,2]' -- \
  sh -c 'printf "<%s>" "$A" "$B" "$@"' name '[1,2]' -- --help doctor '' 'a b' '*' $'new\nline'
expect_equal "$rc|$err" "0|"
expect_equal "$out" "<it's \"x\" \$HOME><[1,2]><[1,2]><--><--help><doctor><><a b><*><new
line>"

scenario=one_process_prints_as_if_alone
head -c 3000000 /dev/urandom >"$scratch/random"
"$shoal" launch -n 1 -- cat "$scratch/random" | cmp - "$scratch/random" || fail "the bytes differ"
expect_equal "$("$shoal" launch -n 1 --tag-output -- printf 'a\nb')" $'[0] a\n[0] b'

scenario=lines_of_many_stay_whole_behind_a_slow_reader
"$shoal" launch -n 6 -- awk 'BEGIN { r = ENVIRON["RANK"]; for (i = 0; i < 20000; ++i) {
  printf "%d:%d:", r, i; if (i % 100 == 0) fflush(); for (j = i % 40; j > 0; --j) printf "x"; print "" } }' |
  { sleep 0.5; cat; } >"$scratch/lines"
expect_equal "$(awk '
  !/^\[[0-5]\] [0-5]:[0-9]+:x*$/ { print "torn: " $0; next }
  { r = substr($0, 2, 1); split($2, f, ":")
    if (f[1] != r || f[2] != next_line[r]++ || length(f[3]) != f[2] % 40) print "wrong: " $0; lines++ }
  END { print lines }' "$scratch/lines")" 120000

scenario=both_streams_in_one_file_stay_whole
"$shoal" launch -n 4 -- sh -c 'i=0; while [ $i -lt 300 ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); done; printf "the end"' \
  >"$scratch/both" 2>&1
expect_equal "$(grep -cE '^\[[0-3]\] (out|err) [0-9]+$' "$scratch/both")" 2400
expect_equal "$(grep -cE '^\[[0-3]\] the end$' "$scratch/both")" 4
expect_equal "$(tail -c 1 "$scratch/both")" d

scenario=the_first_failing_status_is_returned_and_the_others_end
run "$shoal" launch -n 3 -- sh -c '[ $RANK = 1 ] && exit 7; sleep 1000'
expect_equal "$rc|$out" "7|"
expect_has "$err" "rank 1 failed first: exit status 7; ending the others"
run "$shoal" launch -n 2 -- sh -c '[ $RANK = 1 ] && kill -SEGV $$; sleep 1000'
expect_equal "$rc" 139
expect_has "$err" "rank 1 failed first: killed by signal 11 (Segmentation fault)"

scenario=failed_ranks_are_started_again
run "$shoal" launch -n 2 --restart 3 -- sh -c 'echo life $SHOAL_LIFE; [ $SHOAL_LIFE = 2 ] || exit 5'
expect_equal "$rc" 0
expect_equal "$(sort <<<"$out" | tr '\n' ,)" "[0] life 1,[0] life 2,[1] life 1,[1] life 2,"
expect_has "$err" "restarting it, 2 of 3"
run "$shoal" launch -n 2 --restart 2 -- sh -c '[ $RANK = 0 ] && exit 5; sleep 1000'
expect_equal "$rc" 5
expect_has "$err" "restarting it, 2 of 2"
expect_has "$err" "rank 0 failed first: exit status 5; ending the others"

scenario=an_elastic_job_goes_on_without_the_failed
run "$shoal" launch -n 3 --keep-going -- sh -c '[ $RANK = 0 ] && exit 3; sleep 0.2; echo fine'
expect_equal "$rc" 0
expect_equal "$(sort <<<"$out" | tr '\n' ,)" "[1] fine,[2] fine,"
run "$shoal" launch -n 2 --keep-going -- sh -c '[ $RANK = 0 ] && exit 3; sleep 0.2; exit 4'
expect_equal "$rc" 3

scenario=signals_are_passed_on
start "$shoal" launch -n 2 -- bash -c 'trap "echo usr" USR1; trap "echo term; exit 6" TERM; echo $$ >'"$scratch"'/ready$RANK
  while :; do sleep 0.01; done'
await 'has_pid $scratch/ready0 && has_pid $scratch/ready1'
kill -USR1 "$pid"
await '[ "$(grep -c usr $scratch/out)" -eq 2 ]'
kill -TERM "$pid"
wait "$pid"
expect_equal "$?" 6
expect_equal "$(sort "$scratch/out" | tr '\n' ,)" "[0] term,[0] usr,[1] term,[1] usr,"
rm "$scratch"/ready*

scenario=a_second_interrupt_kills
start "$shoal" launch -n 2 -- sh -c 'trap "" INT TERM; echo $$ >'"$scratch"'/ready$RANK; while :; do sleep 0.01; done'
await 'has_pid $scratch/ready0 && has_pid $scratch/ready1'
kill -INT "$pid"
kill -0 "$(<"$scratch/ready0")" || fail "the first interrupt has killed it"
# Two signals of one kind may merge as long as the first has not been handled.
await 'kill -INT "$pid" 2>/dev/null; grep -q "interrupted again" $scratch/err'
wait "$pid"
expect_equal "$?" 137
for rank in 0 1; do await "is_dead $(<"$scratch/ready$rank")"; done
rm "$scratch"/ready*

scenario=nobody_outlives_a_killed_launcher
start "$shoal" launch -n 2 -- sh -c 'sleep 1000 & echo $! >'"$scratch"'/inner$RANK; echo $$ >'"$scratch"'/outer$RANK; wait'
await 'has_pid $scratch/outer0 && has_pid $scratch/outer1 && has_pid $scratch/inner0 && has_pid $scratch/inner1'
kill -KILL "$pid"
wait "$pid" 2>/dev/null
for name in outer0 outer1 inner0 inner1; do await "is_dead $(<"$scratch/$name")"; done

scenario=a_reader_that_leaves_ends_the_job
"$shoal" launch -n 2 -- sh -c 'echo $$ >'"$scratch"'/writer$RANK; while :; do echo line; done' 2>"$scratch/err" |
  head -n 3 >"$scratch/out"
expect_equal "${PIPESTATUS[0]}" 141
expect_has "$(<"$scratch/err")" "stdout cannot be written: Broken pipe; ending the job"
for rank in 0 1; do # One may have been ended before it wrote who it is.
  [ ! -s "$scratch/writer$rank" ] || await "is_dead $(<"$scratch/writer$rank")"
done

# refuse STATUS TEXT ARGUMENT...: checks the refusal, and that no process was started.
refuse() {
  local status=$1 text=$2
  shift 2
  scenario="refused: $*"
  run "$shoal" launch "$@"
  expect_equal "$rc|$out" "$status|"
  expect_has "$err" "$text"
  [ ! -e "$scratch/started" ] || fail "something was started"
}
touch_it=(touch "$scratch/started")
printf 'text' >"$scratch/plain"
refuse 1 "-n 0" -n 0 -- "${touch_it[@]}"
refuse 1 "-n -1" --ranks=-1 -- "${touch_it[@]}"
refuse 1 "-n two" -n two -- "${touch_it[@]}"
refuse 1 "the number of processes is missing" -- "${touch_it[@]}"
refuse 1 "write -- before the program" -n 2 "${touch_it[@]}"
refuse 1 "the program is missing" -n 2 --
refuse 1 "'stray' is not an option" -n 2 stray -- "${touch_it[@]}"
refuse 127 "the program 'nonexistent-program' was not found in PATH; nothing was started" -n 2 -- nonexistent-program
refuse 127 "'./nothing' was not found" -n 2 -- ./nothing
refuse 126 "$scratch/plain is not executable" -n 2 -- "$scratch/plain"
refuse 126 "is a folder" -n 2 -- "$scratch"
refuse 1 "--env 1X=2" -n 1 --env 1X=2 -- "${touch_it[@]}"
refuse 1 "--env X" -n 1 --env X -- "${touch_it[@]}"
refuse 1 "'' is not the name of a host" -n 2 --hosts a,,b -- "${touch_it[@]}"
refuse 1 "'b:no'" --hosts a,b:no -- "${touch_it[@]}"
refuse 1 "--listen here:99999" -n 1 --listen here:99999 -- "${touch_it[@]}"
refuse 1 "exclude each other" -n 1 --tag-output --no-tag -- "${touch_it[@]}"
refuse 1 "Did you mean '--hosts'" -n 1 --host a -- "${touch_it[@]}"

[ "$failures" -eq 0 ] && echo "all scenarios passed"
exit $((failures > 0))
