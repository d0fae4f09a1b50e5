"""How often the inferred categories are right: training loops of several shapes, made up with the frames that torch
records, their truth known for each allocation. Prints the share of bytes that got the right category, of what is live at
the peak and of all allocations, and what the rest was taken for:  STEPSCOPE_DUMP_FACTS=.../dump_facts python3 measure_categories.py
"""
import collections
import json
import os
import pickle
import subprocess
import tempfile

from made_histories import MIB, Program

TORCH = "/v/lib/python3.12/site-packages/torch/"
CALL = [("_call_impl", TORCH + "nn/modules/module.py", 1790), ("_wrapped_call_impl", TORCH + "nn/modules/module.py", 1779)]
MAIN = [("main", "/home/u/train.py", 60), ("<module>", "/home/u/train.py", 90)]
LINEAR = [("forward", TORCH + "nn/modules/linear.py", 134), *CALL, ("forward", "/home/u/model.py", 20), *CALL, *MAIN]
SOFTMAX = [("softmax", TORCH + "nn/functional.py", 2140), ("forward", "/home/u/model.py", 22), *CALL, *MAIN]
OPTIMIZER = [("_init_group", TORCH + "optim/adamw.py", 129), ("step", TORCH + "optim/adamw.py", 209), *MAIN]
ENGINE = [("??", "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)", 0)]
BUILD = [("__init__", TORCH + "nn/modules/linear.py", 106), ("__init__", "/home/u/model.py", 5), *MAIN]


class Training(Program):
    """`backward`: what the engine's allocations carry: "none" (Python stacks), "native", "python"."""

    def __init__(self, seed, backward="none", spans=True, checkpoint=False, accumulate=1, evaluate=False, cut=False):
        super().__init__(seed)
        self.backward, self.spans, self.checkpoint = backward, spans, checkpoint
        self.accumulate, self.evaluate, self.cut = accumulate, evaluate, cut
        self.truth, self.annotations, self.first = {}, [], 0

    def make(self, category, size, frames):
        made = self.allocate(size, 0, (0, 0), None)
        self.entries[made.made]["frames"] = [{"name": name, "filename": file, "line": line} for name, file, line in frames]
        self.truth[made.made] = category
        return made

    def drop(self, allocation):
        self.let_go(allocation)
        self.complete(allocation)

    def mark(self, stage, name):
        if self.spans:
            self.annotations.append({"stage": stage, "name": name, "device": 0, "time_us": self.time_us})

    def engine(self):
        if self.backward == "native":
            return [(name, file, line) for file, name, line in ENGINE]
        if self.backward == "python":
            return [("_engine_run_backward", TORCH + "autograd/graph.py", 829), *MAIN]
        return []

    def forward(self, keep):
        kept = []
        for _ in range(6):
            activation = self.make("activation", 6 * MIB, LINEAR)
            if keep:
                kept.append(activation)
            scratch = self.make("temporary", 3 * MIB, SOFTMAX)
            self.drop(scratch)
            if not keep:
                self.drop(activation)
        kept.append(self.make("activation", 512, [("main", "/home/u/train.py", 61), MAIN[1]]))  # the loss
        return kept

    def backward_pass(self, kept, gradients):
        self.drop(kept.pop())
        while kept:
            if self.checkpoint:
                again = self.make("activation", 6 * MIB, [("recompute_fn", TORCH + "utils/checkpoint.py", 1400), *LINEAR[:4]])
            detail = self.make("autograd detail", 6 * MIB, self.engine())
            self.drop(kept.pop())
            made = [self.make("gradient", 2 * MIB, self.engine()) for _ in range(4)]
            if len(gradients) < 24:
                gradients += made
            else:
                for gradient in made:  # added to those that are there
                    self.truth[gradient.made] = "autograd detail"
                    self.drop(gradient)
            self.drop(detail)
            if self.checkpoint:
                self.drop(again)

    def train(self):
        parameters = [self.make("parameter", 2 * MIB, BUILD) for _ in range(24)]
        states = []
        for step in range(5):
            if step == 3 and self.cut:
                self.first = len(self.entries)
            gradients = []
            for _ in range(self.accumulate):
                batch = self.make("input", MIB * 2, [("main", "/home/u/train.py", 58), MAIN[1]])
                self.backward_pass(self.forward(True), gradients)
                self.drop(batch)
            self.mark("START", "Optimizer.step#AdamW.step")
            if not states:
                states = [self.make("optimizer state", 2 * MIB, OPTIMIZER) for _ in range(2 * len(parameters))]
            for _ in range(6):
                self.drop(self.make("temporary", 2 * MIB, OPTIMIZER))
            self.mark("END", "Optimizer.step#AdamW.step")
            for gradient in gradients:
                self.drop(gradient)
            if self.evaluate:
                for kept in self.forward(False):
                    self.drop(kept)

    def measure(self):
        self.train()
        snapshot = self.snapshot(self.first)
        snapshot["external_annotations"] = self.annotations
        with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
            pickle.dump(snapshot, file, protocol=4)
            file.flush()
            done = subprocess.run([os.environ["STEPSCOPE_DUMP_FACTS"], file.name], capture_output=True, text=True,
                                  check=True)
        facts = json.loads(done.stdout)["0"]
        said = {(address, entry): category for address, entry, category in facts["categories"]}
        peak = facts["requested"][3]
        at_peak = self.live(self.first, 0 if peak is None else peak + 1)
        everything = [each for each in self.allocations if each.gone is None or each.gone >= self.first]
        return self.compare(at_peak, said), self.compare(everything, said)

    def compare(self, allocations, said):
        """Share of bytes with the right category, and what the others were taken for."""
        right, total, wrong = 0, 0, collections.Counter()
        for each in allocations:
            key = (each.address, each.made - self.first if each.made >= self.first else None)
            total += each.requested
            if said[key] == self.truth[each.made]:
                right += each.requested
            else:
                wrong[f"{self.truth[each.made]} as {said[key]}"] += each.requested
        return right / total, ", ".join(f"{name} {100 * size / total:.0f}%" for name, size in wrong.most_common())


SHAPES = {
    "Python stacks": {},
    "C++ stacks": {"backward": "native"},
    "no spans": {"spans": False},
    "gradients accumulated over 3 batches": {"accumulate": 3},
    "activations computed again (checkpoint)": {"checkpoint": True},
    "evaluation after each step": {"evaluate": True},
    "history begins at the fourth step": {"cut": True},
}

if __name__ == "__main__":
    print(f"{'':42} at the peak  of all")
    for shape, options in SHAPES.items():
        (at_peak, _), (of_all, rest) = Training(1, **options).measure()
        print(f"{shape:42} {100 * at_peak:10.1f}% {100 * of_all:6.1f}%  {rest}")
