// Settings of the allocator as the shortest text that sets them, and as a snapshot recorded them.
//
// A snapshot says most of them twice, in the text of the environment and as numbers; the numbers win, since a program
// can change settings while it runs. The size of a large segment stands only in the text.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>

#include "memory/allocator_rules.h"

namespace stepscope {
namespace {

std::string megabytes_text(std::int64_t bytes) {
  if (bytes % kMiB == 0) return std::to_string(bytes / kMiB);
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", static_cast<double>(bytes) / static_cast<double>(kMiB));
  return text;
}

// The shortest number that reads back as the same.
std::string number_text(double number) {
  char text[32];
  const auto [end, failure] = std::to_chars(text, text + sizeof text, number);
  return failure == std::errc() ? std::string(text, end) : std::string("0");
}

// One number where all are the same; else a list: the first pair also sets what is below it, > what is above the last.
std::string divisions_text(const std::array<std::int64_t, 16>& divisions) {
  const auto same_as = [](std::int64_t value) { return [value](std::int64_t each) { return each == value; }; };
  if (std::all_of(divisions.begin(), divisions.end(), same_as(divisions[0]))) return std::to_string(divisions[0]);
  std::size_t first = 0;
  while (divisions[first + 1] == divisions[0]) ++first;
  std::size_t last = divisions.size() - 1;
  while (divisions[last - 1] == divisions.back()) --last;
  std::string text = "[";
  for (std::size_t i = first; i < last; ++i) {
    if (i > first && divisions[i] == 0) continue;  // what is not named between two is 0
    text += std::to_string(1LL << i) + ':' + std::to_string(divisions[i]) + ',';
  }
  // > acts on all above the last that is named; one more has to be named where those between are 0.
  if (last > first + 1 && divisions[last - 1] == 0) text += std::to_string(1LL << (last - 1)) + ":0,";
  if (divisions.back() != 0) return text + ">:" + std::to_string(divisions.back()) + ']';
  text.back() = ']';
  return text;
}

std::optional<std::int64_t> find_number(const SnapshotSettings& settings, std::string_view key) {
  for (const auto& [name, value] : settings.others) {
    if (name != key) continue;
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failure == std::errc() && end == value.data() + value.size()) return number;
  }
  return {};
}

void take_divisions(const SnapshotSettings& settings, AllocatorConfig& config) {
  if (settings.roundup_power2_divisions.empty()) return;
  config.roundup_power2_divisions.fill(0);
  for (const auto& [megabytes, count] : settings.roundup_power2_divisions) {
    if (megabytes <= 0 || count < 0 || count > kMostBytes) continue;
    const auto power = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(megabytes)) - 1);
    if (power < config.roundup_power2_divisions.size()) config.roundup_power2_divisions[power] = count;
  }
}

// In a private pool with segments of the old kind although expandable ones were asked for: an older torch.
bool has_plain_private_segment(const MemorySnapshot& snapshot) {
  for (const SnapshotSegmentId segment : snapshot.segments.ids().ids()) {
    const SnapshotPoolId pool = snapshot.segments.pool[segment];
    if (!pool.has_value() || snapshot.pools[pool] == std::pair<std::int64_t, std::int64_t>(0, 0)) continue;
    if (snapshot.segments.is_expandable[segment] == 0) return true;
  }
  return false;
}

// Before torch 2.2 a snapshot has no settings, but what they did.
bool has_expandable_segment(const MemorySnapshot& snapshot) {
  const auto& segments = snapshot.segments.is_expandable.raw();
  const auto& actions = snapshot.entries.action.raw();
  return std::find(segments.begin(), segments.end(), 1) != segments.end() ||
         std::find(actions.begin(), actions.end(), AllocatorAction::kSegmentMap) != actions.end();
}

}  // namespace

std::string describe_allocator_config(const AllocatorConfig& config) {
  if (!config.caching) return "no_caching";
  std::string text;
  const auto add = [&text](std::string_view key, std::string_view value) {
    if (!text.empty()) text += ',';
    text.append(key).append(":").append(value);
  };
  if (config.expandable_segments) add("expandable_segments", "True");
  if (config.max_split_size_bytes) add("max_split_size_mb", megabytes_text(*config.max_split_size_bytes));
  if (config.max_non_split_rounding_bytes != config.large_segment_bytes) {
    add("max_non_split_rounding_mb", megabytes_text(config.max_non_split_rounding_bytes));
  }
  if (config.large_segment_bytes != AllocatorConfig{}.large_segment_bytes) {
    add("large_segment_size_mb", megabytes_text(config.large_segment_bytes));
  }
  if (config.roundup_power2_divisions != AllocatorConfig{}.roundup_power2_divisions) {
    add("roundup_power2_divisions", divisions_text(config.roundup_power2_divisions));
  }
  if (config.garbage_collection_threshold > 0) {
    add("garbage_collection_threshold", number_text(config.garbage_collection_threshold));
  }
  return text.empty() ? "default" : text;
}

AllocatorConfig recorded_allocator_config(const MemorySnapshot& snapshot) {
  const SnapshotSettings& settings = snapshot.settings;
  AllocatorConfig config;
  if (const auto written = parse_allocator_config(settings.conf); written.has_value()) config = written.value();
  if (!settings.is_recorded) {
    config.expandable_segments = config.expandable_segments || has_expandable_segment(snapshot);
    return config;
  }
  if (const auto large = find_number(settings, "large_segment_size"); large && *large > kOwnSegmentBytes) {
    config.large_segment_bytes = std::min(*large, kMostBytes);
  }
  config.max_split_size_bytes = {};
  if (const MaybeInt split = settings.max_split_size_bytes; split.value_or(0) > 0 && split.value() < kMostBytes) {
    config.max_split_size_bytes = split.value();
  }
  if (const auto threshold = settings.garbage_collection_threshold; threshold && *threshold >= 0 && *threshold < 1) {
    config.garbage_collection_threshold = *threshold;
  }
  if (settings.expandable_segments) config.expandable_segments = *settings.expandable_segments;
  take_divisions(settings, config);
  config.expandable_private_pools = !config.expandable_segments || !has_plain_private_segment(snapshot);
  return config;
}

}  // namespace stepscope
