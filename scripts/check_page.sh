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

. scripts/page/browser.sh
prepare_browser check_page.sh
exec node scripts/page/main.mjs "$@"
