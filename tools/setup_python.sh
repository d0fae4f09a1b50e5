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
# PyTorch without CUDA: PyPI's own build for Linux needs gigabytes of NVIDIA's libraries, and without them (--no-deps) it
# cannot be imported. The CPU build is on PyTorch's index, unless a local index or folder has it.
torch=torch==$(sed -n 's/^torch==//p' $wanted)
install() {
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: "$@"
}
{
  python3 -m venv "$venv" &&
    { install "$torch+cpu" || install --index-url https://download.pytorch.org/whl/cpu "$torch+cpu" || true; } &&
    install -r "$wanted"
} >build/pip.log 2>&1 || {
  cat build/pip.log >&2
  rm -rf "$venv"
  echo "setup: the Python packages could not be installed (no network?). Without them: ctest --preset release skips" >&2
  echo "the tests that need them and runs all others." >&2
  exit 1
}
"$venv/bin/python" -c 'import torch' 2>>build/pip.log || {
  "$venv/bin/pip" uninstall --quiet --yes torch >>build/pip.log 2>&1
  echo "setup: no CPU build of PyTorch was to be had (build/pip.log): the tests that need it are skipped"
}
cp "$wanted" "$made"
