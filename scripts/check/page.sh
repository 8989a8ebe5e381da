#!/usr/bin/env bash
# Checks the page of `petteia serve` in a real browser: whole games of each id by clicks, files, live curves beside a short
# training run, two agents against each other, hostile requests, and no errors in the browser's console.
#
#   scripts/check/page.sh [PROGRAM] [--screenshots DIR] [--only PART]
#   scripts/check/page.sh [PROGRAM] --firefox
#
# The default PROGRAM is target/release/petteia. Needs node, npm, and chromium (Debian: nodejs npm chromium). playwright-core (1.60.0,
# because later versions use features that Firefox ESR does not have) and html-validate are installed under target/page. CHROMIUM may
# name another browser. With --firefox, only pages in a file are tested, in Firefox (Debian: firefox-esr, or the browser that FIREFOX names).
set -euo pipefail
cd "$(dirname "$0")/../.."

program=target/release/petteia
if [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; then
    program=$1
    shift
fi

. scripts/check/page/browser.sh
needed=()
case " $* " in
    *" --firefox "*)
        export FIREFOX=${FIREFOX:-$(command -v firefox-esr || command -v firefox || echo firefox-esr)}
        needed=("$FIREFOX")
        ;;
esac
prepare_browser page.sh "${needed[@]}"
exec node scripts/check/page/main.mjs "$@"
