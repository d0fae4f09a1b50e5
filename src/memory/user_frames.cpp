// The rule of "whose line is it": the first frame, from the inside, that is nobody's but the user's.
//
// Files are judged by their path alone: site-packages and dist-packages are installed code, a folder torch is torch
// built from source, lib/python3.x is Python's own. Where a stack has no such frame, the nearest thing is named
// instead: a library's line (a program that is all library), then torch's, then C++ names. Line numbers of C++ frames
// are not recorded, so those are told by name, without parameters and template arguments (names of 600 letters
// otherwise).
#include "memory/user_frames.h"

#include <algorithm>
#include <array>
#include <string>

#include "memory/facts.h"
#include "memory/native_names.h"

namespace stepscope {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_native_file(std::string_view file) {
  if (file.empty() || file == "??") return true;
  const std::size_t dot = file.rfind('.');
  if (dot == std::string_view::npos) return false;
  constexpr std::array<std::string_view, 11> kNativeEndings = {"cpp", "cc",  "cxx", "c",  "cu", "cuh",
                                                               "h",   "hpp", "inc", "so", "inl"};
  return std::find(kNativeEndings.begin(), kNativeEndings.end(), file.substr(dot + 1)) != kNativeEndings.end();
}

// Code without a file: what a person typed is the user's, what a program made is not.
FrameOrigin origin_without_file(std::string_view file) {
  const bool is_typed = file.starts_with("<stdin") || file.starts_with("<ipython-input");
  return is_typed ? FrameOrigin::kUser : FrameOrigin::kStandard;
}

// Is one of the path's folders `lib` (lib64, Lib) with python3.x around it?
bool is_standard_library(std::string_view path) {
  for (const std::string_view folder : {"/lib/python3", "/lib64/python3"}) {
    if (contains(path, folder)) return true;
  }
  const std::size_t python = path.find("/Python3");  // Windows: .../Python312/Lib/threading.py
  if (python == std::string_view::npos) return false;
  const std::size_t next = path.find('/', python + 1);
  return next != std::string_view::npos && path.substr(next).starts_with("/Lib/");
}

FrameOrigin origin_of_path(std::string_view path) {
  for (const std::string_view packages : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = path.rfind(packages);
    if (at == std::string_view::npos) continue;
    return path.substr(at + packages.size()).starts_with("torch/") ? FrameOrigin::kTorch : FrameOrigin::kLibrary;
  }
  if (is_standard_library(path)) return FrameOrigin::kStandard;
  if (contains(path, "/torchinductor_")) return FrameOrigin::kStandard;  // kernels that torch.compile wrote
  if (contains(path, "/torch/") || path.starts_with("torch/")) return FrameOrigin::kTorch;
  return FrameOrigin::kUser;
}

}  // namespace

FrameOrigin find_frame_origin(std::string_view function, std::string_view file, MaybeInt line) {
  if (is_native_file(file)) return FrameOrigin::kNative;
  if (file.front() == '<') return origin_without_file(file);
  const bool is_python = file.ends_with(".py");
  // A module of a program instead of a source: its function has no line. Python's own code at line 0 is <module>.
  if (!is_python && line.value_or(-1) == 0 && !function.starts_with('<')) return FrameOrigin::kNative;
  if (!is_python && (!line.has_value() || contains(function, "::"))) return FrameOrigin::kNative;
  if (!contains(file, "\\")) return origin_of_path(file);
  std::string path(file);
  std::replace(path.begin(), path.end(), '\\', '/');
  return origin_of_path(path);
}

Column<SnapshotFrameId, FrameOrigin> find_frame_origins(const MemorySnapshot& snapshot) {
  Column<SnapshotFrameId, FrameOrigin> origins;
  origins.raw().reserve(snapshot.frames.size());
  for (const SnapshotFrameId frame : snapshot.frames.ids().ids()) {
    origins.push_back(find_frame_origin(snapshot.text(snapshot.frames.name[frame]),
                                        snapshot.text(snapshot.frames.file[frame]), snapshot.frames.line[frame]));
  }
  return origins;
}

SnapshotFrameId find_user_frame(const MemorySnapshot& snapshot, const Column<SnapshotFrameId, FrameOrigin>& origins,
                                SnapshotStackId stack) {
  const std::span<const SnapshotFrameId> frames = snapshot.frames_of(stack);
  for (const FrameOrigin wanted :
       {FrameOrigin::kUser, FrameOrigin::kLibrary, FrameOrigin::kTorch, FrameOrigin::kStandard}) {
    for (const SnapshotFrameId frame : frames) {
      if (origins[frame] == wanted) return frame;
    }
  }
  return find_native_frame(snapshot, frames);
}

SnapshotFrameId find_user_frame(const MemorySnapshot& snapshot, SnapshotStackId stack) {
  return find_user_frame(snapshot, find_frame_origins(snapshot), stack);
}

std::string describe_frame(const MemorySnapshot& snapshot, SnapshotFrameId frame) {
  if (!frame.has_value()) return std::string(kNoFramesRecorded);
  const std::string_view function = snapshot.text(snapshot.frames.name[frame]);
  const std::string_view file = snapshot.text(snapshot.frames.file[frame]);
  const MaybeInt line = snapshot.frames.line[frame];
  const bool is_native = find_frame_origin(function, file, line) == FrameOrigin::kNative;
  const std::string name = is_native ? shorten_native_name(function) : std::string(function);
  const bool has_line = line.has_value() && line.value() > 0;
  // Where the line is not known, a capture names the program instead: "make_buffers (plain)".
  const bool has_module = line.value_or(-1) == 0 && !file.empty() && file != "??" && !name.starts_with(file);
  if (is_native && !has_line) return has_module ? name + " (" + std::string(file) + ")" : name;
  std::string text(file);
  if (has_line) text += ':' + std::to_string(line.value());
  return text + ' ' + name;
}

}  // namespace stepscope
