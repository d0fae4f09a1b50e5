"""The two outcomes of example.py: kernels by name must be equal, kernel times and operators' counts are shown side by side."""
import json
import sys

theirs, ours = (json.load(open(path)) for path in sys.argv[1:3])
wrong = theirs["kernels"] != ours["kernels"]
print("kernels", sum(ours["kernels"].values()), "by torch.profiler", sum(theirs["kernels"].values()), "EQUAL by name" if not wrong else "DIFFERENT")
for name in sorted(set(theirs["kernels"]) | set(ours["kernels"])):
    if theirs["kernels"].get(name) != ours["kernels"].get(name):
        print("  ", name[:100], theirs["kernels"].get(name), ours["kernels"].get(name))
print(f"kernel time {ours['kernel_us']:.0f} us, {theirs['kernel_us']:.0f} by torch.profiler ({ours['kernel_us'] / theirs['kernel_us'] - 1:+.2%})")
differing = {key: (theirs["rows"].get(key), ours["rows"].get(key)) for key in set(theirs["rows"]) | set(ours["rows"])
             if (theirs["rows"].get(key) or [None])[0] != (ours["rows"].get(key) or [None])[0] or (theirs["rows"].get(key) or [0, 0, 0])[2] != (ours["rows"].get(key) or [0, 0, 0])[2]}
print(len(ours["rows"]), "rows of key_averages; count or FLOPs differ in", len(differing))
for key, (a, b) in sorted(differing.items()):
    print("  ", key[:60], "torch.profiler", a, "stepscope", b)
print("memory equal:", ours["memory_equal"], " matmul by our Timer and torch's:", [f"{t * 1e6:.1f} us" for t in ours["timer"]])
sys.exit(1 if wrong or not ours["memory_equal"] else 0)
