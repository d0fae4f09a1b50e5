// Demangled names are text of unknown make: brackets are counted, nothing else is assumed, and a name that would become
// empty is left as it is.
#include "memory/native_names.h"

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

template <std::size_t kCount>
bool starts_with_any(std::string_view text, const std::array<std::string_view, kCount>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

// What torch, CUDA, Python and the C library put around a user's own functions.
bool is_foreign(std::string_view shortened) {
  constexpr std::array<std::string_view, 27> kForeign = {
      "at::",       "c10::",    "c10d::",        "caffe2::",   "torch::", "std::",    "pybind11::",
      "THP",        "Py",       "_Py",           "cfunction_", "method_", "slot_tp_", "__",
      "_start",     "pthread_", "start_thread",  "thrust::",   "cub::",   "rmm::",    "cudart::",
      "cudaMalloc", "cudaFree", "cudaHostAlloc", "cuMem",      "clone3",  "_dl_"};
  return starts_with_any(shortened, kForeign);
}

// A frame of a shared library without line information: nobody debugs in it. A user's own has a line, as a rule.
bool is_in_library(const MemorySnapshot& snapshot, SnapshotFrameId frame) {
  const std::string_view file = snapshot.text(snapshot.frames.file[frame]);
  return snapshot.frames.line[frame].value_or(-1) == 0 && (file.ends_with(".so") || file.find(".so.") != file.npos);
}

bool is_allocator(std::string_view shortened) {
  constexpr std::array<std::string_view, 6> kAllocator = {
      "torch::unwind::", "torch::CapturedTraceback::", "torch::cuda::", "c10::", "at::detail::empty", "cudaMalloc"};
  return starts_with_any(shortened, kAllocator);
}

bool is_backward_operator(std::string_view shortened) {
  return shortened.find("Backward") != std::string_view::npos && shortened.ends_with("::apply");
}

bool is_operator_call(std::string_view shortened) {
  return shortened.starts_with("at::_ops::") && shortened.ends_with("::call");
}

// Text without what stands between < and >, and cut at the parameter list.
std::string drop_arguments(std::string_view name) {
  std::string kept;
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    if (depth == 0 && c == '(') {
      if (!name.substr(at).starts_with(kAnonymous)) break;
      kept += kAnonymous;
      at += kAnonymous.size() - 1;
    } else if (c == '<' || (depth > 0 && c == '(')) {
      ++depth;
    } else if (c == '>' || (depth > 0 && c == ')')) {
      if (depth > 0) --depth;
    } else if (depth == 0) {
      kept += c;
    }
  }
  return kept;
}

}  // namespace

std::string shorten_native_name(std::string_view name) {
  std::string kept = drop_arguments(name);
  while (!kept.empty() && kept.back() == ' ') kept.pop_back();
  // The return type ends at the last blank that is not the one inside "(anonymous namespace)".
  std::size_t end = kept.size();
  while (end > 0) {
    const std::size_t blank = kept.rfind(' ', end - 1);
    if (blank == std::string::npos) break;
    if (blank >= 10 && kept.compare(blank - 10, kAnonymous.size(), kAnonymous) == 0) {
      end = blank;
      continue;
    }
    kept.erase(0, blank + 1);
    break;
  }
  return kept.empty() ? std::string(name) : kept;
}

SnapshotFrameId find_native_frame(const MemorySnapshot& snapshot, std::span<const SnapshotFrameId> frames) {
  SnapshotFrameId backward, outermost_operator, no_allocator;
  for (const SnapshotFrameId frame : frames) {
    const std::string name = shorten_native_name(snapshot.text(snapshot.frames.name[frame]));
    if (!is_foreign(name) && !is_in_library(snapshot, frame)) return frame;
    if (!backward.has_value() && is_backward_operator(name)) backward = frame;
    if (is_operator_call(name)) outermost_operator = frame;
    if (!no_allocator.has_value() && !is_allocator(name)) no_allocator = frame;
  }
  for (const SnapshotFrameId found : {backward, outermost_operator, no_allocator}) {
    if (found.has_value()) return found;
  }
  return frames.empty() ? SnapshotFrameId{} : frames.front();
}

}  // namespace stepscope
