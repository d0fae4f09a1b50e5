#!/bin/sh
# Makes build/venv with the packages of tools/python/requirements.txt, for the tests that read our files with other
# tools. Does nothing, and asks no network, when that is already there; says what it installs when not.
set -eu
cd "$(dirname "$0")/.."
venv=build/venv
wanted=tools/python/requirements.txt
made=$venv/requirements.txt # what the environment was made of, written last: an interrupted run is begun anew
cmp -s "$wanted" "$made" && "$venv/bin/python" -c '' 2>/dev/null && exit 0
mkdir -p build
echo "setup: making $venv with $(grep -c '==' $wanted) Python packages (about 1.2 GB)"
rm -rf "$venv"
{
  python3 -m venv "$venv" &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: -r "$wanted"
} >build/pip.log 2>&1 || {
  cat build/pip.log >&2
  rm -rf "$venv"
  echo "setup: the Python packages could not be installed (no network?). Without them: ctest --preset release skips" >&2
  echo "the tests that need them and runs all others." >&2
  exit 1
}
cp "$wanted" "$made"
