#!/bin/sh
# run.sh PYTHON SCRIPT: 77 (skipped) when there is no such interpreter, else the script's exit status.
"$1" -c '' 2>/dev/null || {
  echo "skipped: $1 does not run"
  exit 77
}
exec "$1" -B -W ignore "$2"
