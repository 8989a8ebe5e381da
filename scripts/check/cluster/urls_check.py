"""Checks that a run at an address behaves like a run in a folder.

Begins a run in a folder, copies it into an object store (SeaweedFS on the loopback interface), continues it there with a
learner and workers, and copies it back. The bytes must match those of a run trained by a single process. Then tries every
command that reads a run with the run's address; the output must match the output for the folder.

    python scripts/check/cluster/urls_check.py PETTEIA --weed target/cluster-python/bin/weed
"""

import argparse
import atexit
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from check import CONFIG, Weed, say

GENERATIONS = 4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("petteia")
    parser.add_argument("--weed", default="weed")
    args = parser.parse_args()
    petteia = str(pathlib.Path(args.petteia).resolve())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="petteia-urls-"))
    say(f"all files are in {folder}")
    config = folder / "config.toml"
    config.write_text(CONFIG.format(seed=5, games=64, generations=GENERATIONS))
    weed = Weed(args.weed, folder)
    environment = dict(os.environ) | {
        "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT": f"http://127.0.0.1:{weed.ports['s3']}", "AWS_ALLOW_HTTP": "true"}
    where, url = folder / "runs" / "moved", "s3://runs/moved"

    def run(*words, code=0, wrong=False):
        done = subprocess.run([petteia, *map(str, words)], env=environment, capture_output=True, text=True, cwd=folder)
        if done.returncode != code and not wrong:
            sys.exit(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def made(place):
        kept = [path for path in place.rglob("*") if path.is_file() and path.relative_to(place).parts[0] in ("selfplay", "checkpoints")]
        return {str(path.relative_to(place)): path.read_bytes() for path in kept}

    alone = folder / "runs" / "alone"
    run("train", config, "--run", alone)

    # begin a run in a folder, and interrupt it in the third generation
    begun = subprocess.Popen([petteia, "train", str(config), "--run", str(where)], env=environment,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (where / "checkpoints" / "generation-0002").exists():
        time.sleep(0.002)
    begun.terminate()
    begun.wait()
    before = len(list((where / "checkpoints").iterdir()))
    run("copy", where, url)
    learner = subprocess.Popen([petteia, "learn", url, "--threads", "1"], env=environment, stdout=subprocess.DEVNULL)
    workers = [subprocess.Popen([petteia, "worker", url, "--threads", "1"], env=environment, stdout=subprocess.DEVNULL)
               for _ in range(2)]
    for process in [learner, *workers]:
        if process.wait() != 0:
            sys.exit("a process failed")
    shutil.rmtree(where)
    run("copy", url, where)
    if made(where) != made(alone):
        sys.exit("the bytes differ from those of a run trained by one process")
    say(f"begun in a folder ({before} generations), copied to the store, finished there, and brought back: "
        f"{len(made(where))} files, all byte for byte equal to those of a run trained by one process")

    # a command must print the same for the address and for the folder
    def same(*words, but=()):
        found = [run(*[word.replace("RUN", str(place)) for word in words]) for place in (url, where)]
        for pattern in (re.escape(url), re.escape(str(where)), r"\d[\d.]* (s|min|h)( ago)?\b", *but):
            found = [re.sub(pattern, "#", text) for text in found]
        found = ["\n".join(" ".join(line.split()) for line in text.splitlines()) for text in found]
        if found[0] != found[1]:
            sys.exit(f"{words}: the output for the address is\n{found[0]}\nbut for the folder it is\n{found[1]}")
        say(f"the same: petteia {' '.join(words)}")

    same("runs", "RUN", "--json", but=[r'"workers":\[.*?\]', r'"seconds_ago":\d+'])
    same("inspect", "RUN", but=[r"bytes +[\d,]+"])
    same("inspect", "RUN", "--repair", but=[r"bytes +[\d,]+"])
    same("audit", "RUN")
    for words in (["list"], ["verify"], ["show", "--generation", "2", "--game", "1"]):
        same("records", "RUN", *words)
    same("watch", "RUN")
    same("analyze", "tic-tac-toe", "--agent", "RUN:16")
    same("arena", "tic-tac-toe", "RUN:8", "random", "--games", "8")
    same("ladder", "RUN", "--games", "40")
    same("report", "RUN", "--out", "report.html", but=[r"[\d,.]+ (kB|MB|bytes)"])
    if "<svg" not in (folder / "report.html").read_text():
        sys.exit("the report has no curves")
    for place, name in ((url, "address.csv"), (where, "folder.csv")):
        run("records", place, "convert", "--format", "csv", "--out", name)
    if (folder / "address.csv").read_bytes() != (folder / "folder.csv").read_bytes():
        sys.exit("records convert gives different bytes")
    for form in ("safetensors", "onnx", "bot"):
        out = [folder / f"{name}.{form}" for name in ("address", "folder")]
        for place, path in zip((url, where), out):
            run("export", place, "--format", form, "--out", path)
        first, second = (path.read_bytes() if path.is_file() else made(path) for path in out)
        if first != second:
            sys.exit(f"export --format {form} gives different bytes")
        say(f"the same: petteia export RUN --format {form}")
    played = subprocess.run([petteia, "play", url], input="resign\n", env=environment,
                            capture_output=True, text=True)
    if played.returncode != 0:
        sys.exit(f"play: {played.stdout}{played.stderr}")
    say("played: petteia play URL")
    serve = subprocess.Popen([petteia, "serve", url, "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True)
    atexit.register(serve.kill)
    address = serve.stdout.readline().split()[0].rstrip("/")
    page = urllib.request.urlopen(address, timeout=60).read().decode()
    token = re.search(r'name="token" content="([^"]+)"', page).group(1)
    for path in ("api/home", "api/runs/0", "api/runs/0/charts", "api/runs/0/games"):
        request = urllib.request.Request(f"{address}/{path}", headers={"X-Petteia-Token": token})
        answer = json.load(urllib.request.urlopen(request, timeout=60))
        say(f"served: {path}, {len(json.dumps(answer))} bytes")
        if path == "api/runs/0":
            workers = answer["workers"]
            if sum(worker["shards"] for worker in workers) == 0:
                sys.exit("the page shows no workers")
    serve.terminate()
    # train at the address with a single process
    run("train", config, "--run", "s3://runs/alone")
    run("copy", "s3://runs/alone", folder / "brought")
    if made(folder / "brought") != made(alone):
        sys.exit("the bytes of a run that one process trained in the store differ")
    say("the same bytes: petteia train --run URL")
    for name in ("selfplay/generation-0002/shard-0001.jsonl.zst", f"checkpoints/generation-{GENERATIONS:04}/weights.safetensors"):
        junk = urllib.request.Request(f"{environment['AWS_ENDPOINT']}/runs/alone/{name}", data=b"junk", method="PUT")
        urllib.request.urlopen(junk, timeout=60)
    said = run("inspect", "s3://runs/alone", "--repair")
    if said.count("set aside: ") != 2 or said.count("its games were played again") != 1:
        sys.exit(f"repaired: {said}")
    run("train", config, "--run", "s3://runs/alone")
    run("copy", "s3://runs/alone", folder / "mended")
    mended = {name: bytes for name, bytes in made(folder / "mended").items() if ".bad" not in name}
    if mended != made(alone):
        sys.exit("the bytes of the repaired run differ")
    say("repaired, with the same bytes: petteia inspect URL --repair")
    run("train", "--run", "s3://runs/alone", "--generations", str(GENERATIONS + 1))
    run("train", "--fork", "s3://runs/alone", "--at", "2", "--run", folder / "forked", "--set", "seed=9")
    run("train", config, "--run", "s3://runs/next", "--from", "s3://runs/alone")
    listed = run("runs", "s3://runs")
    if not all(name in listed for name in ("moved", "alone", "next")):
        sys.exit(f"runs: {listed}")
    say("the run was extended, forked, used as a start, and listed: petteia train, petteia runs s3://runs")
    weed.process.kill()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
