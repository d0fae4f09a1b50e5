// Sizes are powers of 1024 here, unlike format_bytes of wording.h: allocators hand out MiB, and every number of torch's
// own memory tools is one, so that the reader can compare.
#include "rules/memory_wording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "rules/wording.h"

namespace stepscope {

std::string format_memory(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && std::abs(value) >= 1023.5) {
    value /= 1024;
    ++unit;
  }
  const int decimals = unit == 0 || std::abs(value) >= 99.95 ? 0 : std::abs(value) >= 9.995 ? 1 : 2;
  std::array<char, 48> buffer{};
  const int length = std::snprintf(buffer.data(), buffer.size(), "%.*f %s", decimals, value, kUnits[unit]);
  return {buffer.data(), static_cast<std::size_t>(length)};
}

std::string describe_event(const MemoryRuleInput& input, std::size_t event) {
  std::string text(1, '#');
  text += std::to_string(event);
  const auto entries = input.snapshot.devices.entries[input.device];
  const MaybeInt first = input.snapshot.entries.time_us[SnapshotEntryId(entries.begin)];
  const MaybeInt time = input.snapshot.entries.time_us[SnapshotEntryId(entries.begin + event)];
  if (!first.has_value() || !time.has_value() || time.value() < first.value()) return text;
  return text + " (" + format_duration((time.value() - first.value()) * 1000) + ")";
}

std::string without_folders(const std::string& line) {
  const std::size_t end = line.find(':');
  const std::size_t slash = line.rfind('/', end);
  return slash == std::string::npos ? line : line.substr(slash + 1);
}

std::string describe_place(const MemoryRuleInput& input, SnapshotStackId stack) {
  if (!stack.has_value()) return std::string(kNoFramesRecorded);
  const SnapshotFrameId frame = find_user_frame(input.snapshot, stack);
  return frame.has_value() ? without_folders(describe_frame(input.snapshot, frame)) : "no line of yours";
}

std::string tensors_of(const std::string& line) {
  if (line == kNoFramesRecorded) return "the tensors without recorded frames";
  if (line == kOlderThanHistory) return "the tensors that are older than the history";
  return "the tensors of " + without_folders(line);
}

std::string list_lines(const std::vector<LiveGroup>& lines, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, lines.size()); ++i) {
    const std::string& name = lines[i].name;
    const bool is_place = name == kOlderThanHistory || name == kOutsideModules;
    const char* joint = name == kNoFramesRecorded ? " with " : is_place ? " " : " of ";
    if (i > 0) text += ", ";
    text += format_memory(lines[i].bytes) + joint + without_folders(name);
  }
  return text;
}

std::string times_words(std::int64_t count) { return count == 1 ? "once" : count_of(count, "time", "times"); }

MemoryCategory category_of(const Allocations& allocations, AllocationId id) {
  const bool is_known = allocations.category_source[id] != CategorySource::kNone;
  return is_known ? allocations.category[id] : MemoryCategory::kUnknown;
}

const AllocatorWhatIf* best_setting(const MemoryRuleInput& input) {
  std::vector<const AllocatorWhatIf*> serving;
  for (const AllocatorWhatIf& what_if : input.what_ifs) {
    // Without caching every allocation is a cudaMalloc that waits for the GPU: no setting to train with.
    if (!what_if.run.oom && what_if.config.caching) serving.push_back(&what_if);
  }
  if (serving.empty()) return nullptr;
  const auto reserves_less = [](const AllocatorWhatIf* a, const AllocatorWhatIf* b) {
    return a->run.reserved_peak_bytes < b->run.reserved_peak_bytes;
  };
  const std::int64_t least =
      (*std::min_element(serving.begin(), serving.end(), reserves_less))->run.reserved_peak_bytes;
  constexpr std::int64_t kNearOneOf = 20;  // 5 % of memory are not worth a second option
  const AllocatorWhatIf* best = nullptr;
  const auto options = [](const AllocatorWhatIf* what_if) {
    const std::string conf = describe_allocator_config(what_if->config);
    return std::count(conf.begin(), conf.end(), ',');
  };
  for (const AllocatorWhatIf* what_if : serving) {
    if (what_if->run.reserved_peak_bytes > least + least / kNearOneOf) continue;
    const bool is_simpler = best == nullptr || options(what_if) < options(best);
    const bool is_as_simple = best != nullptr && options(what_if) == options(best);
    if (is_simpler || (is_as_simple && reserves_less(what_if, best))) best = what_if;
  }
  return best;
}

std::string setting_to_type(const AllocatorWhatIf& what_if) {
  const std::string conf = describe_allocator_config(what_if.config);
  if (conf == "default") return "unset PYTORCH_CUDA_ALLOC_CONF";
  return "PYTORCH_CUDA_ALLOC_CONF=" + conf;
}

}  // namespace stepscope
