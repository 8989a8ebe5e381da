#!/usr/bin/env bash
# The page of `petteia serve` in a real browser: whole games of each id by clicks, files, live curves beside a short
# training run, two agents against each other, hostile requests, no error in the browser's console.
#
#   scripts/check/page.sh [PROGRAM] [--screenshots DIR] [--only PART]
#   scripts/check/page.sh [PROGRAM] --firefox
#
# PROGRAM is target/release/petteia if not given. Needs node, npm and chromium (Debian: nodejs npm chromium);
# playwright-core (1.60.0: Firefox ESR does not know what later ones ask of it) and html-validate are installed under target/page. CHROMIUM may name another browser. With --firefox, pages in a
# file are tested in Firefox (Debian: firefox-esr, or what FIREFOX names), and nothing else is.
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
