#!/usr/bin/env bash
# ./shoalw without network, root or compiler: it runs in a scratch tree (whose path has a space) with a PATH that
# holds only fakes of apt, dpkg, cmake and ctest, and those programs that every Debian has (Essential packages).
# Usage: wrapper_test.sh path/to/the/source/tree
set -uo pipefail
source_tree=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
scenario=""

fail() {
  printf 'FAILED: %s: %s\n' "$scenario" "$1"
  printf -- '--- stdout\n%s\n--- stderr\n%s\n--- calls\n%s\n' "${out-}" "${err-}" "$(calls)"
  failures=$((failures + 1))
}
expect_equal() { [ "$1" = "$2" ] || fail "expected '$2', got '$1'"; }
expect_has() { case $1 in *"$2"*) ;; *) fail "'$2' is missing in: $1" ;; esac; }
expect_lacks() { case $1 in *"$2"*) fail "'$2' should not be in: $1" ;; esac; }

# fake NAME: a program of that name, whose script is on stdin. It logs its call first.
fake() {
  { printf '#!/bin/bash\nprintf "%%s\\n" "%s $*" >>"$FAKE_CALLS"\n' "$1"; cat; } >"$tools/$1"
  chmod +x "$tools/$1"
}
calls() { cat "$FAKE_CALLS" 2>/dev/null; }

begin() {
  scenario=$1
  out="" err=""
  here="$scratch/$scenario"
  tree="$here/the tree"
  tools="$here/tools"
  export FAKE_CALLS="$here/calls" FAKE_INSTALLED="$here/installed"
  mkdir -p "$tree" "$tools"
  cp "$source_tree"/{shoalw,packages.txt,CMakePresets.json} "$tree"
  local program
  for program in awk bash cat chmod cut dirname env flock grep mkdir nproc readlink setarch sleep sort tail true uname wc \
    xargs; do
    ln -s "$(command -v "$program")" "$tools/$program"
  done
  : >"$FAKE_CALLS"
  # Everything of the list is installed, until a scenario says otherwise.
  awk '!/^#/ && NF { print $2 }' "$tree/packages.txt" >"$FAKE_INSTALLED"

  fake id <<<'echo 0'
  fake dpkg-query <<'END'
for package in "${@:3}"; do
  if grep -qx -- "$package" "$FAKE_INSTALLED"; then echo "$package installed"
  else echo "dpkg-query: no packages found matching $package" >&2; rc=1; fi
done
exit "${rc:-0}"
END
  fake apt-get <<'END'
case " $* " in
  *" install "*)
    for word in "$@"; do case $word in -*|*=*|install) ;; *) echo "$word" >>"$FAKE_INSTALLED" ;; esac; done ;;
esac
END
  fake cmake <<'END'
if [ "$1" = --build ]; then
  mkdir -p "build/$3/bin"
  printf '#!/bin/bash\necho "shoal:"; printf "[%%s]" "$@"\nexit 129\n' >"build/$3/bin/shoal"
  chmod +x "build/$3/bin/shoal"
else
  echo configured >"build/$2/build.ninja"
fi
END
  fake ctest <<'END'
case " $* " in *" --show-only "*) exit 0 ;; esac
echo "Test project somewhere"
echo "      Start  1: A.works"
echo " 1/1 Test  #1: A.works ......   Passed    0.01 sec"
echo "100% tests passed, 0 tests failed out of 1"
END
}

# shoalw ARGUMENT...: runs it with only the fakes in PATH and stdin closed; sets out, err and rc.
shoalw() {
  PATH="$tools" "$tree/shoalw" "$@" >"$here/out" 2>"$here/err" <&-
  rc=$?
  out=$(<"$here/out")
  err=$(<"$here/err")
}
uninstall() { grep -vxE "$1" "$FAKE_INSTALLED" >"$here/left"; mv "$here/left" "$FAKE_INSTALLED"; }

begin plan_is_empty_when_all_is_installed
shoalw --plan
expect_equal "$rc|$out|$err" "0||"

begin plan_names_what_is_missing_and_why
uninstall 'libucx-dev|ninja-build'
shoalw --plan
expect_equal "$rc" 0
expect_equal "$(cut -f 1 <<<"$out" | sort | tr '\n' ' ')" "libucx-dev ninja-build "
expect_has "$out" $'libucx-dev\ttransport between hosts'
expect_lacks "$(calls)" apt-get

begin plan_keeps_the_groups_apart
uninstall 'clang-tidy|cmake'
shoalw --plan lint
expect_equal "$(cut -f 1 <<<"$out")" clang-tidy
shoalw --plan nonsense
expect_equal "$rc" 1
expect_has "$err" "nonsense"

begin packages_known_but_not_installed_count_as_missing
fake dpkg-query <<'END'
for package in "${@:3}"; do
  if [ "$package" = g++ ]; then echo "g++ config-files"; else echo "$package installed"; fi
done
END
shoalw --plan
expect_equal "$(cut -f 1 <<<"$out")" g++

begin build_installs_exactly_what_is_missing
uninstall 'libfmt-dev|libtorch-dev'
shoalw build
expect_equal "$rc|$out" "0|"
expect_has "$err" "libfmt-dev"
expect_has "$err" "formats text"
expect_equal "$(calls | grep -c '^apt-get .* update')" 1
expect_has "$(calls | grep '^apt-get .* install ')" "install --no-install-recommends libfmt-dev libtorch-dev"
expect_equal "$(calls | grep '^apt-get' | tail -n 1 | grep -c update)" 0
shoalw build
expect_equal "$rc|$out|$err" "0||"
expect_equal "$(calls | grep -c '^apt-get .* install')" 1

begin new_packages_configure_the_build_again
shoalw build
shoalw build
expect_equal "$(calls | grep -c '^cmake --preset release')" 1
uninstall 'libucx-dev'
shoalw build
expect_equal "$(calls | grep -c '^cmake --preset release')" 2

begin sudo_only_when_not_root
uninstall 'cmake'
fake sudo <<<'exec "$@"'
shoalw build
expect_lacks "$(calls)" "sudo "
uninstall 'ninja-build'
fake id <<<'echo 1000'
shoalw build
expect_equal "$rc" 0
expect_has "$(calls)" "sudo env DEBIAN_FRONTEND=noninteractive apt-get"

begin neither_root_nor_sudo_says_what_to_run
uninstall 'cmake'
fake id <<<'echo 1000'
shoalw doctor
expect_equal "$rc" 1
expect_has "$err" "as root run: apt-get install --no-install-recommends cmake"
expect_lacks "$(calls)" "cmake --"

begin failed_installation_shows_the_log_and_builds_nothing
uninstall 'cmake'
fake apt-get <<'END'
case " $* " in *" install "*) echo "E: Unable to locate package cmake"; exit 100 ;; esac
END
shoalw doctor
expect_equal "$rc" 1
expect_has "$err" "Unable to locate package cmake"
expect_lacks "$(calls)" "cmake --"

begin arguments_and_exit_code_pass_through
shoalw train --like "a b" ""
expect_equal "$rc" 129
expect_equal "$out" $'shoal:\n[train][--like][a b][]'
shoalw doctor
expect_equal "$err" ""

begin runs_from_anywhere_and_through_a_link
mkdir "$here/else where"
ln -s "$tree/shoalw" "$here/else where/link to it"
out=$(cd "$here/else where" && PATH="$tools" "./link to it" doctor 2>/dev/null </dev/null)
expect_equal "$out" $'shoal:\n[doctor]'
[ -e "$tree/build/release/bin/shoal" ] || fail "it built somewhere else"

begin failed_build_runs_nothing
fake cmake <<'END'
[ "$1" = --build ] && { echo "error: no such type"; exit 1; }
echo configured >"build/$2/build.ninja"
END
shoalw doctor
expect_equal "$rc|$out" "1|"
expect_has "$err" "no such type"

begin test_is_condensed_to_its_summary
shoalw test
expect_equal "$rc" 0
expect_equal "$out" $'100% tests passed, 0 tests failed out of 1\n1 passed, 0 failed'
expect_has "$err" "release: all tests passed, in "
expect_has "$err" "release: built in "
expect_has "$(calls)" "ctest --preset release --parallel"

begin test_options_choose_presets_and_labels
shoalw test --fast -R Task
expect_has "$(calls)" "--label-regex ^fast\$ -R Task"
shoalw test --sanitizers
expect_equal "$(calls | grep -oE '^ctest --preset [a-z-]+ --par' | cut -d ' ' -f 3 | tr '\n' ' ')" \
  "release asan-ubsan tsan "
uninstall 'clang'
shoalw test --clang
expect_has "$(calls)" "install --no-install-recommends clang"
expect_has "$(calls)" "ctest --preset clang --parallel"

# with_hash HASH: git says that this is the commit.
with_hash() {
  fake git <<END
case " \$* " in
  *" rev-parse "*) echo $1 ;;
  *" merge-base HEAD origin/main "*) echo fork ;;
  *" merge-base "*) exit 1 ;;
  *" diff --name-only nonsense "*) echo "fatal: bad revision" >&2; exit 128 ;;
  *" diff --name-only "*) printf '%s\n' "src/a b.cc" ;;
  *" ls-files "*) echo new.cc ;;
esac
END
}
# The sample of each preset's tests.
samples() { calls | grep -E '^sample' | tr '\n' ' '; }
log_samples() {
  fake ctest <<'END'
case " $* " in *" --show-only "*) exit 0 ;; esac
echo "sample $2 ${SHOAL_SAMPLE-whole}" >>"$FAKE_CALLS"
echo "100% tests passed, 0 tests failed out of 7"
END
}

begin ci_runs_all_tests_and_the_sanitizers_with_a_quarter_of_the_sweeps
log_samples
with_hash 000000600000
shoalw test --ci
expect_equal "$rc" 0
expect_equal "$(samples)" "sample release whole sample asan-ubsan 2/4 sample tsan 2/4 "
expect_equal "$(tail -n 1 <<<"$out")" "21 passed, 0 failed"

begin every_quarter_is_some_commits
log_samples
for hash in 00000040 0000005f 000000a0 000000ff; do
  with_hash "${hash}00000000"
  shoalw test --sanitizers
done
expect_equal "$(calls | grep '^sample tsan' | cut -d ' ' -f 3 | tr '\n' ' ')" "0/4 1/4 2/4 3/4 "
SHOAL_SAMPLE=1/9 shoalw test --sanitizers
expect_equal "$(calls | grep '^sample tsan' | tail -n 1)" "sample tsan 1/9"

begin all_samples_nothing
log_samples
SHOAL_SAMPLE=1/9 shoalw test --all
expect_equal "$(samples)" "sample release whole sample clang whole sample asan-ubsan whole sample tsan whole "

begin sanitizers_need_no_git
log_samples
shoalw test --sanitizers
expect_equal "$(samples)" "sample asan-ubsan 0/4 sample tsan 0/4 "

begin changed_runs_what_is_affected
with_hash 0
mkdir "$tree/tools"
printf '#!/bin/bash\nprintf "[%%s]" "$@" >>"$FAKE_CALLS"; echo "0,0,0,3"\n' >"$tree/tools/affected"
chmod +x "$tree/tools/affected"
shoalw test --changed -R Task
expect_equal "$rc" 0
expect_has "$(calls)" "git diff --name-only fork --"
expect_has "$(calls)" "[$tree/build/release][src/a b.cc][new.cc]"
expect_has "$(calls)" "--tests-information $tree/build/release/affected -R Task"
expect_equal "$(<"$tree/build/release/affected")" "0,0,0,3"
shoalw test --changed=HEAD~2
expect_has "$(calls)" "git diff --name-only HEAD~2 --"
shoalw test --changed=nonsense
expect_equal "$rc" 1
expect_has "$err" "what has changed since 'nonsense'"

begin changed_runs_nothing_when_nothing_is_affected
with_hash 0
mkdir "$tree/tools"
printf '#!/bin/bash\n' >"$tree/tools/affected"
chmod +x "$tree/tools/affected"
shoalw test --changed
expect_equal "$rc" 0
expect_has "$err" "no test depends on what has changed"
expect_equal "$(calls | grep -c '^ctest --preset release --parallel')" 0

begin changed_fails_when_the_tests_cannot_be_chosen
with_hash 0
mkdir "$tree/tools"
printf '#!/bin/bash\nexit 1\n' >"$tree/tools/affected"
chmod +x "$tree/tools/affected"
shoalw test --changed
expect_equal "$rc" 1
expect_equal "$(calls | grep -c '^ctest --preset release --parallel')" 0

begin failures_are_counted_over_all_presets
fake ctest <<'END'
case " $* " in *" --show-only "*) exit 0 ;; esac
echo " 2/9 Test  #2: A.breaks .....***Failed    0.01 sec"
echo " 3/9 Test  #3: A.hides .....***Skipped    0.01 sec"
echo "89% tests passed, 1 tests failed out of 9"
exit 8
END
shoalw test --ci
expect_equal "$rc" 1
expect_equal "$(tail -n 1 <<<"$out")" "21 passed, 6 failed"

begin test_and_bench_install_what_only_they_need
uninstall 'iperf3|openmpi-bin'
shoalw build
expect_equal "$(calls | grep -c '^apt-get')" 0
shoalw test
expect_equal "$rc" 0
expect_has "$(calls)" "install --no-install-recommends openmpi-bin iperf3"
uninstall 'iperf3'
shoalw doctor
expect_equal "$(calls | grep -c '^apt-get .* install')" 1
shoalw bench sim
expect_equal "$out" $'shoal:\n[bench][sim]'
expect_equal "$(calls | grep -c '^apt-get .* install')" 2

begin failing_test_fails_and_is_shown
fake ctest <<'END'
case " $* " in *" --show-only "*) exit 0 ;; esac
echo " 1/2 Test  #1: A.works ......   Passed    0.01 sec"
echo " 2/2 Test  #2: A.breaks .....***Failed    0.01 sec"
exit 8
END
shoalw test
expect_equal "$rc" 1
expect_has "$out" "A.breaks"
expect_lacks "$out" "A.works"
expect_has "$err" "release: FAILED"

begin test_that_cannot_even_be_listed_fails
fake ctest <<'END'
echo "cannot run task_test: shared object not found"
exit 8
END
shoalw test
expect_equal "$rc" 1
expect_has "$err" "shared object not found"
expect_equal "$(calls | grep -c '^ctest')" 1

begin skipped_test_fails
fake ctest <<'END'
case " $* " in *" --show-only "*) exit 0 ;; esac
echo " 1/1 Test  #1: A.hides ......***Skipped   0.01 sec"
echo "100% tests passed, 0 tests failed out of 1"
END
shoalw test
expect_equal "$rc" 1
expect_has "$out" "1 tests did not run"

# Two hosts on one machine need root; as root, skipping them is a failure like any other.
begin tests_between_two_hosts_may_be_skipped_without_root
fake ctest <<'END'
case " $* " in *" --show-only "*) exit 0 ;; esac
echo " 1/2 Test  #1: two_hosts ......***Skipped   0.01 sec"
echo " 2/2 Test  #2: Shm.AsRootOne ......***Skipped   0.01 sec"
echo "100% tests passed, 0 tests failed out of 2"
END
shoalw test
expect_equal "$rc" 1
expect_has "$out" "2 tests did not run"
fake id <<<'echo 1000'
shoalw test
expect_equal "$rc" 0
expect_has "$out" "2 tests were skipped, because they need root"

# The first build stops inside cmake until it is told to go on; that happens when the second has said that it waits.
# Without the lock the second says nothing and ends, which ends the reading of its pipe, and its calls come first.
begin two_builds_at_once_take_turns
mkfifo "$here/go" "$here/second_says" "$here/first_builds"
fake cmake <<END
[ "\$1" = --build ] || { echo configured >"build/\$2/build.ninja"; exit; }
echo "begin \$WHO" >>"\$FAKE_CALLS"
if [ "\$WHO" = first ]; then echo yes >"$here/first_builds"; read -r _ <"$here/go"; fi
echo "end \$WHO" >>"\$FAKE_CALLS"
END
WHO=first PATH="$tools" "$tree/shoalw" build >"$here/first.log" 2>&1 </dev/null &
first=$!
read -r _ <"$here/first_builds"
WHO=second PATH="$tools" "$tree/shoalw" build >"$here/second_says" 2>&1 </dev/null &
second=$!
exec {second_says}<"$here/second_says"
read -r said <&"$second_says"
expect_has "${said:-nothing}" "waiting for another shoalw"
echo go >"$here/go"
wait "$first" || fail "the first build failed: $(<"$here/first.log")"
wait "$second" || fail "the second build failed"
expect_equal "$(calls | grep -E '^(begin|end)' | tr '\n' ' ')" "begin first end first begin second end second "

[ "$failures" -eq 0 ] && echo "all scenarios passed"
exit $((failures > 0))
