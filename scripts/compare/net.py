#!/usr/bin/env python3
"""Compares Petteia's forward pass with PyTorch, ONNX Runtime, and OpenVINO, using the same weights and positions.

Requires Petteia's Python module (`pip install ./python`), the packages torch, onnx, onnxruntime, openvino, and safetensors (all on
PyPI), and a built petteia. `petteia.torch` builds the network from Petteia's safetensors file and list of layers. First the script
compares this network's outputs with Petteia's, as an independent check of the layers' meaning. Then it measures all engines in turn,
round by round, on one thread. PyTorch is measured as usually written, with channels last, and frozen (TorchScript, channels last), in
f32 and bf16. Prints medians of evaluations per CPU second, and Petteia's rate divided by the other engine's.

    python3 scripts/compare/net.py [--petteia target/release/petteia] [--rounds 5] [--seconds 1] [--json]
                                   [--case connect-four:64x5 ...]
"""

import copy
import io
import json
import statistics
import tempfile
from pathlib import Path

import onnxruntime
import openvino
import torch
from safetensors.numpy import load_file

import petteia
import petteia.torch
from measuring import bench, options, rate, report

CASES = ["connect-four:32x4", "connect-four:64x5", "cage:64x6"]
BATCHES = [1, 64]
TOLERANCE = {"f32": 1e-4, "bf16": 0.05}  # of the largest output


def ours(args, game, net, batch, precision, seconds, save=None):
    """Evaluations per CPU second of Petteia's forward pass; `None` if the CPU lacks the precision."""
    of = "--checkpoint" if Path(net).is_dir() else "--net"
    arguments = ["net", "--game", game, of, net, "--batch", str(batch), "--precision", precision]
    arguments += ["--seconds", str(seconds / 5)] + (["--save", save] if save else [])
    found = bench(args, "net/forward", ["this CPU lacks"], *arguments)
    # the measurement was too short for a single batch
    return found if found != 0 else ours(args, game, net, batch, precision, seconds * 4, save)


def check(args, game, net):
    """Builds the network from Petteia's file and compares the outputs; returns the network and its input."""
    with tempfile.TemporaryDirectory() as folder:
        for precision in ("f32", "bf16"):
            if ours(args, game, net, 64, precision, 0.05, folder) is None:
                continue
            outputs = json.loads((Path(folder) / "outputs.json").read_text())
            about = {"layers": json.dumps(outputs["layers"]), "batch_norm_epsilon": "1e-5"}
            weights = petteia.Weights(load_file(Path(folder) / "weights.safetensors"), about)
            model = petteia.torch.Network(petteia.torch.folded(weights)).eval()
            planes = torch.tensor(outputs["planes"]).reshape(outputs["shape"])
            with torch.inference_mode():
                policy, wdl = model(planes)
            for what, theirs in (("policy", policy), ("wdl", wdl)):
                most = float((theirs.flatten() - torch.tensor(outputs[what])).abs().max())
                scale = max(1.0, float(theirs.abs().max()))
                report(args, {"check": f"{game} {net} {precision} {what}", "largest difference": most})
                if most > TOLERANCE[precision] * scale:
                    raise SystemExit(f"{game} {net} {precision}: {what} differs by {most}")
    return model, planes


def rivals(model, planes):
    """Returns the engines to measure: a dict from names to functions that evaluate the batch once."""
    file = io.BytesIO()
    torch.onnx.export(model, (planes,), file, input_names=["x"], output_names=["p", "v"], dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    numbers = planes.numpy()
    found = {"PyTorch f32": lambda: model(planes), "ONNX Runtime f32": lambda: session.run(None, {"x": numbers})}
    for precision, number in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        last = planes.to(number).to(memory_format=torch.channels_last)
        suited = copy.deepcopy(model).to(number).to(memory_format=torch.channels_last)
        frozen = torch.jit.optimize_for_inference(torch.jit.trace(suited, (last,), check_trace=False))
        found[f"PyTorch channels last {precision}"] = lambda net=suited, x=last: net(x)
        found[f"TorchScript {precision}"] = lambda net=frozen, x=last: net(x)
    for precision in ("f32", "bf16"):
        hints = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
        core = openvino.Core()
        compiled = core.compile_model(core.read_model(file.getvalue(), b""), "CPU", hints)
        request = compiled.create_infer_request()
        found[f"OpenVINO {precision}"] = lambda request=request: request.infer({0: numbers}, share_inputs=True)
    return found


def measure(args, game, net, batch, model, planes):
    """Measures one case in rounds."""
    planes = planes[:batch]
    with torch.inference_mode():
        found = rivals(model, planes)
        rates = {name: [] for name in ["ours f32", "ours bf16", *found]}
        # TorchScript compiles during its first calls
        for work in list(found.values()) * 3:
            work()
        for _ in range(args.rounds):
            for precision in ("f32", "bf16"):
                mine = ours(args, game, net, batch, precision, args.seconds)
                rates[f"ours {precision}"] += [] if mine is None else [mine]
            for name, work in found.items():
                rates[name].append(rate(work, batch, args.seconds))
    rates = {name: values for name, values in rates.items() if values}
    median = {name: statistics.median(values) for name, values in rates.items()}
    for name, values in rates.items():
        mine = median.get("ours bf16" if name.endswith("bf16") else "ours f32", median["ours f32"])
        line = {"case": f"{game} {net}", "batch": batch, "engine": name}
        line |= {"evaluations/s": [round(x) for x in (min(values), median[name], max(values))]}
        report(args, line | ({} if name.startswith("ours") else {"ours/theirs": round(mine / median[name], 2)}))


def main():
    args = options(__doc__, CASES, 5, 1.0, "GAME:FILTERSxBLOCKS|GAME:RUN")
    torch.set_num_threads(1)
    for case in args.case:
        game, net = case.split(":")
        model, planes = check(args, game, net)
        for batch in BATCHES:
            measure(args, game, net, batch, model, planes)


if __name__ == "__main__":
    main()
