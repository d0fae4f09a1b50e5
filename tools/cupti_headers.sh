#!/bin/sh
# CUPTI's headers for cupti_abi_test, which compares our words for its interface with NVIDIA's: from the CUDA toolkit
# where there is one (nothing to do), else from NVIDIA's wheels on PyPI, unpacked into build/cupti/include. The agent
# itself is built without any header of CUDA; without a network only that one test is skipped.
set -eu
cd "$(dirname "$0")/.."
for folder in "${CUDA_HOME:-/usr/local/cuda}/include" "${CUDA_HOME:-/usr/local/cuda}/extras/CUPTI/include" build/cupti/include; do
  [ -f "$folder/cupti.h" ] && exit 0
done
wheels=build/cupti/wheels
mkdir -p $wheels
python=python3 # Debian's has no pip unless python3-pip is there, but can make an environment that has one
"$python" -m pip --version > /dev/null 2>&1 ||
  { python3 -m venv build/cupti/pip && python=build/cupti/pip/bin/python; } > /dev/null 2>&1 || true
"$python" -m pip download -q --no-deps --only-binary=:all: -d $wheels \
  nvidia-cuda-cupti==13.0.85 nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88 > build/cupti/download.log 2>&1 || {
  echo "setup: NVIDIA's wheels could not be fetched (build/cupti/download.log); cupti_abi_test will be skipped" >&2
  exit 0
}
python3 - $wheels build/cupti/include <<'PYTHON'
import pathlib, sys, zipfile

wheels, include = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
for wheel in wheels.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            _, found, path = name.partition("/include/")
            if not found or not name.startswith("nvidia/") or path.endswith("/") or ".." in path:
                continue
            target = include / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))
PYTHON
rm -rf $wheels build/cupti/pip
