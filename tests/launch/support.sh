# For the scripts of this folder: expectations, and processes that are ended in every outcome.
scratch=$(mktemp -d)
failures=0
started=()
finish() {
  local pid
  for pid in "${started[@]}"; do kill -KILL "$pid" 2>/dev/null; done
  rm -rf "$scratch"
}
trap finish EXIT

fail() {
  printf 'FAILED: %s: %s\n' "${scenario:-}" "$*"
  failures=$((failures + 1))
}
expect_equal() { [ "$1" = "$2" ] || fail "expected '$2', got '$1'"; }
expect_has() { case $1 in *"$2"*) ;; *) fail "'$2' is missing in: $1" ;; esac; }
expect_lacks() { case $1 in *"$2"*) fail "'$2' should not be in: $1" ;; esac; }

# run COMMAND...: sets out, err and rc.
run() {
  "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  rc=$?
  out=$(<"$scratch/out")
  err=$(<"$scratch/err")
}
# start COMMAND...: in the background; sets pid. Output in $scratch/out and err.
start() {
  "$@" >"$scratch/out" 2>"$scratch/err" </dev/null &
  pid=$!
  started+=("$pid")
}
# await SHELL CONDITION: waits until it holds; after 80 seconds prints it and fails.
await() {
  local tries=0
  until eval "$1"; do
    sleep 0.02
    tries=$((tries + 1))
    if [ "$tries" -eq 4000 ]; then
      fail "waited in vain for: $1"
      return 1
    fi
  done
}
# A zombie counts as dead.
is_dead() { ! grep -q '^State:[[:space:]][RSDTtIWKP]' "/proc/$1/status" 2>/dev/null; }
has_pid() { grep -q '^[0-9][0-9]*$' "$1" 2>/dev/null; }
