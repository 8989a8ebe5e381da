#!/usr/bin/env python3
"""Times PyTorch's forward pass of networks like ours on an NVIDIA GPU, to compare with ours.

Requires torch with CUDA. Our side is `cargo test --release --lib net::cuda::on_gpu::time -- --ignored --nocapture`. The networks have our
layers with random weights and norms folded in, in 16 bits with channels last, replayed as a CUDA graph: as they are usually written
("plain"), and with cuDNN's operations that add bias, skip and ReLU ("fused"), also with copies of input and output. Prints the best
of five means of ten.

    python3 scripts/compare/torch_gpu.py
"""

import time

import torch
from torch.nn import functional as F

CASES = [(32, 4, 10, 10), (64, 6, 10, 10), (128, 10, 10, 10), (64, 5, 6, 7)]
BATCHES = [64, 256, 1024, 4096]
PLANES = 18


class Net:
    def __init__(self, filters, blocks, dtype):
        self.random, self.dtype = torch.Generator().manual_seed(1), dtype
        self.stem = self.conv(PLANES, filters, 3)
        self.tower = [(self.conv(filters, filters, 3), self.conv(filters, filters, 3)) for _ in range(blocks)]
        self.policy, self.logits = self.conv(filters, filters, 1), self.conv(filters, 4, 1)
        self.value, self.linear = self.conv(filters, 16, 1), [self.numbers(32, 64), self.numbers(64, 3)]

    def numbers(self, *sizes):
        return (torch.rand(*sizes, generator=self.random) * 0.2 - 0.1).to("cuda", self.dtype)

    def conv(self, inputs, outputs, kernel):
        weight = self.numbers(outputs, inputs, kernel, kernel).contiguous(memory_format=torch.channels_last)
        return weight, self.numbers(outputs)

    def relu(self, x, conv, is_fused):
        weight, bias = conv
        pad = weight.shape[-1] // 2
        if is_fused:
            return torch.cudnn_convolution_relu(x, weight, bias, (1, 1), (pad, pad), (1, 1), 1)
        return F.relu_(F.conv2d(x, weight, bias, padding=pad))

    def skip(self, y, x, conv, is_fused):
        weight, bias = conv
        if is_fused:
            return torch.cudnn_convolution_add_relu(y, weight, x, 1.0, bias, (1, 1), (1, 1), (1, 1), 1)
        return F.relu_(F.conv2d(y, weight, bias, padding=1) + x)

    def forward(self, x, is_fused):
        x = self.relu(x, self.stem, is_fused)
        for first, second in self.tower:
            x = self.skip(self.relu(x, first, is_fused), x, second, is_fused)
        v = self.relu(x, self.value, is_fused)
        v = torch.cat([v.mean((2, 3)), v.amax((2, 3))], 1)
        policy = F.conv2d(self.relu(x, self.policy, is_fused), *self.logits).flatten(1)
        return policy, F.relu(v @ self.linear[0]) @ self.linear[1]


def graph(net, x, is_fused):
    """The forward pass as a CUDA graph, and its outputs."""
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            net.forward(x, is_fused)
    torch.cuda.synchronize()
    found = torch.cuda.CUDAGraph()
    with torch.cuda.graph(found):
        outputs = net.forward(x, is_fused)
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
                net = Net(filters, blocks, dtype)
                x = (torch.rand(batch, PLANES, height, width, device="cuda") < 0.14).to(dtype)
                x = x.contiguous(memory_format=torch.channels_last)
                for is_fused in (False, True):
                    replay, outputs = graph(net, x, is_fused)
                    kind = f"{str(dtype)[6:]} {'fused' if is_fused else 'plain'}"
                    line.append(f"{kind} {rate(replay.replay, batch)},")
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
