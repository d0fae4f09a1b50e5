"""A small training loop on the CPU, to see what `stepscope run` says of a program that was not changed for it.

    stepscope run -- python examples/train_cpu.py

The loop marks no steps: the optimizer's step does. One thing in it is slow on purpose: `load_batch` makes its batch one
row at a time, which takes longer than the training itself; the report names the span around it.
"""
import argparse

import torch
from torch.profiler import record_function

FEATURES = 64
CLASSES = 10


def load_batch(generator, rows):
    """A batch, row by row: the planted fault."""
    inputs, labels = [], []
    for _ in range(rows):
        row = torch.randn(FEATURES, generator=generator)
        inputs.append((row - row.mean()) / row.std())
        labels.append(torch.randint(CLASSES, (1,), generator=generator))
    return torch.stack(inputs), torch.cat(labels)


def main():
    parser = argparse.ArgumentParser(description="Trains a small network on random data, on the CPU.")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rows", type=int, default=64, help="of a batch")
    options = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)  # the machine may be shared
    generator = torch.Generator().manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 128), torch.nn.ReLU(), torch.nn.Linear(128, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loss_function = torch.nn.CrossEntropyLoss()

    for step in range(options.steps):
        with record_function("load batch"):
            inputs, labels = load_batch(generator, options.rows)
        with record_function("forward"):
            loss = loss_function(model(inputs), labels)
        optimizer.zero_grad()
        with record_function("backward"):
            loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
