"""README's Python example as printed, on this GPU: it must capture the GPU, the same kernels that its steps launch.

    readme_example.py README.md      runs it in an empty folder, prints the end of what it says; exit status 1 where the GPU is missing
"""
import os
import pathlib
import re
import runpy
import sys
import tempfile

text = pathlib.Path(sys.argv[1]).read_text()
(example,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "from stepscope.torch import" in block]
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "example.py").write_text(example)
os.chdir(folder)
runpy.run_path("example.py")

import stepscope  # noqa: E402

trace = stepscope.load("trace.json.gz")
report = trace.report()
kernels = len(trace.kernels())
print(f"{kernels} kernels and copies; GPU {report['devices'][0]['device'] if report['devices'] else 'MISSING'}; {report['steps']['count']} steps, {report['status']}")
sys.exit(0 if kernels and report["devices"] and report["steps"]["count"] == 3 else 1)
