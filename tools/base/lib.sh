# shellcheck shell=bash
# What the bash scripts share: where things are, output, time measurement, the Python of the tools.
# Sourced, never run.

NERVEX_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# A service that runs CI may come without HOME.
export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"
# Everything that is expensive to make and not part of the tree lives below this folder. It may be
# deleted at any time; the scripts make it again.
NERVEX_CACHE="${NERVEX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nervex}"
NERVEX_LOGS="$NERVEX_CACHE/logs"

# Debian's tools speak the machine's language; what is parsed here is English.
export LC_ALL=C.UTF-8

say() { printf '%s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# 0.1 s clock without a fork.
now_ms() { local t=${EPOCHREALTIME/[.,]/}; echo $((t / 1000)); }
as_seconds() { printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100)); }

# record_time NAME MILLISECONDS: a line for the table that scripts/test prints at its end.
record_time() {
  if [[ -n "${NERVEX_TIMINGS:-}" ]]; then printf '%s\t%s\n' "$1" "$2" >>"$NERVEX_TIMINGS"; fi
}

# step TEXT COMMAND...: runs the command with its output in a log file, says every 20 seconds what
# it is at, how long it took, and shows the end of the log if it fails.
step() {
  local text=$1 log begin rc=0 watcher
  shift
  mkdir -p "$NERVEX_LOGS"
  log="$NERVEX_LOGS/$(tr -c 'a-zA-Z0-9\n' '-' <<<"$text" | tr -s - | cut -c1-60).$$.log"
  begin=$(now_ms)
  printf -- '-- %s\n' "$text"
  (
    # read with a time limit sleeps without a child process that would outlive this one
    while ! read -r -t 20 <> <(:); do
      printf -- '   ... %4ss  %s\n' "$((($(now_ms) - begin) / 1000))" \
        "$(tail -c 2000 "$log" 2>/dev/null | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 | cut -c1-100)"
    done
  ) &
  watcher=$!
  set +e
  (
    set -e
    "$@"
  ) >"$log" 2>&1 </dev/null
  rc=$?
  set -e
  { kill "$watcher" && wait "$watcher"; } 2>/dev/null || true
  local took=$(($(now_ms) - begin))
  if ((rc != 0)); then
    printf '   failed after %s s with status %d; the end of %s:\n' "$(as_seconds "$took")" "$rc" "$log" >&2
    tail -n 30 "$log" | sed 's/^/   | /' >&2
    return "$rc"
  fi
  printf '   done in %s s\n' "$(as_seconds "$took")"
  record_time "  of it: $text" "$took"
  rm -f "$log"
}

# The Python that has what tools and end-to-end tests need (pytest, the kubernetes client, yaml). The folder's
# name is a hash of what goes in, so that a changed requirements.txt gets a new one.
venv_dir() {
  local key
  key=$({ cat "$NERVEX_ROOT/tools/requirements.txt"; /usr/bin/python3 --version 2>&1; } | sha256sum | cut -c1-12)
  echo "$NERVEX_CACHE/venv/$key"
}

# run_python PYTHON ARGUMENT...: with the packages of tools/ on its path. Replaces the shell, as the next two do, so that
# the program gets its signals.
run_python() { PYTHONPATH="$NERVEX_ROOT${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1 exec "$@"; }

# run_tool PACKAGE ARGUMENT...: a package of tools/ that needs the Python of scripts/setup.
run_tool() { run_python "$(venv_dir)/bin/python" -m "tools.$1" "${@:2}"; }

# run_plain_tool PACKAGE ARGUMENT...: one that needs the standard library alone.
run_plain_tool() { run_python /usr/bin/python3 -m "tools.$1" "${@:2}"; }
