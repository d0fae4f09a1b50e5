// Names of frames are made as PyTorch's profiler makes them: the longest prefix of sys.path is cut off the file, so
// that an installed package reads `torch/nn/modules/module.py` and the user's script `train.py`. The rules that tell
// the user's lines from a library's know those names.
#include "import/capture/definitions.h"

#include <algorithm>
#include <string_view>

namespace stepscope::capture_format {
namespace {

// No program is deeper; recursion that is loses its innermost frames.
constexpr std::uint32_t kMostFrames = 2000;

// No program calls CUDA's allocator from as many places.
constexpr std::size_t kMostNativeFrames = 100'000;

// "cudaMalloc_ptsz" and "cudaMallocAsync_v11020" are the calls of those names without.
std::string_view plain_call(std::string_view function) {
  const std::size_t version = function.rfind("_v");
  if (version != std::string_view::npos && function.find_first_not_of("0123456789", version + 2) == function.npos) {
    function = function.substr(0, version);
  }
  for (const std::string_view variant : {"_ptsz", "_ptds"}) {
    if (function.ends_with(variant)) function.remove_suffix(variant.size());
  }
  return function;
}

void add_prefix(std::string_view path, std::vector<std::string>& prefixes) {
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.size() < 2 || !path.starts_with('/')) return;
  prefixes.push_back(std::string(path).append("/"));
}

// The folder of the script on the command line, which is the first of sys.path; empty when there is none.
std::string script_folder(const CaptureInfo& info) {
  std::string_view rest = info.command_line;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!word.ends_with(".py")) continue;
    const std::size_t slash = word.rfind('/');
    const std::string_view folder = slash == std::string_view::npos ? std::string_view() : word.substr(0, slash);
    return word.starts_with('/') ? std::string(folder) : info.working_directory + "/" + std::string(folder);
  }
  return "";
}

// Behind `lib/python3.11/` and the like.
std::string_view behind_standard_library(std::string_view file) {
  constexpr std::string_view kFolder = "/lib/python3.";
  std::size_t at = file.rfind(kFolder);
  if (at == std::string_view::npos) return file;
  at = file.find('/', at + kFolder.size());
  return at == std::string_view::npos || at + 1 == file.size() ? file : file.substr(at + 1);
}

}  // namespace

void Definitions::set_process(const CaptureInfo& info) {
  prefixes_.clear();
  std::string_view rest = info.python_path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    add_prefix(rest.substr(0, end), prefixes_);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  add_prefix(script_folder(info), prefixes_);
  add_prefix(info.working_directory, prefixes_);
  std::stable_sort(prefixes_.begin(), prefixes_.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

std::string_view Definitions::shown_file(std::string_view file) const {
  for (const std::string& prefix : prefixes_) {
    if (file.size() > prefix.size() && file.starts_with(prefix)) return file.substr(prefix.size());
  }
  // Installed packages and the standard library, where sys.path is not known.
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = file.rfind(folder);
    if (at != std::string_view::npos && at + folder.size() < file.size()) return file.substr(at + folder.size());
  }
  return behind_standard_library(file);
}

void Definitions::add(const WireStringDefinition& definition) {
  if (definition.id != 0) texts_[definition.id] = strings_.intern(definition.text);
}

void Definitions::add(const WireFrameDefinition& definition) {
  const StringId file = text(definition.file), function = text(definition.function);
  if (auto frame = native::parse_native_frame(strings_[file], strings_[function], definition.line);
      frame && native_frames_.size() < kMostNativeFrames) {
    // Two modules of one name have frames of one text, but never one path.
    const StringId key = strings_.intern(frame->path + "\n" + std::string(strings_[function]));
    if (native_of_name_.try_emplace(key.value, native_frames_.size()).second)
      native_frames_.push_back(*std::move(frame));
    frames_[definition.id] = key;
    return;
  }
  std::string name(shown_file(strings_[file]));
  name.append("(").append(std::to_string(definition.line)).append("): ").append(strings_[function]);
  frames_[definition.id] = strings_.intern(name);
}

void Definitions::add(const WireStackDefinition& definition) {
  if (definition.id == 0) return;
  const auto frame = frames_.find(definition.frame);
  undefined_count_ += frame == frames_.end() ? 1 : 0;
  const StackNode caller = stack(definition.caller);
  if (frame == frames_.end() || nodes_[caller].depth >= kMostFrames) {
    stacks_[definition.id] = caller;
    return;
  }
  stacks_[definition.id] = static_cast<StackNode>(nodes_.size());
  nodes_.push_back({caller, nodes_[caller].depth + 1, frame->second, native_of_name_.contains(frame->second.value)});
}

std::vector<std::string> Definitions::find_native_names() {
  std::vector<std::string> changed;
  if (native_frames_.empty()) return changed;
  const std::vector<native::NativeName> names = native::find_native_names(native_frames_, changed);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const native::NativeFrame& frame = native_frames_[i];
    const std::string module = frame.path.substr(frame.path.rfind('/') + 1);
    std::string name = names[i].line == 0 ? module : std::string(shown_file(names[i].file));
    name.append("(").append(std::to_string(names[i].line)).append("): ");
    name.append(names[i].function.empty() ? native::plain_address(frame) : names[i].function);
    native_names_.push_back(strings_.intern(name));
    native_functions_.push_back(strings_.intern(native::plain_function_name(names[i].function)));
  }
  return changed;
}

StringId Definitions::shown_frame(StackNode stack) const {
  const Node& node = nodes_[stack];
  if (!node.is_native) return node.frame;
  const std::size_t row = native_of_name_.at(node.frame.value);
  return row < native_names_.size() ? native_names_[row] : node.frame;
}

bool Definitions::is_inside_call(StackNode stack, std::string_view name) const {
  const Node& node = nodes_[stack];
  if (!node.is_native || name.empty()) return false;
  const std::size_t row = native_of_name_.at(node.frame.value);
  return row < native_functions_.size() && plain_call(strings_[native_functions_[row]]) == name;
}

StringId Definitions::text(WireString number) {
  if (number == 0) return {};
  const auto at = texts_.find(number);
  if (at != texts_.end()) return at->second;
  ++undefined_count_;
  return strings_.intern("(name lost)");
}

StackNode Definitions::stack(WireStack number) {
  if (number == 0) return 0;
  const auto at = stacks_.find(number);
  if (at != stacks_.end()) return at->second;
  ++undefined_count_;
  return 0;
}

void Definitions::frames(StackNode stack, std::vector<StackNode>& into) const {
  into.resize(nodes_[stack].depth);
  for (std::size_t at = into.size(); at > 0; stack = nodes_[stack].caller) into[--at] = stack;
}

StringId Definitions::call_stack(StackNode stack) {
  if (stack == 0) return {};
  const auto [at, is_new] = call_stacks_.try_emplace(stack);
  if (is_new) {
    std::string text;
    for (StackNode node = stack; node != 0; node = nodes_[node].caller) {
      if (!text.empty()) text.push_back(';');
      text.append(strings_[shown_frame(node)]);
    }
    at.value() = strings_.intern(text);
  }
  return at->second;
}

}  // namespace stepscope::capture_format
