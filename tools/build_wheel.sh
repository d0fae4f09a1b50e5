#!/bin/sh
# Makes build/dist/: the sdist, and from it the wheel that others may install.
#
# The wheel is built out of the unpacked sdist, so that what the sdist lacks fails here, by pip as a user's pip does it
# (in isolation, with the versions that pyproject.toml names). Debian has simdjson, ISA-L and fmt as shared objects only,
# under names that other releases do not have: auditwheel puts them into the wheel and says how old a system may be. The
# stable ABI is easily lost in silence (nanobind leaves it out where CMake does not find what it needs): abi3audit.
set -eu
cd "$(dirname "$0")/.."
venv=build/wheel-tools
wanted=tools/python/wheel-requirements.txt
dist=build/dist
if ! cmp -s "$wanted" "$venv/made-of.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-input --only-binary :all: -r "$wanted"
  cp "$wanted" "$venv/made-of.txt"
fi

rm -rf "$dist" build/wheel-source build/wheel
"$venv/bin/python" -m build --sdist --outdir "$dist" . >build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
# Always at the same place, so that ccache knows the sources; their times are now, not the sdist's, so that none of them
# seems older than an object.
mkdir -p build/wheel-source
tar -xzmf "$dist"/stepscope-*.tar.gz -C build/wheel-source --strip-components=1
CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)} "$venv/bin/pip" wheel --disable-pip-version-check --no-input --no-deps \
  --wheel-dir "$dist/plain" build/wheel-source >>build/wheel.log 2>&1 || { tail -50 build/wheel.log; exit 1; }
PATH=$PWD/$venv/bin:$PATH "$venv/bin/auditwheel" repair --wheel-dir "$dist" "$dist"/plain/stepscope-*.whl \
  >>build/wheel.log 2>&1 || { tail -20 build/wheel.log; exit 1; }
rm -rf "$dist/plain"
"$venv/bin/abi3audit" --strict "$dist"/stepscope-*.whl
ls -l "$dist"
