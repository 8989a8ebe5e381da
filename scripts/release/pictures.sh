#!/usr/bin/env bash
# Redraws the pictures of README.md and the tutorial in docs/images: the page with a game, the top of a balance page, and the top of
# the report of the tutorial's run, each in light and dark; and a terminal with a game.
#
#   scripts/release/pictures.sh [PROGRAM] [--run RUN]
#
# The default PROGRAM is target/release/petteia; if no RUN is given, one is trained. Needs node, npm, chromium, pngquant, and python3
# (Debian packages of these names); the packages of scripts/check/page/package.json are installed under target/page. Look at every
# picture before you commit it.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=target/release/petteia
if [ $# -gt 0 ] && [ "$1" != --run ]; then
    program=$1
    shift
fi
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
run=$folder/connect-four-16x2
[ "${1:-}" != --run ] || run=$2

. scripts/check/page/browser.sh
prepare_browser pictures.sh pngquant python3

[ -d "$run" ] || "$program" train connect-four-16x2 --run "$run"
"$program" report "$run" --out "$folder/report.html"
"$program" balance connect-four --out "$folder/balance.html"
node scripts/check/page/pictures.mjs docs/images "$folder/balance.html" "$folder/report.html"
# 96 colors are enough, and files become a third as large
pngquant 96 --nofs --strip --force --ext .png docs/images/*.png

# the window's title is the command that a user types
cp "$program" "$folder/petteia"
PATH=$folder:$PATH python3 scripts/release/terminal_svg.py --out docs/images/play.svg --rows 40 --from 'Yellow plays' --quiet 3 \
    --type 4 --type hint -- petteia play connect-four --seed 1
