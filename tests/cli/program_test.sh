#!/usr/bin/env bash
# The built program as a user meets it: output streams and exit codes. Usage: program_test.sh path/to/shoal
set -uo pipefail
shoal=$1
failures=0

# expect CODE STREAM PATTERN ARGUMENT...: runs shoal, checks its exit code, and PATTERN in the given stream.
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
expect 0 out 'doctor +what this machine has' --help
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
exit $((failures > 0))
