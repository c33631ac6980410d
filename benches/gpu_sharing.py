"""How many trials at a time one GPU trains fastest: epochs a second of a search with 1, 2 and 4 workers on GPU 0, without and with NVIDIA's MPS.

    python3 benches/gpu_sharing.py FORETELL [--seconds 60] [--workers 1,2,4] [--mps] [--device cuda]

FORETELL is the built command. Each search trains small GPTs on the text of the docs, stops none, and ends after --seconds. The epochs of its
middle part are counted: the first 40 % is left out, where Python starts. Needs PyTorch; `--train` is the training itself, which the searches call.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONTEXT, WIDTH, LAYERS, HEADS, BATCH, STEPS = 256, 256, 4, 4, 64, 40


def train(arguments):
    """Trains one GPT; prints its validation loss after each epoch of STEPS steps, and notes the time in the file that BENCH_TIMES names."""
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    device = torch.device(arguments.device)
    text = b"".join(path.read_bytes() for path in sorted((ROOT / "docs").rglob("*.md")))
    data = torch.frombuffer(bytearray(text), dtype=torch.uint8).to(device)
    causal = nn.Transformer.generate_square_subsequent_mask(CONTEXT, device=device)

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(256, WIDTH), nn.Embedding(CONTEXT, WIDTH)
            layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, batch_first=True, norm_first=True)
            self.layers, self.out = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False), nn.Linear(WIDTH, 256)

        def forward(self, x):
            hidden = self.token(x) + self.place(torch.arange(x.shape[1], device=device))
            return self.out(self.layers(hidden, mask=causal, is_causal=True))

    model = Gpt().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.lr)
    validation = len(data) * 9 // 10

    def loss(begin, end):
        starts = torch.randint(begin, end - CONTEXT - 1, (arguments.batch,), device=device)
        rows = data[starts[:, None] + torch.arange(CONTEXT + 1, device=device)].long()
        with torch.autocast(device.type, torch.bfloat16):
            return functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1).float(), rows[:, 1:].flatten())

    for epoch in range(1, arguments.epochs + 1):
        for _ in range(arguments.steps):
            optimizer.zero_grad()
            loss(0, validation).backward()
            optimizer.step()
        with torch.no_grad():
            value = sum(loss(validation, len(data)).item() for _ in range(4)) / 4
        print(f"epoch {epoch} val_loss {value:.4f}", flush=True)
        with open(os.environ["BENCH_TIMES"], "a") as times:
            times.write(f"{time.time()}\n")


def search(arguments, workers):
    """(epochs a second, what `study show` prints of the GPU) of a search with so many workers."""
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder) / "times"
        times.touch()
        command = [arguments.foretell, "search", "--workers", str(workers), "--trials", "64", "--epochs", "100000", "--param", "lr=log:1e-4:3e-3"]
        command += ["--metric", "val_loss", "--minimize", "--policy", "none", "--sampler", "random", "--max-time", f"{arguments.seconds}s"]
        command += ["--out", f"{folder}/gpt", *([] if arguments.device == "cpu" else ["--gpus", "0"]), "--"]
        command += [sys.executable, __file__, "--train", "--lr", "{lr}", "--device", arguments.device, "--steps", str(arguments.steps), "--batch", str(arguments.batch)]
        begun = time.time()
        ended = subprocess.run(command, env={**os.environ, "BENCH_TIMES": str(times)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        at = [float(line) - begun for line in times.read_text().split()]
        begin, end = 0.4 * arguments.seconds, 0.95 * arguments.seconds
        if not any(begin <= each < end for each in at):
            sys.exit(f"no epoch ended within {arguments.seconds} s:\n{ended.stdout[-3000:]}")
        shown = subprocess.run([arguments.foretell, "study", "show", f"{folder}/gpt", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        use = next((line.strip() for line in shown.splitlines() if "GPU" in line), "no GPU use shown")
        return sum(begin <= each < end for each in at) / (end - begin), use


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("foretell", nargs="?")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--mps", action="store_true", help="again under MPS, which is started and ended here")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of an epoch")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--lr", type=float, default=1e-3, help=argparse.SUPPRESS)
    parser.add_argument("--epochs", type=int, default=100000, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        return train(arguments)
    if not arguments.foretell:
        parser.error("name the built command, for example target/release/foretell")
    for mps in [False, True][: 1 + arguments.mps]:
        if mps:
            subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True)
        try:
            for workers in map(int, arguments.workers.split(",")):
                rate, use = search(arguments, workers)
                print(f"{'MPS' if mps else 'no MPS':7} {workers} at a time: {rate:6.2f} epochs a second; a trial shows: {use}", flush=True)
        finally:
            if mps:
                subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True)


main()
