// How long memory was held: bytes x time, and what was made in the history and never given back.
//
// Asked for with --lifetimes and then alone on the screen: the peak is the first question of everyone, this one of who
// looks for what occupies memory all the time. GiB s: a GiB for a second, or half of one for two.
#include <fmt/format.h>

#include <algorithm>

#include "report/memory_table.h"
#include "report/memory_text.h"
#include "report/numbers.h"
#include "report/terminal/sections.h"

namespace stepscope {
namespace {

struct LifetimeRow {
  std::string amount;
  double share = 0;
  MaybeInt count;
  std::string name;
};

void add_table(std::string_view title, std::string_view amount, std::string_view by,
               const std::vector<LifetimeRow>& rows, std::size_t row_count, Page& page) {
  if (row_count == 0) return;
  page.blank();
  page.add(page.line().add(title, Ink::kBold));
  MemoryTable table = MemoryTable::of_numbers({14, 21, 30}, 32);
  table.add({std::string(amount), "share", "tensors", std::string(by)}, Ink::kDim);
  for (std::size_t i = 0; i < std::min(row_count, rows.size()); ++i) {
    table.add({rows[i].amount, show_percent(rows[i].share), count_or_dash(rows[i].count), rows[i].name});
  }
  if (rows.size() > row_count) {
    const auto more = static_cast<std::int64_t>(rows.size() - row_count);
    table.add({"", "", "", fmt::format("{} more", show_count(more))}, Ink::kDim);
  }
  table.write(page);
}

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::vector<LifetimeRow> byte_time_rows(const LifetimesReport& lifetimes) {
  double all = 0;
  for (const ByteTimeGroup& group : lifetimes.byte_time) all += group.byte_seconds;
  std::vector<LifetimeRow> rows;
  constexpr double kMostBytes = 9e18;  // of 64 bits; no machine's
  for (const ByteTimeGroup& group : lifetimes.byte_time) {
    const auto bytes = static_cast<std::int64_t>(std::min(group.byte_seconds, kMostBytes));
    const bool is_some = bytes == 0 && group.byte_seconds > 0;
    rows.push_back(
        {is_some ? "< 1 B s" : memory_words(bytes) + " s", share_of(group.byte_seconds, all), group.count, group.name});
  }
  return rows;
}

std::vector<LifetimeRow> never_freed_rows(const LifetimesReport& lifetimes) {
  double all = 0;
  for (const LiveGroup& group : lifetimes.never_freed) all += static_cast<double>(group.bytes);
  std::vector<LifetimeRow> rows;
  for (const LiveGroup& group : lifetimes.never_freed) {
    rows.push_back(
        {memory_words(group.bytes), share_of(static_cast<double>(group.bytes), all), group.count, group.name});
  }
  return rows;
}

void say(std::string_view words, Page& page) {
  page.blank();
  page.paragraph(words, kMemoryLabelColumn);
}

void add_never_freed(const LifetimesReport& lifetimes, std::string_view by, std::size_t row_count, Page& page) {
  if (lifetimes.made_count == 0) return say("Nothing was made in the history.", page);
  if (!lifetimes.never_freed.empty()) {
    add_table("Made in the history and never freed in it", "requested", by, never_freed_rows(lifetimes), row_count,
              page);
  } else {
    say("All that was made in the history was freed in it.", page);
  }
  if (lifetimes.free_pending_count == 0) return;
  say(fmt::format("Freed, held at the end until other streams are done: {} ({}).",
                  memory_words(lifetimes.free_pending_bytes), show_counted(lifetimes.free_pending_count, "tensor")),
      page);
}

void add_devices_without_history(const LifetimesReport& lifetimes, Page& page) {
  if (lifetimes.without_history.empty()) return;
  std::string names;
  for (const std::int64_t number : lifetimes.without_history)
    names += fmt::format("{}cuda:{}", names.empty() ? "" : ", ", number);
  say(fmt::format("Left out, having no history: {}.", names), page);
}

}  // namespace

void add_memory_lifetimes(const MemoryReport& report, Page& page) {
  const LifetimesReport& lifetimes = *report.lifetimes;
  const MemoryDeviceReport* device = report.shown_device();
  if (device == nullptr || !device->has_history) {
    page.blank();
    return page.paragraph("The history was not recorded: how long memory was held is not known.", kMemoryLabelColumn);
  }
  const bool is_inferred = lifetimes.by == LiveGrouping::kCategory && lifetimes.is_inferred;
  const std::string by = std::string(live_grouping_name(lifetimes.by)) + (is_inferred ? " (inferred)" : "");
  if (!lifetimes.has_times) {
    say("Bytes x time: the entries have no times (before torch 2.1).", page);
  } else if (lifetimes.byte_time.empty()) {
    say("Bytes x time: nothing was held within the history.", page);
  } else {
    add_table("Bytes x time within the history", "requested", by, byte_time_rows(lifetimes), report.table_row_count,
              page);
  }
  add_never_freed(lifetimes, by, report.table_row_count, page);
  add_devices_without_history(lifetimes, page);
}

}  // namespace stepscope
