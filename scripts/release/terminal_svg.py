#!/usr/bin/env python3
"""Draws the screen of a terminal program as an SVG.

Runs a command in its own pseudo-terminal, types each line given with --type as soon as the program has been quiet for a
while, and draws the last rows of the screen in color. scripts/release/pictures.sh makes the tutorial's picture with this
script.

It supports line breaks, colors, and bold, dim, and underlined text. It ignores cursor movements, so it is meant for
programs that print line after line. Uses only the standard library; requires a system with pseudo-terminals.
"""

import argparse
import fcntl
import html
import os
import pty
import re
import select
import shutil
import struct
import sys
import termios

NORMAL = ["#4d4d4d", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0"]
BRIGHT = ["#7f848e", "#ff7b86", "#b5e890", "#ffd98a", "#7cc4ff", "#e29bff", "#6fd6e3", "#ffffff"]
TEXT, DIM, PAPER, FRAME = "#d7dae0", "#848c99", "#1e222a", "#2c313a"
CELL, LINE, SIZE, MARGIN, BAR = 8.5, 19, 14, 18, 34  # pixels

SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


def run(command, typed, columns, rows, quiet):
    """The program's output, including the echo of the typed lines."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(columns), LINES=str(rows))
        os.environ.pop("NO_COLOR", None)
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    output, waiting = b"", list(typed)
    while True:
        if select.select([terminal], [], [], quiet)[0]:
            try:
                chunk = os.read(terminal, 65536)
            except OSError:  # on Linux, when the program has ended
                chunk = b""
            if not chunk:
                break
            output += chunk
        elif waiting:
            os.write(terminal, waiting.pop(0).encode() + b"\n")
        else:
            break
    os.close(terminal)  # ends the program if it is still running
    os.waitpid(pid, 0)
    return output.decode("utf-8", "replace")


def lines_of(text, columns):
    """Rows of (character, style); a style is (color, bold, underlined)."""
    lines, style = [[]], {}
    at = 0
    while at < len(text):
        match = SEQUENCE.match(text, at)
        if match:
            if match[2] == "m":
                apply(style, [int(code or 0) for code in match[1].split(";")])
            at = match.end()
            continue
        character = text[at]
        at += 1
        if character == "\n":
            lines.append([])
        elif character >= " ":
            if len(lines[-1]) == columns:
                lines.append([])
            color = DIM if style.get("dim") else style.get("color", TEXT)
            lines[-1].append((character, (color, style.get("bold", False), style.get("underline", False))))
    return lines


def apply(style, codes):
    """Changes `style` according to the codes of one SGR sequence."""
    for code in codes:
        if code == 0:
            style.clear()
        elif code in (1, 2, 4):
            style[{1: "bold", 2: "dim", 4: "underline"}[code]] = True
        elif code == 22:
            style.update(bold=False, dim=False)
        elif code == 24:
            style["underline"] = False
        elif 30 <= code <= 37:
            style["color"] = NORMAL[code - 30]
        elif 90 <= code <= 97:
            style["color"] = BRIGHT[code - 90]
        elif code == 39:
            style.pop("color", None)


def spans(line):
    """Runs of equal style: (first column, text, style)."""
    begin = 0
    for column in range(1, len(line) + 1):
        if column == len(line) or line[column][1] != line[begin][1]:
            yield begin, "".join(character for character, _ in line[begin:column]), line[begin][1]
            begin = column


def drawn(lines, columns, title):
    width, height = round(columns * CELL + 2 * MARGIN), len(lines) * LINE + BAR + 2 * MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{width}" height="{height}" rx="10" fill="{PAPER}"/>',
        f'<path d="M0 {BAR}V10A10 10 0 0 1 10 0H{width - 10}A10 10 0 0 1 {width} 10V{BAR}Z" fill="{FRAME}"/>',
    ]
    for index, color in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        out.append(f'<circle cx="{20 + 20 * index}" cy="{BAR // 2}" r="6" fill="{color}"/>')
    font = "Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
    out.append(f'<g font-family="{font}" font-size="{SIZE}">')
    out.append(f'<text x="{width // 2}" y="{BAR // 2 + 5}" text-anchor="middle" fill="{DIM}">{html.escape(title)}</text>')
    for row, line in enumerate(lines):
        y = BAR + MARGIN + row * LINE + SIZE
        for column, text, (color, bold, underlined) in spans(line):
            extra = ' font-weight="bold"' if bold else ""
            extra += ' text-decoration="underline"' if underlined else ""
            for word in re.finditer(r"[^ ]+", text):
                # each word has a fixed place and width, independent of the font
                place, width = MARGIN + (column + word.start()) * CELL, len(word[0]) * CELL
                fit = f'x="{place:g}" y="{y}" textLength="{width:g}" lengthAdjust="spacingAndGlyphs"'
                out.append(f'<text {fit} fill="{color}"{extra}>{html.escape(word[0])}</text>')
    return "\n".join(out + ["</g>", "</svg>", ""])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--out", required=True, help="the SVG to write")
    arguments.add_argument("--type", action="append", default=[], metavar="LINE", help="a line to type; may be repeated")
    arguments.add_argument("--columns", type=int, default=80)
    arguments.add_argument("--rows", type=int, default=24, help="rows of the screen; the last ones are drawn")
    arguments.add_argument("--from", dest="first", metavar="TEXT", help="start at the last row with this text")
    arguments.add_argument("--quiet", type=float, default=1.5, metavar="SECONDS", help="quiet time before a line is typed")
    arguments.add_argument("--title", help="the window's title; default: the command")
    arguments.add_argument("command", nargs="+", help="the program and its arguments, after --")
    given = arguments.parse_args()
    if not shutil.which(given.command[0]):
        sys.exit(f"{given.command[0]} is not a program on the PATH")
    text = run(given.command, given.type, given.columns, given.rows, given.quiet)
    lines = lines_of(text, given.columns)[-given.rows :]
    if given.first:
        words = ["".join(character for character, _ in line) for line in lines]
        found = [row for row, line in enumerate(words) if given.first in line]
        if not found:
            sys.exit(f"no row of the screen has the text {given.first!r}; it shows:\n" + "\n".join(words))
        lines = lines[found[-1] :]
    with open(given.out, "w", encoding="utf-8") as file:
        file.write(drawn(lines, given.columns, given.title or " ".join(given.command)))


if __name__ == "__main__":
    main()
