#!/usr/bin/env python3
"""Collects and checks the pages described in docs/balance and docs/reports, which are not in the tree.

    scripts/release/pages.py PROGRAM FOLDER             exits with 1 if a page differs from its SHA256SUMS
    scripts/release/pages.py PROGRAM FOLDER --accept    writes docs/balance/SHA256SUMS for the pages in FOLDER instead

PROGRAM makes the pages of docs/balance with `petteia balance` and the options below, in half an hour of CPU time. A page that is
already in FOLDER with the right checksum is not made again. On a CPU with other instructions, games may differ. The pages of
docs/reports come from the Git history, because their runs were not kept, and new runs would show other times. Every number that a
README.md gives about a page must occur on that page. Look at a page before you accept it. Uses only Python's standard library and
git.
"""

import argparse
import hashlib
import html
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# the last commit whose tree contains the pages of docs/reports
KEPT = "0e538aa8a5bac43e2c3ff67d28ace6658ecd3d10"
SHORT = ["--simulations", "25", "--within", "5", "--solver", "0"]
LEVELS = ["--levels", "shipped:2", "shipped:8", "shipped:25", "shipped:100", "--within", "5", "--solver", "0"]
# the options for each page of docs/balance
BALANCE = {
    "tic-tac-toe": [],
    "cage-4": [],
    "connect-four": [],
    "cage-6": [],
    "phage": [],
    "cage-8": [*SHORT, "--most-games", "400"],
    "cage": [*SHORT, "--most-games", "200"],
    "caissa": [*SHORT, "--most-games", "1000"],
    "custodial-trap-intro": [*LEVELS, "--most-games", "200"],
    "custodial-trap-intermediate": [*LEVELS, "--most-games", "400"],
    "custodial-trap-advanced": [*LEVELS, "--most-games", "200"],
}


def sums_of(name):
    """The required checksums of the pages of docs/NAME, by file name."""
    lines = (ROOT / "docs" / name / "SHA256SUMS").read_text().splitlines()
    return {file: digest for digest, file in (line.split() for line in lines)}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def make_balance(program, folder, accepted):
    folder.mkdir(parents=True, exist_ok=True)
    wanted = sums_of("balance")
    for game, options in BALANCE.items():
        page = folder / f"{game}.html"
        if not page.is_file() or not (accepted or digest(page) == wanted.get(page.name)):
            subprocess.run([program, "balance", game, *options, "--seed", "1", "--out", page], check=True)


def get_reports(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for file, wanted in sums_of("reports").items():
        if digest(folder / file) != wanted:
            page = subprocess.run(["git", "show", f"{KEPT}:docs/reports/{file}"], cwd=ROOT, stdout=subprocess.PIPE)
            if page.returncode != 0:
                sys.exit("the pages of docs/reports are in the Git history: use a full clone")
            (folder / file).write_bytes(page.stdout)


def numbers(text):
    """The numbers of a text, a percent sign included: `153`, `0.34`, `10,221`, `49 %`. Board sizes and squares do not count."""
    words = text.split()
    for word, after in zip(words, [*words[1:], ""]):
        bare = re.sub(r"^[^0-9]+|[^0-9]+$", "", word)
        if re.fullmatch(r"[0-9.,]+", bare) and not any(map(str.isalpha, word)):
            yield f"{bare} %" if after.startswith("%") else bare


def shown(page):
    """The text of a page as a browser shows it."""
    page = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.S)
    # a superscript is joined to its base; all other elements are separated by spaces
    return html.unescape(re.sub(r"<[^>]*>", " ", re.sub(r"</?sup>", "", page)))


def is_on(number, page):
    """Whether a number occurs on a page, which may show a percentage as a share: `49.5 %` as `0.495`."""
    if number in page or not number.endswith(" %"):
        return number in page
    percent = number.removesuffix(" %")
    decimals = len(percent.partition(".")[2])
    shares = [float(share) for share in page if re.fullmatch(r"0\.[0-9]+", share)]
    return any(f"{share * 100:.{decimals}f}" == percent for share in shares)


def wrong_numbers(name, folder):
    """Numbers that docs/NAME/README.md gives for pages but that are not on those pages. A bullet names its pages: `GAME.html`."""
    checked, wrong = 0, []
    for told in (ROOT / "docs" / name / "README.md").read_text().split("\n- ")[1:]:
        told = told.split("\n\n")[0]
        pages = re.findall(r"`([a-z0-9-]+\.html)`", told)
        page = {number for file in pages for number in numbers(shown((folder / file).read_text()))}
        for number in numbers(re.sub(r"`[^`]*`", " ", told)):
            checked += 1
            if not is_on(number, page):
                wrong.append(f"docs/{name}/README.md: {number} is not on {' '.join(pages)}")
    if checked < 30:
        wrong.append(f"docs/{name}/README.md: only {checked} numbers are about pages")
    return wrong


def wrong_pages(name, folder):
    sums = sums_of(name)
    files = {*sums, *(path.name for path in folder.glob("*.html"))}
    differ = [file for file in sorted(files) if digest(folder / file) != sums.get(file)]
    return [f"{folder / file} does not match docs/{name}/SHA256SUMS" for file in differ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--accept", action="store_true", help="accept the pages of docs/balance as they are")
    args = parser.parse_args()
    balance, reports = args.folder / "balance", args.folder / "reports"
    make_balance(args.program.resolve(), balance, args.accept)
    get_reports(reports)
    if args.accept:
        lines = [f"{digest(balance / f'{game}.html')}  {game}.html\n" for game in sorted(BALANCE)]
        (ROOT / "docs/balance/SHA256SUMS").write_text("".join(lines))
    wrong = [*wrong_pages("balance", balance), *wrong_pages("reports", reports)]
    if wrong:
        wrong.append(f"look at these pages; if they are right, run scripts/release/pages.py {args.program} {args.folder} --accept")
    wrong += [*wrong_numbers("balance", balance), *wrong_numbers("reports", reports)]
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
