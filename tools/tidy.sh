#!/bin/sh
# Runs clang-tidy with the list in .clang-tidy over our sources: tidy.sh BUILD_DIR JOBS. Findings are errors.
set -eu
cd "$(dirname "$0")/.."
build=$1
jobs=$2
tool=$(command -v clang-tidy-16 || command -v clang-tidy || true)
if [ -z "$tool" ]; then
  echo "tidy: clang-tidy is not installed (apt-get install clang-tidy-16)" >&2
  exit 1
fi
git ls-files 'src/*.cpp' | grep -v '_test\.cpp$' | xargs -P "$jobs" -n 4 "$tool" -p "$build" --quiet --warnings-as-errors='*'
