#!/usr/bin/env bash
# The built program from a user's view: output streams and exit codes. Usage: program_test.sh path/to/shoal
set -uo pipefail
shoal=$1
failures=0

# expect CODE STREAM PATTERN ARGUMENT...: runs shoal, checks its exit code, and searches PATTERN in the stream.
expect() {
  local code=$1 stream=$2 pattern=$3 text rc
  shift 3
  if [ "$stream" = out ]; then text=$("$shoal" "$@" 2>/dev/null); else text=$("$shoal" "$@" 2>&1 >/dev/null); fi
  rc=$?
  if [ "$rc" -ne "$code" ] || ! grep -qE -- "$pattern" <<<"$text"; then
    printf 'FAILED: shoal %s: exit %s (want %s), std%s wants /%s/, has:\n%s\n' \
      "$*" "$rc" "$code" "$stream" "$pattern" "$text"
    failures=$((failures + 1))
  fi
}

expect 0 out '^shoal [0-9]+\.[0-9]+\.[0-9]+ \(commit ' --version
expect 0 out 'doctor +list what this machine has' --help
expect 1 err "unknown command 'docotr'. Did you mean 'doctor'\?" docotr
expect 1 err "unknown option '--detials'. Did you mean '--details'\?" doctor --detials
expect 1 err 'which command\?'
expect 0 out '^ok +cpu +.*cores' doctor
expect 0 out '^(ok|missing) +UCX ' doctor
expect 0 out '^(ok|missing) +libtorch ' doctor
expect 0 out '^horovod +2018' systems
expect 1 err "unknown option '--jsn'. Did you mean '--json'\?" systems --jsn
expect 1 err "'horovdo' is not known. Did you mean 'horovod'\?" train --like horovdo
expect 1 err 'take --exchange tree' simulate --workers 2 --like firecaffe --exchange ring
expect 1 err '^shoal: --budget 5parsecs: take a time, as 60s' train --budget 5parsecs
expect 1 err '^shoal: --budget 0s: take a time' simulate --workers 2 --budget 0s
expect 1 err '--schedule cosine with --budget 60s.*add --epochs' train --budget 60s --schedule cosine
expect 1 err "Did you mean 'easgd'" compare --like pytorch,eassgd
expect 1 err "9gbit.*Did you mean" simulate --workers 2 --cluster 9gbit
expect 1 err '--workers 20000: take 1 to' simulate --workers 20000
expect 1 err "'fish' is not known" completion fish
expect 0 out 'bashcompinit' completion zsh

# completes WANTED WORD...: checks that bash would offer WANTED for the last word.
completes() {
  local wanted=$1
  shift
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _shoal
  if ! printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -- "$wanted"; then
    printf 'FAILED: %s: wants %s, offers %s\n' "$*" "$wanted" "${COMPREPLY[*]}"
    failures=$((failures + 1))
  fi
}
source <("$shoal" completion bash)
completes train shoal tr
completes --version shoal --v
completes --budget shoal train --bud
completes horovod shoal train --like hor
completes channels-last shoal simulate --workers 4 --memory-format ch
completes sim shoal bench s
completes zsh shoal completion z
exit $((failures > 0))
