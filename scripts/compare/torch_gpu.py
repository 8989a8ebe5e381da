#!/usr/bin/env python3
"""Measures PyTorch's forward pass of networks like Petteia's on an NVIDIA GPU, for comparison with Petteia's own forward pass.

Requires Petteia's Python module (`pip install ./python`) and torch with CUDA. For Petteia's times run `cargo test --release --lib
net::cuda::on_gpu::time -- --ignored --nocapture`. The networks are those of `petteia.torch` with initial weights and norms folded in, in
16 bits with channels last, replayed as a CUDA graph. They are measured as usually written ("plain") and with cuDNN's operations that fuse
bias, skip, and ReLU ("fused"), each with and without copies of input and output. Each time printed is the best of five means, each of
ten repetitions.

    python3 scripts/compare/torch_gpu.py
"""

import json
import tempfile
import time
from pathlib import Path

import torch

import petteia
import petteia.torch

CASES = [(32, 4, 10, 10), (64, 6, 10, 10), (128, 10, 10, 10), (64, 5, 6, 7)]
BATCHES = [64, 256, 1024, 4096]
PLANES = 18


class Fused(petteia.torch.Network):
    """Uses cuDNN's operations that fuse bias, skip, and ReLU."""

    def conv(self, layer, x):
        if not layer["relu"]:
            return super().conv(layer, x)
        weight, bias = (self.tensor(f"{layer['name']}.{part}") for part in ("weight", "bias"))
        pad = layer["kernel"] // 2
        return torch.cudnn_convolution_relu(x, weight, bias, (1, 1), (pad, pad), (1, 1), 1)

    def block(self, layer, x):
        name = layer["second"]["name"]
        weight, bias = self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias")
        y = self.conv(layer["first"], x)
        return torch.cudnn_convolution_add_relu(y, weight, x, 1.0, bias, (1, 1), (1, 1), (1, 1), 1)


def weights(filters, blocks):
    """Returns the weights of a network for 18 planes, any board size, and four actions on each square. The weights are those of
    a game's network with its other actions removed."""
    with tempfile.TemporaryDirectory() as folder:
        path, sizes = Path(folder) / "new.safetensors", {"filters": filters, "blocks": blocks}
        petteia.new_network(path, petteia.Game("cage"), **sizes, value_pooling=True, value_planes=16)
        found = petteia.torch.folded(petteia.weights(path))
    layers = found.layers
    layers["logits"] = layers["logits"][:1]
    planes = {name: tensor[:4] for name, tensor in found.tensors.items() if name.startswith("policy_planes.")}
    return petteia.Weights(found.tensors | planes, found.metadata | {"layers": json.dumps(layers)})


def graph(net, x):
    """Returns the forward pass as a CUDA graph, and its outputs."""
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            net(x)
    torch.cuda.synchronize()
    found = torch.cuda.CUDAGraph()
    with torch.cuda.graph(found):
        outputs = net(x)
    return found, outputs


def rate(work, batch):
    work()
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(5):
        begun = time.perf_counter()
        for _ in range(10):
            work()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - begun) / 10)
    return f"{batch / best:,.0f}/s"


def main():
    torch.backends.cudnn.benchmark = True
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    for filters, blocks, height, width in CASES:
        for batch in BATCHES:
            line = [f"{filters}x{blocks} on {height}x{width}, batch {batch}:"]
            for dtype in (torch.float16, torch.bfloat16):
                x = (torch.rand(batch, PLANES, height, width, device="cuda") < 0.14).to(dtype)
                x = x.contiguous(memory_format=torch.channels_last)
                for kind in (petteia.torch.Network, Fused):
                    net = kind(weights(filters, blocks)).eval().to("cuda", dtype, memory_format=torch.channels_last)
                    replay, outputs = graph(net, x)
                    name = f"{str(dtype)[6:]} {'fused' if kind is Fused else 'plain'}"
                    line.append(f"{name} {rate(replay.replay, batch)},")
                here, back = x.cpu().pin_memory(), [output.cpu().pin_memory() for output in outputs]

                def whole():
                    x.copy_(here, non_blocking=True)
                    replay.replay()
                    for to, output in zip(back, outputs):
                        to.copy_(output, non_blocking=True)
                    torch.cuda.synchronize()

                line.append(f"with copies {rate(whole, batch)};")
            print(*line, flush=True)


if __name__ == "__main__":
    with torch.inference_mode():
        main()
