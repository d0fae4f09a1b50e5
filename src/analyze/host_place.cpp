// Names for an instant of a thread: the user's spans, the operators, the innermost line of the user's own code.
//
// Whose code a frame is shows only in its name. The profiler cuts the longest prefix of sys.path off a file's
// name, so installed packages and the standard library appear as `torch/nn/modules/module.py`, `enum.py` or
// `logging/__init__.py`, and the user's script as `train.py`: only a list of names tells them apart. A script called
// like a module of the standard library (`types.py`) is misjudged; its caller is named instead.
#include <algorithm>

#include "analyze/waits.h"

namespace stepscope {
namespace {

// Modules of the standard library that stand in stacks of training programs, sorted.
constexpr std::string_view kStandardLibrary[] = {"_bootlocale",
                                                 "_collections_abc",
                                                 "_weakrefset",
                                                 "abc",
                                                 "argparse",
                                                 "ast",
                                                 "asyncio",
                                                 "base64",
                                                 "bdb",
                                                 "bisect",
                                                 "cProfile",
                                                 "codecs",
                                                 "collections",
                                                 "concurrent",
                                                 "contextlib",
                                                 "copy",
                                                 "copyreg",
                                                 "ctypes",
                                                 "dataclasses",
                                                 "enum",
                                                 "fractions",
                                                 "functools",
                                                 "genericpath",
                                                 "gettext",
                                                 "glob",
                                                 "gzip",
                                                 "hashlib",
                                                 "heapq",
                                                 "importlib",
                                                 "inspect",
                                                 "io",
                                                 "json",
                                                 "linecache",
                                                 "logging",
                                                 "multiprocessing",
                                                 "numbers",
                                                 "os",
                                                 "pathlib",
                                                 "pickle",
                                                 "posixpath",
                                                 "queue",
                                                 "random",
                                                 "re",
                                                 "runpy",
                                                 "selectors",
                                                 "shutil",
                                                 "socket",
                                                 "statistics",
                                                 "string",
                                                 "subprocess",
                                                 "tempfile",
                                                 "threading",
                                                 "traceback",
                                                 "types",
                                                 "typing",
                                                 "warnings",
                                                 "weakref",
                                                 "zipfile"};

// Installed packages whose frames surround the user's, sorted.
constexpr std::string_view kPackages[] = {
    "PIL",        "accelerate",  "apex",         "datasets", "deepspeed",         "einops", "fairscale", "fsspec",
    "lightning",  "numpy",       "nvidia",       "pandas",   "pytorch_lightning", "scipy",  "tqdm",      "torch",
    "torchaudio", "torchvision", "transformers", "triton"};

template <std::size_t N>
bool contains(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// The first part of a relative path, without ".py": "torch/nn/x.py(1): f" -> "torch", "enum.py(5): g" -> "enum".
std::string_view top_module(std::string_view name) {
  const std::size_t slash = name.find('/'), ending = name.find(".py(");
  return name.substr(0, std::min(slash, ending));
}

// Climbs from the last row that starts at or before `time_ns` to the innermost one that is open then.
template <class Table, class Id>
Id find_innermost(const Table& table, IdRange<Id> rows, TimeNs time_ns) {
  const auto& starts = table.start_ns.raw();
  const auto first = starts.begin() + rows.begin;
  const auto after = std::upper_bound(first, starts.begin() + rows.end, time_ns);
  if (after == first) return Id();
  Id row(static_cast<std::size_t>(after - starts.begin()) - 1);
  while (row.has_value() && table.end_ns[row] <= time_ns) row = table.parent[row];
  return row;
}

std::string join_outermost_first(const Trace& trace, std::vector<StringId> innermost_first) {
  std::string text;
  for (auto name = innermost_first.rbegin(); name != innermost_first.rend(); ++name) {
    if (!text.empty()) text += " > ";
    text += trace.text(*name);
  }
  return text;
}

// Spans have no parents: walk back, up to the step's span, which nothing of interest encloses. The bound is for
// traces without steps; no program opens a thousand spans inside one.
std::string spans_at(const Trace& trace, ThreadId thread, TimeNs time_ns) {
  constexpr std::uint32_t kMostLooked = 1000;
  const IdRange<SpanId> rows = trace.spans_of_thread[thread];
  const auto& starts = trace.spans.start_ns.raw();
  const auto after = std::upper_bound(starts.begin() + rows.begin, starts.begin() + rows.end, time_ns);
  const auto end = static_cast<std::uint32_t>(after - starts.begin());
  std::vector<StringId> names;
  for (std::uint32_t at = end; at > rows.begin && end - at < kMostLooked; --at) {
    const SpanId span(at - 1);
    if (trace.spans.end_ns[span] <= time_ns) continue;
    names.push_back(trace.spans.name[span]);
    if (trace.text(names.back()).starts_with("ProfilerStep#")) break;
  }
  return join_outermost_first(trace, std::move(names));
}

// From the `Call stack` that old profilers wrote beside operators: lines joined by `;`, innermost first.
std::string_view user_line_of_stack(std::string_view stack) {
  while (!stack.empty()) {
    const std::size_t end = std::min(stack.find(';'), stack.size());
    const std::string_view line = stack.substr(0, end);
    if (is_user_frame(line)) return line;
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  return {};
}

std::string python_line_at(const Trace& trace, ThreadId thread, TimeNs time_ns, OpId innermost_op) {
  const FrameId frame = find_user_frame(trace, thread, time_ns);
  if (frame.has_value()) return std::string(trace.text(trace.frames.name[frame]));
  for (OpId op = innermost_op; op.has_value(); op = trace.ops.parent[op]) {
    const std::string_view line = user_line_of_stack(trace.text(trace.ops.call_stack[op]));
    if (!line.empty()) return std::string(line);
  }
  return {};
}

}  // namespace

bool is_user_frame(std::string_view frame_name) {
  if (frame_name.find(".py(") == frame_name.npos || frame_name.starts_with('<')) return false;
  for (const std::string_view inside :
       {"site-packages", "dist-packages", "/torch/", "\\torch\\", "/lib/python3", "\\Lib\\", "<frozen "}) {
    if (frame_name.find(inside) != frame_name.npos) return false;
  }
  if (frame_name.starts_with('/')) return true;
  const std::string_view top = top_module(frame_name);
  return !contains(kStandardLibrary, top) && !contains(kPackages, top);
}

FrameId find_user_frame(const Trace& trace, ThreadId thread, TimeNs time_ns) {
  FrameId frame = find_innermost(trace.frames, trace.frames_of_thread[thread], time_ns);
  while (frame.has_value() && !is_user_frame(trace.text(trace.frames.name[frame]))) frame = trace.frames.parent[frame];
  return frame;
}

HostPlace find_host_place(const Trace& trace, ThreadId thread, TimeNs time_ns) {
  HostPlace place;
  if (thread.value >= trace.threads.size()) return place;
  place.spans = spans_at(trace, thread, time_ns);
  const OpId innermost = find_innermost(trace.ops, trace.ops_of_thread[thread], time_ns);
  std::vector<StringId> ops;
  for (OpId op = innermost; op.has_value(); op = trace.ops.parent[op]) ops.push_back(trace.ops.name[op]);
  place.operators = join_outermost_first(trace, std::move(ops));
  place.python_line = python_line_at(trace, thread, time_ns, innermost);
  return place;
}

}  // namespace stepscope
