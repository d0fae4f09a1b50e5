// Which names mean data loading and checkpointing. Sources: torch/utils/data/dataloader.py (its record_function
// label), torch/serialization.py, torch/distributed/checkpoint, and the labels that training scripts use.
//
// The word "checkpoint" alone is a trap: torch/utils/checkpoint.py, CheckpointFunction and CheckpointWrapper
// are activation recomputation, which covers the whole forward and backward pass. So a Python frame must also save,
// and a span must not speak of activations.
#include "analyze/host_label.h"

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

// Position of `word` (in lower case) in `text`, whatever the case of `text`; npos if absent.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0) {
  const auto found = std::search(text.begin() + static_cast<std::ptrdiff_t>(std::min(from, text.size())), text.end(),
                                 word.begin(), word.end(), [](char a, char b) { return lower(a) == b; });
  return found == text.end() ? std::string_view::npos : static_cast<std::size_t>(found - text.begin());
}
bool contains_word(std::string_view text, std::string_view word) { return find_word(text, word) != text.npos; }

bool equals_ignoring_case(std::string_view text, std::string_view word) {
  return text.size() == word.size() && find_word(text, word) == 0;
}

// "Load batch", "load_batch" and "load-batch" are the word "loadbatch".
bool is_word(std::string_view text, std::string_view word) {
  std::size_t at = 0;
  for (const char c : text) {
    if (c == '_' || c == ' ' || c == '-') continue;
    if (at == word.size() || lower(c) != word[at]) return false;
    ++at;
  }
  return at == word.size();
}

bool is_loader_name(std::string_view name) {
  if (name.starts_with("enumerate(DataLoader)#")) return name.find("__next__") != name.npos;
  return name.ends_with("): __next__") && name.find("dataloader.py(") != name.npos;
}

bool is_user_loader_name(std::string_view name) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "data",      "dataload", "dataloader", "dataloading", "loaddata",      "loadbatch",     "getbatch",
      "nextbatch", "fetch",    "fetchbatch", "fetchdata",   "inputpipeline", "batchgenerator"};
  if (name.ends_with("dataloader_next")) return true;  // Lightning: [_TrainingEpochLoop].train_dataloader_next
  return std::any_of(kNames.begin(), kNames.end(), [&](auto word) { return is_word(name, word); });
}

// "checkpoint" or "ckpt" that begins a word or follows "save_".
bool names_checkpoint(std::string_view name) {
  for (const std::string_view word : {std::string_view("checkpoint"), std::string_view("ckpt")}) {
    for (std::size_t at = find_word(name, word); at != name.npos; at = find_word(name, word, at + 1)) {
      if (at == 0 || !is_letter(name[at - 1])) return true;
    }
  }
  return false;
}

bool is_recomputation(std::string_view name) {
  return contains_word(name, "activation") || contains_word(name, "recompute") ||
         contains_word(name, "utils/checkpoint.py") || contains_word(name, "checkpointfunction") ||
         contains_word(name, "checkpointwrapper") || contains_word(name, "checkpoint_wrapper");
}

bool is_checkpoint_span(std::string_view name) {
  if (equals_ignoring_case(name, "save") || contains_word(name, "torch.save")) return true;
  return names_checkpoint(name) && !is_recomputation(name);
}

bool is_checkpoint_frame(std::string_view name) {
  if (name.find("torch/serialization.py") != name.npos || name.find("torch/distributed/checkpoint") != name.npos) {
    return true;
  }
  return names_checkpoint(name) && contains_word(name, "save") && !is_recomputation(name);
}

}  // namespace

std::string_view host_label_name(HostLabel label) {
  switch (label) {
    case HostLabel::kDataLoader:
      return "data_loader";
    case HostLabel::kCheckpoint:
      return "checkpoint";
    case HostLabel::kAllocator:
      return "allocator";
    case HostLabel::kSynchronization:
      return "synchronization";
    case HostLabel::kBlockingCopy:
      return "blocking_copy";
    case HostLabel::kOptimizer:
      return "optimizer";
    case HostLabel::kOperator:
      return "operator";
    case HostLabel::kPython:
      return "python";
    case HostLabel::kLaunch:
      return "launch";
    case HostLabel::kOtherApi:
      return "other_api";
    case HostLabel::kProfiler:
      return "profiler";
    case HostLabel::kNoEvent:
      return "no_event";
    case HostLabel::kLaunchLatency:
      return "launch_latency";
    case HostLabel::kKernelGap:
      return "kernel_gap";
    case HostLabel::kUnlinked:
      return "unlinked";
  }
  return "";
}

std::uint8_t classify_host_name(std::string_view name) {
  std::uint8_t traits = 0;
  if (is_loader_name(name)) traits |= kLoaderName;
  if (is_user_loader_name(name)) traits |= kUserLoaderName;
  if (is_checkpoint_span(name)) traits |= kCheckpointSpanName;
  if (is_checkpoint_frame(name)) traits |= kCheckpointFrameName;
  if (name.starts_with("Optimizer.step#")) traits |= kOptimizerStepName;
  if (name.starts_with("autograd::engine")) traits |= kAutogradName;
  if (name.starts_with("ProfilerStep#")) traits |= kStepName;
  return traits;
}

HostNames::HostNames(const Trace& trace) : traits_(trace.strings.size(), kUnseen) {
  const auto classify = [&](const std::vector<StringId>& names) {
    for (const StringId name : names) {
      if (traits_[name.value] != kUnseen) continue;
      traits_[name.value] = classify_host_name(trace.text(name));
      has_loader_ = has_loader_ || has(name, kLoaderName);
      if (step_name_.empty() && has(name, kStepName)) step_name_ = name;
    }
  };
  classify(trace.spans.name.raw());
  classify(trace.frames.name.raw());
  classify(trace.ops.name.raw());
}

}  // namespace stepscope
