#!/bin/sh
# run.sh WHAT: one of the page's checks, with the Node that tools/setup_web.sh found or installed. 77: what it needs is
# not installed (make setup-web).
set -eu
cd "$(dirname "$0")/../.."
[ -d build/node/bin ] && PATH="$PWD/build/node/bin:$PATH"
export PATH
[ -d web/node_modules ] || { echo "web/node_modules is missing: make setup-web" && exit 77; }
command -v node >/dev/null || { echo "node is missing: make setup-web" && exit 77; }
case "$1" in
  unit) cd web && exec npx --no-install vitest run ;;
  check) cd web && npx --no-install tsc --noEmit && exec npx --no-install biome check . ;;
  # The page in the repository is what the sources build.
  built)
    made=$(mktemp -d)
    trap 'rm -rf "$made"' EXIT
    (cd web && npx --no-install vite build --logLevel warn --outDir "$made" --emptyOutDir)
    size=$(wc -c <"$made/page.html")
    [ "$size" -le 358400 ] || { echo "the page has $size bytes of code; at most 350 KiB" && exit 1; }
    cmp "$made/page.html" web/dist/page.html || { echo "web/dist/page.html is not what web/ builds: cd web && npm run build" && exit 1; }
    ;;
  pages)
    [ -x "${STEPSCOPE_CHROMIUM:-/usr/bin/chromium}" ] || { echo "chromium is missing: make setup-web" && exit 77; }
    exec node --test --test-reporter=spec tests/web/pages.test.mjs tests/web/accessibility.test.mjs tests/web/controls.test.mjs
    ;;
  speedscope)
    [ -n "${SPEEDSCOPE:-}" ] || { echo "SPEEDSCOPE is not set; it names a folder of the npm package speedscope" && exit 77; }
    exec node --test --test-reporter=spec tests/web/speedscope.test.mjs
    ;;
esac
