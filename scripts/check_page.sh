#!/usr/bin/env bash
# The page of `petteia serve` in a real browser: whole games of each id by clicks, files, live curves beside a short
# training run, two agents against each other, hostile requests, no error in the browser's console.
#
#   scripts/check_page.sh [PROGRAM] [--screenshots DIR] [--only PART]
#
# PROGRAM is target/release/petteia if not given. Needs node, npm and chromium (Debian: nodejs npm chromium);
# playwright-core is installed under target/page. CHROMIUM may name another browser.
set -euo pipefail
cd "$(dirname "$0")/.."

program=target/release/petteia
if [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; then
    program=$1
    shift
fi

chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}
missing=()
command -v node >/dev/null || missing+=(node)
command -v npm >/dev/null || missing+=(npm)
[ -n "$chromium" ] || missing+=(chromium)
[ -x "$program" ] || missing+=("$program")
if [ ${#missing[@]} -gt 0 ]; then
    echo "check_page.sh: missing: ${missing[*]}" >&2
    exit 1
fi

modules=target/page
if ! cmp -s scripts/page/package.json "$modules/package.json"; then
    mkdir -p "$modules"
    cp scripts/page/package.json "$modules/package.new.json"
    mv "$modules/package.new.json" "$modules/package.json"
    npm install --prefix "$modules" --no-audit --no-fund --no-package-lock --silent || {
        rm -f "$modules/package.json"
        echo "check_page.sh: playwright-core could not be installed from npm" >&2
        exit 1
    }
fi

export CHROMIUM=$chromium PETTEIA=$program PAGE_MODULES=$PWD/$modules
exec node scripts/page/main.mjs "$@"
