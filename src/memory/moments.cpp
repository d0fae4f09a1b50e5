// Reads how a person names a moment.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>

#include "memory/facts.h"

namespace stepscope {
namespace {

constexpr std::string_view kWanted =
    "peak, oom, start, end, #ENTRY, a time since the first entry (2.5s, 300ms) or "
    "microseconds since 1970";

Error refuse(std::string_view text, const std::string& why) {
  return Error{ErrorCode::kInvalidArgument,
               "no moment '" + std::string(text) + "': " + why + "; give " + std::string(kWanted),
               {}};
}

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

// "2.5s" -> microseconds.
std::optional<double> read_duration_us(std::string_view text) {
  struct Unit {
    std::string_view ending;
    double microseconds;
  };
  for (const Unit& unit : {Unit{"ms", 1e3}, Unit{"us", 1}, Unit{"s", 1e6}}) {
    if (!text.ends_with(unit.ending)) continue;
    const auto number = read_number<double>(text.substr(0, text.size() - unit.ending.size()));
    if (!number.has_value() || !std::isfinite(*number) || *number < 0) return std::nullopt;
    return *number * unit.microseconds;
  }
  return std::nullopt;
}

// Entries done at a time, in order of the file.
std::size_t moment_at(const MemorySnapshot& snapshot, IdRange<SnapshotEntryId> entries, double time_us) {
  std::size_t moment = 0;
  for (const SnapshotEntryId entry : entries.ids()) {
    const MaybeInt time = snapshot.entries.time_us[entry];
    if (time.has_value() && static_cast<double>(time.value()) > time_us) break;
    ++moment;
  }
  return moment;
}

struct TimeRange {
  MaybeInt first, last;  // of the entries that have one
};

TimeRange find_times(const MemorySnapshot& snapshot, IdRange<SnapshotEntryId> entries) {
  TimeRange times;
  for (const SnapshotEntryId entry : entries.ids()) {
    const MaybeInt time = snapshot.entries.time_us[entry];
    if (!time.has_value()) continue;
    if (!times.first.has_value()) times.first = time;
    if (!times.last.has_value() || times.last.value() < time.value()) times.last = time;
  }
  return times;
}

std::string milliseconds(double time_us) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "%.3fms", time_us / 1e3);
  return text.data();
}

Result<std::size_t> find_entry_moment(IdRange<SnapshotEntryId> entries, std::string_view text) {
  const auto number = read_number<std::uint64_t>(text.substr(1));
  if (!number.has_value()) return refuse(text, "an entry is a number");
  if (*number >= entries.size()) {
    return refuse(text, "the device has " + std::to_string(entries.size()) + " entries, counted from 0");
  }
  return static_cast<std::size_t>(*number) + 1;
}

Result<std::size_t> find_time_moment(const MemorySnapshot& snapshot, IdRange<SnapshotEntryId> entries,
                                     std::string_view text) {
  const auto since_start = read_duration_us(text);
  const auto absolute = read_number<std::int64_t>(text);
  if (!since_start.has_value() && !absolute.has_value()) return refuse(text, "not understood");
  const TimeRange times = find_times(snapshot, entries);
  if (!times.first.has_value()) return refuse(text, "the entries have no times");
  if (!since_start.has_value() && *absolute < times.first.value()) {
    return refuse(text, "before the first entry (" + std::to_string(times.first.value()) + ")");
  }
  // What is held after the last entry is what is held at the end, until the snapshot was taken; when that was, the file
  // does not say.
  const auto first = static_cast<double>(times.first.value()), last = static_cast<double>(times.last.value());
  const double time = since_start.has_value() ? first + *since_start : static_cast<double>(*absolute);
  if (time > last) {
    return refuse(text, since_start.has_value() ? "the last entry is at " + milliseconds(last - first)
                                                : "after the last entry (" + std::to_string(times.last.value()) + ")");
  }
  return moment_at(snapshot, entries, time);
}

}  // namespace

Result<std::size_t> find_moment(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                                std::string_view text) {
  const DeviceMemoryFacts& of_device = facts.devices[device];
  const IdRange<SnapshotEntryId> entries = snapshot.devices.entries[device];
  // Without a history nobody knows what was held before the end.
  if (!of_device.has_history && text != "end") return refuse(text, "no history was recorded");
  if (text == "start") return std::size_t{0};
  if (text == "end") return static_cast<std::size_t>(entries.size());
  if (text == "peak") {
    const LevelFacts& allocated = of_device.levels[static_cast<std::size_t>(MemoryLevelKind::kAllocated)];
    return moment_after(snapshot, device, allocated.peak_entry);
  }
  if (text == "oom") {
    if (of_device.ooms.empty()) return refuse(text, "no out-of-memory was recorded");
    return moment_after(snapshot, device, of_device.ooms.back().entry);
  }
  if (text.starts_with('#')) return find_entry_moment(entries, text);
  return find_time_moment(snapshot, entries, text);
}

}  // namespace stepscope
