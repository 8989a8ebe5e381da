"""Runs every block of Python in the guides: page by page, in order, in one folder."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = os.environ.get("PETTEIA")
# a run of connect-four that takes seconds
TINY = ["--set", "game.id=connect-four", "--set", "train.generations=2", "--set", "selfplay.bootstrap_games=8", "--set", "selfplay.games=16"]
# a page may need packages that these tests do not install: blocks that import these packages are skipped
OPTIONAL = {"duckdb", "pandas", "polars", "torch", "onnxruntime", "pyarrow"}


def blocks(page):
    """Returns the blocks of a page as (language, text), with empty lines in front, so that errors show the line numbers of the
    page."""
    text = page.read_text(encoding="utf-8")
    for block in re.finditer(r"^```(python|sh)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield block[1], "\n" * text.count("\n", 0, block.start(2)) + block[2]


def runs(commands):
    """Runs those commands of a block that make tables of a run."""
    for line in commands.splitlines():
        words = shlex.split(line, comments=True)
        if words[:2] == ["petteia", "records"]:
            subprocess.run([PROGRAM, *words[1:]], check=True, capture_output=True)


@pytest.mark.parametrize("name", ["python-module.md", "python.md"])
def test_every_block_runs(name, tmp_path, monkeypatch, request):
    if not PROGRAM:
        pytest.skip("the guides read a run, which the program makes: name it in PETTEIA")
    monkeypatch.chdir(tmp_path)
    train = [PROGRAM, "train", ROOT / "configs/smoke.toml", "--run", "runs/connect-four", *TINY]
    subprocess.run(train, check=True, capture_output=True)
    shutil.copytree(ROOT / "sets", "sets")
    names, ran, left_out = {"__name__": "guide"}, 0, []
    for language, text in blocks(ROOT / "docs" / name):
        if language == "sh":
            runs(text)
            continue
        # the block is a separate program
        if "sys.argv" in text:
            continue
        try:
            exec(compile(text, str(ROOT / "docs" / name), "exec"), names)
            ran += 1
        except ModuleNotFoundError as error:
            if error.name.partition(".")[0] not in OPTIONAL:
                raise
            left_out.append(error.name)
    assert ran > 0
    print(f"{name}: {ran} blocks ran; without {', '.join(left_out) or 'nothing'}")
