#!/usr/bin/env python3
"""Runs exported networks in common runtimes and compares the outputs with the program's own.

    python3 scripts/check/onnx_runtimes.py target/release/petteia [--only RUNTIME ...]

Exports several networks as ONNX: shipped networks, and tiny networks for games and settings that no shipped network covers. Runs
each in ONNX Runtime, OpenVINO, tinygrad, ncnn (converted by pnnx), and LiteRT (converted by onnx2tf), at positions of random games
and in batches of several sizes. Prints a table of versions and largest differences. The exit code is 1 if a difference exceeds 1e-4,
or if a runtime cannot read a file. One more runtime, tract, has its own check: `checks/onnx`.

Installs the packages of scripts/check/runtimes-requirements.txt and scripts/check/litert-requirements.txt under target/runtimes, once.
They need Python 3.12 or later. The script uses the Python that PETTEIA_PYTHON312 names or, if the variable is not set, python3.14,
python3.13, python3.12, or python3. tinygrad compiles with the system's clang, of any version; without clang, tinygrad is skipped, and
the output says so.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "target" / "runtimes"
TOLERANCE = 1e-4
BATCHES = [1, 3, 64]
SHIPPED = ["phage", "connect-four", "caissa", "custodial-trap-advanced"]
# What these games cover: othello has a pass; gomoku has only actions on squares, on a large board; hex has pooled values and an
# action without a square; breakthrough has pooling within the tower.
TINY = {
    "othello": [],
    "gomoku": [],
    "hex": ["net.value_pooling=true"],
    "breakthrough": ["net.block_pooling=1"],
}
# onnx2tf 2.6.9 loses a tensor that is read by both a global pooling and an addition, so this file cannot be converted to LiteRT
NOT_IN = {("breakthrough", "LiteRT")}
CONFIG = """
net = { filters = 16, blocks = 2 }
search.simulations = 2
selfplay = { games = 2, batch = 2, bootstrap_games = 4, bootstrap_simulations = 2 }
train = { generations = 1, batch = 16, warmup_steps = 1, samples_per_position = 2 }
arena = { games = 0, final_games = 0 }
"""


# Each runtime is a function that takes a file and a working folder. It returns a function from planes to (policy, wdl), and the batch
# sizes that this function supports. Runtimes run in separate environments; see `main`.


def onnxruntime(model, folder):
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return lambda planes: session.run(["policy", "wdl"], {"planes": planes}), BATCHES


def openvino(model, folder):
    import openvino

    # without this hint, OpenVINO computes in bf16 on CPUs that support it
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def run(planes):
        outputs = compiled([planes])
        return outputs["policy"], outputs["wdl"]

    return run, BATCHES


def tinygrad(model, folder):
    from tinygrad import Tensor
    from tinygrad.nn.onnx import OnnxRunner

    def run(planes):
        # a runner only accepts the batch size of its first call
        outputs = OnnxRunner(model)({"planes": Tensor(planes)})
        return outputs["policy"].numpy(), outputs["wdl"].numpy()

    return run, BATCHES


def ncnn(model, folder):
    import ncnn
    import numpy

    shape = json.loads(metadata(model)["shape"])
    sizes = [shape[size] for size in ("planes", "height", "width")]
    here = Path(folder) / "network.onnx"
    shutil.copy(model, here)
    # run pnnx's program, because its Python module would import torch
    [pnnx] = importlib.util.find_spec("pnnx").submodule_search_locations
    # fp16=0 keeps the weights in f32
    command = [f"{pnnx}/pnnx", str(here), f"inputshape=[1,{','.join(map(str, sizes))}]f32", "fp16=0"]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    said = said.stdout + said.stderr
    if "ignore" in said:
        raise RuntimeError(f"pnnx ignores a part of the model: {[line for line in said.splitlines() if 'ignore' in line]}")
    net = ncnn.Net()
    # keep computations in f32, too
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = net.opt.use_bf16_storage = False
    if net.load_param(str(here.with_suffix(".ncnn.param"))) or net.load_model(str(here.with_suffix(".ncnn.bin"))):
        raise RuntimeError("ncnn cannot load what pnnx wrote")

    def run(planes):
        extractor = net.create_extractor()
        extractor.input("in0", ncnn.Mat(numpy.ascontiguousarray(planes[0])))
        return [numpy.array(extractor.extract(name)[1])[None] for name in ("out0", "out1")]

    return run, [1]


def litert(model, folder):
    from ai_edge_litert.interpreter import Interpreter

    command = [str(Path(sys.executable).with_name("onnx2tf")), "-i", str(model), "-o", folder]
    said = subprocess.run(command, capture_output=True, text=True)
    files = list(Path(folder).glob("*_float32.tflite"))
    if said.returncode or len(files) != 1:
        raise RuntimeError(f"onnx2tf: {(said.stdout + said.stderr)[-500:]}")
    interpreter = Interpreter(model_path=str(files[0]))
    interpreter.allocate_tensors()
    planes_of = interpreter.get_input_details()[0]["index"]

    def run(planes):
        # LiteRT expects the planes in the last dimension
        planes = planes.transpose(0, 2, 3, 1).copy()
        interpreter.resize_tensor_input(planes_of, planes.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(planes_of, planes)
        interpreter.invoke()
        # outputs in the order of the ONNX file
        return [interpreter.get_tensor(one["index"]) for one in interpreter.get_output_details()]

    return run, BATCHES


# the function, the environment, and the packages whose versions are printed
RUNTIMES = {
    "ONNX Runtime": (onnxruntime, "runtimes", ["onnxruntime"]),
    "OpenVINO": (openvino, "runtimes", ["openvino"]),
    "tinygrad": (tinygrad, "runtimes", ["tinygrad"]),
    "ncnn": (ncnn, "runtimes", ["ncnn", "pnnx"]),
    "LiteRT": (litert, "litert", ["ai-edge-litert", "onnx2tf"]),
}


def metadata(model):
    import onnx

    return {entry.key: entry.value for entry in onnx.load(model).metadata_props}


def compare(runtime, model, outputs):
    """Returns the largest differences in a logit and in a probability. Must run in an environment that has the runtime."""
    import numpy as np
    from onnx_outputs import probabilities

    ours = json.loads(Path(outputs).read_text())
    planes = np.array(ours["planes"], np.float32).reshape(ours["shape"])
    policy = np.array(ours["policy"], np.float32).reshape(len(planes), -1)
    wdl = probabilities(np.array(ours["wdl"], np.float32).reshape(len(planes), 3))
    most = [0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        run, batches = RUNTIMES[runtime][0](model, folder)
        for batch in batches:
            for first in range(0, len(planes) - batch + 1, batch) if batch > 3 else (0, len(planes) // 2):
                rows = slice(first, first + batch)
                for at, (found, expected) in enumerate(zip(run(planes[rows]), (policy[rows], wdl[rows]))):
                    if np.shape(found) != expected.shape:
                        raise RuntimeError(f"a batch of {batch}: an output has shape {np.shape(found)}, not {expected.shape}")
                    # NaN counts as the largest difference
                    most[at] = float(np.maximum(most[at], np.abs(found - expected).max()))
    versions = [f"{package} {importlib.metadata.version(package)}" for package in RUNTIMES[runtime][2]]
    return {"versions": ", ".join(versions), "batches": batches, "most": most}


def requirements(name):
    return Path(__file__).with_name(f"{name}-requirements.txt")


def installed(name):
    """Returns an environment's Python. The list of installed packages is written last, so that an interrupted installation starts over."""
    folder, wanted = HOME / name, requirements(name).read_text()
    done, python = folder / "installed.txt", folder / "bin" / "python"
    if not done.is_file() or done.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"]
        subprocess.run([base_python(), "-m", "venv", folder], check=True)
        subprocess.run([*pip, requirements(name)], check=True)
        done.write_text(wanted)
    return python


def compiler():
    """Returns the system's clang, the newest if there are several, or None."""
    versions = [f"clang-{version}" for version in range(30, 13, -1)]
    return next(filter(None, map(shutil.which, ["clang", *versions])), None)


def base_python():
    names = [os.environ.get("PETTEIA_PYTHON312"), "python3.14", "python3.13", "python3.12", "python3"]
    for name in filter(None, names):
        test = [name, "-c", "import sys, venv; sys.exit(sys.version_info < (3, 12))"]
        if shutil.which(name) and subprocess.run(test, stderr=subprocess.DEVNULL).returncode == 0:
            return name
    sys.exit("no Python 3.12 or later was found: set PETTEIA_PYTHON312 to its path")


def networks(petteia, folder):
    """Returns exports as (name, ONNX file, outputs)."""

    def run(*arguments):
        subprocess.run([petteia, *map(str, arguments)], check=True, capture_output=True)

    for game in [*SHIPPED, *TINY]:
        work = folder / game
        work.mkdir()
        agent = game
        if game in TINY:
            (work / "tiny.toml").write_text(f"config_format = 1\ngame.id = '{game}'\n{CONFIG}")
            agent = work / "run"
            sets = [word for setting in TINY[game] for word in ("--set", setting)]
            run("train", work / "tiny.toml", "--run", agent, *sets)
        run("export", agent, "--format", "onnx", "--out", work / "network.onnx")
        run("export", agent, "--format", "safetensors", "--out", work / "network.safetensors")
        bench = ["bench", "net", "--checkpoint", work / "network.safetensors", "--precision", "f32", "--batch", 1]
        run(*bench, "--seconds", 0.001, "--save", work)
        yield game, work / "network.onnx", work / "outputs.json"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("petteia", nargs="?", help="the program")
    parser.add_argument("--install", action="store_true", help="only install the packages")
    parser.add_argument("--only", nargs="+", choices=RUNTIMES, default=list(RUNTIMES), metavar="RUNTIME", help=", ".join(RUNTIMES))
    args = parser.parse_args()
    clang = compiler()
    if "tinygrad" in args.only and not clang:
        args.only.remove("tinygrad")
        print("!! NOTICE: no clang is installed, so NOTHING RUNS IN TINYGRAD (Debian: clang).", file=sys.stderr)
    pythons = {name: installed(RUNTIMES[name][1]) for name in args.only}
    if args.install:
        return
    if not args.petteia:
        parser.error("name the program")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        # tinygrad looks for a program called clang
        if clang:
            (Path(folder) / "clang").symlink_to(clang)
        environment = {**os.environ, "DEV": "CPU", "PATH": f"{os.environ['PATH']}:{folder}"}
        for game, model, outputs in networks(args.petteia, Path(folder)):
            for runtime, python in pythons.items():
                if (game, runtime) in NOT_IN:
                    continue
                command = [python, __file__, "--compare", runtime, model, outputs]
                done = subprocess.run(command, capture_output=True, text=True, env=environment)
                if done.returncode:
                    failed.append(f"{game} in {runtime}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
                    print(f"{game:24} {runtime:13} FAILED")
                    continue
                told = json.loads(done.stdout.splitlines()[-1])
                logit, probability = told["most"]
                batches = ", ".join(map(str, told["batches"]))
                print(f"{game:24} {runtime:13} {logit:8.1e} {probability:8.1e}  batches of {batches}; {told['versions']}", flush=True)
                if not max(told["most"]) <= TOLERANCE:
                    failed.append(f"{game} in {runtime}: outputs differ by more than {TOLERANCE}")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compare"]:
        print(json.dumps(compare(*sys.argv[2:])))
    else:
        main()
