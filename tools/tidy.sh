#!/bin/sh
# Runs clang-tidy with the list in .clang-tidy over our sources: tidy.sh BUILD_DIR JOBS [SINCE]. Findings are errors.
#
# With SINCE (a commit), only over the sources that changed since then. The whole takes about 20 minutes of a core (3 s a
# file, 425 files), too long for each run of CI; for what one works on it is seconds.
set -eu
cd "$(dirname "$0")/.."
build=$1
jobs=$2
since=${3:-}
tool=$(command -v clang-tidy-16 || command -v clang-tidy || true)
if [ -z "$tool" ]; then
  echo "tidy: clang-tidy is not installed (apt-get install clang-tidy-16)" >&2
  exit 1
fi
if [ -n "$since" ]; then
  git diff --name-only --diff-filter=d "$since" -- 'src/*.cpp'
else
  git ls-files 'src/*.cpp'
fi | { grep -v '_test\.cpp$' || true; } | xargs -r -P "$jobs" -n 4 "$tool" -p "$build" --quiet --warnings-as-errors='*'
