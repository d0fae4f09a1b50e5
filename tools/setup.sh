#!/bin/sh
# setup.sh [LIST...]: installs the Debian packages of tools/packages.txt, and of further lists, that are missing. As root
# it installs them and says which; as another user it prints the one line to type and stops. Nothing outside Debian's
# packages is fetched.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build
if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "setup: this is no Debian system; install the equivalents of tools/packages*.txt yourself" >&2
  exit 0
fi
missing=""
for package in $(grep -hv '^#' tools/packages.txt "$@"); do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
  echo "setup: Debian packages are missing. Type this, then try again:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
  exit 1
fi
echo "setup: installing$missing"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >build/apt.log 2>&1 || {
  cat build/apt.log >&2
  exit 1
}
