"""The callbacks in real trainers, on the CPU; the first test of each is the page's example as printed."""

import contextlib
import io
import os
import re
import tempfile
import unittest
import warnings
from pathlib import Path

import support

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")


@contextlib.contextmanager
def in_a_folder():
    """An empty current directory."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def run_example(page, **names):
    """The one Python block of a page, run where `names` are known; what it defines."""
    text = (support.DATA.parents[1] / "docs" / "python" / page).read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, re.S)
    exec(compile(block, page, "exec"), names)
    return names


@support.needs("torch", "lightning")
class Lightning(unittest.TestCase):
    def fit(self, callback=None, trainer=None, batches=14, model_step=None):
        import torch
        from lightning.pytorch import LightningModule, Trainer

        class Model(LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(8, 2)

            def training_step(self, batch, index):
                if model_step is not None:
                    model_step(index)
                return self.layer(batch).square().mean()

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)

        data = torch.utils.data.DataLoader(torch.randn(batches * 4, 8), batch_size=4)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if trainer is None:
                trainer = Trainer(max_epochs=1, callbacks=[callback], logger=False, enable_checkpointing=False,
                                  enable_progress_bar=False, enable_model_summary=False, accelerator="cpu",
                                  default_root_dir=folder)
            trainer.fit_loop.max_epochs = 1
            trainer.fit(Model(), data)

    def test_the_example_of_the_page(self):
        with in_a_folder() as folder:
            out = io.StringIO()
            with contextlib.redirect_stderr(out), contextlib.redirect_stdout(io.StringIO()):
                names = run_example("lightning.md")
                self.fit(trainer=names["trainer"])
            (callback,) = [each for each in names["trainer"].callbacks if isinstance(each, names["StepscopeCallback"])]
            self.assertEqual(callback.report["steps"]["count"], 3)
            self.assertIn("3 steps", out.getvalue())
            self.assertEqual(len(list(folder.glob("log/*.pt.trace.json.gz"))), 1)

    def nothing_left(self, failure=None, **plan):
        """Fits 14 batches (the one of number 9 raises `failure`); what was said, where nothing else may be left."""
        from stepscope.integrations.lightning import StepscopeCallback
        from stepscope.torch import profile

        def step(index):
            if failure is not None and index == 9:
                raise failure

        with in_a_folder() as folder:
            callback = StepscopeCallback(directory="log", **plan)
            with contextlib.redirect_stderr(io.StringIO()) as out:
                with contextlib.nullcontext() if failure is None else self.assertRaises(type(failure)):
                    self.fit(callback, model_step=step)
            self.assertIsNone(callback.report)
            self.assertEqual(list(folder.rglob("*.json*")), [])
        with profile():  # no capture under way
            pass
        self.assertNotIn("verdict", out.getvalue())
        return [line for line in out.getvalue().splitlines() if "stepscope" in line]

    def test_a_fit_that_is_too_short_leaves_a_line_that_says_so(self):
        self.assertEqual(self.nothing_left(wait=50, warmup=2, active=3),
                         ["stepscope: no report: training ended after 14 whole steps of wait 50, warmup 2, active 3"])
        # The end comes within the window.
        self.assertEqual(self.nothing_left(wait=5, warmup=2, active=30),
                         ["stepscope: no report: training ended after 14 whole steps of wait 5, warmup 2, active 30"])

    def test_a_fit_that_fails_within_the_window_too(self):
        self.assertEqual(self.nothing_left(ZeroDivisionError(), wait=5, warmup=2, active=5),
                         ["stepscope: no report: training ended after 9 whole steps of wait 5, warmup 2, active 5"])

    def test_a_window_that_ends_with_the_fit_is_whole(self):
        from stepscope.integrations.lightning import StepscopeCallback

        callback = StepscopeCallback(wait=9, warmup=2, active=3)
        with contextlib.redirect_stderr(io.StringIO()) as out:
            self.fit(callback)
        self.assertEqual(callback.report["steps"]["count"], 3)
        self.assertNotIn("no report", out.getvalue())


@support.needs("torch", "transformers", "accelerate")
class HuggingFace(unittest.TestCase):
    def test_the_example_of_the_page(self):
        import torch
        from transformers import GPT2Config, GPT2LMHeadModel, TrainingArguments

        model = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2))
        tokens = torch.randint(0, 32, (16,))
        data = [{"input_ids": tokens, "labels": tokens}] * 24
        out = io.StringIO()
        with in_a_folder() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = TrainingArguments(output_dir=str(folder), max_steps=11, per_device_train_batch_size=2, use_cpu=True,
                                          report_to=[], save_strategy="no", disable_tqdm=True, logging_strategy="no")
            with contextlib.redirect_stderr(out):
                names = run_example("huggingface.md", model=model, arguments=arguments, data=data)
                names["trainer"].train()
        self.assertEqual(names["callback"].report["steps"]["count"], 3)
        self.assertIn("3 steps", out.getvalue())
        # The same trainer once more, too short for the window: the report of the first stays, and one line says why.
        with contextlib.redirect_stderr(io.StringIO()) as out, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names["trainer"].args.max_steps = 2
            names["trainer"].train()
        self.assertRegex(out.getvalue(), "no report: training ended after 2 whole steps of wait 5, warmup 2, active 3")


if __name__ == "__main__":
    support.main()
