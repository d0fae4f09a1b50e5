// Below the first screen: the four levels, what other settings would have done, steps, growth, free memory, other
// devices, what the file holds; and the page of --diff.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/memory_table.h"
#include "report/memory_text.h"
#include "report/numbers.h"
#include "report/text.h"

namespace stepscope {
namespace {

void add_title(std::string_view title, Page& page) {
  page.blank();
  page.add(page.line().add(title, Ink::kBold));
}

std::string bytes_or_dash(const std::optional<std::int64_t>& bytes) { return bytes ? memory_words(*bytes) : "-"; }

std::string outcome_words(const MemoryWhatIfRow& row) {
  return row.result->run.oom ? fmt::format("fails at #{}", row.oom_event.value_or(0)) : "all served";
}

std::string proof_words(const MemoryWhatIfReport& what_if) {
  const ReplayProof& proof = what_if.proof;
  std::string words = fmt::format("replay under the recorded settings ({}) matched {} of {} addresses",
                                  what_if.recorded_settings, show_count(proof.matched), show_count(proof.total));
  if (proof.device_call_total > 0) {
    words += fmt::format(" and {} of {} calls of the device", show_count(proof.device_call_matched),
                         show_count(proof.device_call_total));
  }
  if (proof.older_estimated_count > 0) {
    words += fmt::format(
        "; the sizes of {} are estimated, each by at most 1 MiB",
        show_counted(proof.older_estimated_count, "block older than the history", "blocks older than the history"));
  }
  return words;
}

// Settings stand last, since they are what has to be read whole; what only a wide page has room for is left out.
class WhatIfTable {
 public:
  WhatIfTable(const Page& page, bool has_capacity)
      : is_wide_(page.style().width >= 110), has_least_(is_wide_ && has_capacity), table_(columns()) {
    add({"reserves", "needs", "retries", "the requests", "settings"}, Ink::kDim, Ink::kDim);
  }

  void add(const MemoryWhatIfRow& row) {
    const AllocatorRun& run = row.result->run;
    add({memory_words(run.reserved_peak_bytes), bytes_or_dash(row.result->least_capacity_bytes),
         show_count(run.retries), outcome_words(row), row.settings},
        Ink::kPlain, run.oom ? Ink::kRed : Ink::kGreen);
  }
  void write(Page& page) const { table_.write(page); }

 private:
  [[nodiscard]] std::vector<MemoryColumn> columns() const {
    constexpr std::size_t kReservedEdge = 11, kWidth = 12, kOutcomeWidth = 16;
    std::size_t edge = kReservedEdge;
    std::vector<MemoryColumn> columns = {{true, edge}};
    if (has_least_) columns.push_back({true, edge += kWidth});
    if (is_wide_) columns.push_back({true, edge += kWidth});
    columns.push_back({false, edge + 2});
    columns.push_back({false, edge + 2 + kOutcomeWidth});
    return columns;
  }
  void add(const std::array<std::string, 5>& cells, Ink ink, Ink outcome_ink) {
    std::vector<MemoryCell> row = {{cells[0], ink}};
    if (has_least_) row.push_back({cells[1], ink});
    if (is_wide_) row.push_back({cells[2], ink});
    row.push_back({cells[3], outcome_ink});
    row.push_back({cells[4], ink});
    table_.add(std::move(row));
  }

  bool is_wide_, has_least_;
  MemoryTable table_;
};

std::string note_words(const Note& note) {
  const auto count = static_cast<std::int64_t>(note.count);
  if (note.kind == NoteKind::kUnknownRecord) {
    const std::string words = fmt::format("{} of unknown kind ignored", show_counted(count, "entry", "entries"));
    return note.example.starts_with(words) ? note.example : words + (note.example.empty() ? "" : ": " + note.example);
  }
  std::string kind(note_kind_name(note.kind));
  std::replace(kind.begin(), kind.end(), '_', ' ');
  std::string text = fmt::format("{} x {} ({}", show_count(count), kind, note_severity_name(note.severity));
  if (note.first_offset > 0) text += fmt::format(", first at byte {}", note.first_offset);
  return text + ")" + (note.example.empty() ? "" : ": " + note.example);
}

Ink ink_of(NoteSeverity severity) {
  return severity >= NoteSeverity::kLost ? Ink::kRed : severity == NoteSeverity::kRecovered ? Ink::kMagenta : Ink::kDim;
}

std::string signed_bytes(std::int64_t bytes) { return fmt::format("{}{}", bytes > 0 ? "+" : "", memory_words(bytes)); }

}  // namespace

void add_all_levels(const MemoryReport& report, Page& page) {
  const MemoryDeviceReport* device = report.shown_device();
  if (device == nullptr || !report.withheld.empty() || !device->has_history) return;
  add_title("Levels", page);
  MemoryTable table({{false, kMemoryLabelColumn}, {true, 24}, {true, 36}, {true, 48}, {false, 50}});
  table.add({"", "start", "peak", "end", "peak first reached"}, Ink::kDim);
  for (std::size_t i = 0; i < kMemoryLevelKindCount; ++i) {
    const MemoryLevelReport& level = device->levels[i];
    table.add({std::string(memory_level_name(static_cast<MemoryLevelKind>(i))), bytes_or_dash(level.start_bytes),
               bytes_or_dash(level.peak_bytes), bytes_or_dash(level.end_bytes), place_words(level.peak)});
  }
  table.write(page);
  page.paragraph(
      "requested: bytes asked for; allocated: rounded up, until freed (torch.cuda.max_memory_allocated); active: until "
      "other streams are done too; reserved: taken from the device.",
      kMemoryLabelColumn, Ink::kDim, 2);
}

void add_what_if_table(const MemoryReport& report, Page& page) {
  if (!report.what_if) return;
  const MemoryWhatIfReport& what_if = *report.what_if;
  add_title("What if", page);
  if (!what_if.withheld.empty()) {
    page.paragraph("Withheld: " + what_if.withheld + ".", kMemoryLabelColumn, Ink::kRed, 2);
    if (what_if.proof.total > 0) page.paragraph(proof_words(what_if) + ".", kMemoryLabelColumn, Ink::kDim, 2);
    return;
  }
  WhatIfTable table(page, what_if.capacity_bytes.has_value());
  for (const MemoryWhatIfRow& row : what_if.rows) {
    if (row.result) table.add(row);
  }
  table.write(page);
  std::string words = "Proof: " + proof_words(what_if) + ". ";
  words += what_if.capacity_bytes
               ? fmt::format("Capacity {}{}.", memory_words(*what_if.capacity_bytes),
                             what_if.is_capacity_recorded ? ", as the failure shows it" : ", as given")
               : std::string("No limit is assumed; --capacity BYTES sets one.");
  page.paragraph(words, kMemoryLabelColumn, Ink::kDim, 2);
}

void add_memory_steps(const MemoryReport& report, Page& page) {
  const MemoryDeviceReport* device = report.shown_device();
  if (device == nullptr || device->steps.empty()) return;
  add_title(fmt::format("Steps, by {}", shorten_end(device->steps_name, 50)), page);
  MemoryTable table = MemoryTable::of_numbers({10, 24, 36}, 38);
  table.add({"step", "at its begin", "peak", "allocated; first reached"}, Ink::kDim);
  const std::size_t shown = std::min(report.table_row_count, device->steps.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const MemoryStepRow& row = device->steps[i];
    table.add({std::to_string(row.number), memory_words(row.begin_bytes), memory_words(row.peak_bytes),
               place_words(row.peak)});
  }
  table.write(page);
  if (shown < device->steps.size()) {
    page.paragraph(
        fmt::format("{} more; all with --json or --top {}",
                    show_count(static_cast<std::int64_t>(device->steps.size() - shown)), device->steps.size()),
        kMemoryLabelColumn, Ink::kDim);
  }
}

void add_memory_growth(const MemoryReport& report, Page& page) {
  if (!report.growth || report.growth->groups.empty() || report.growth->bytes <= 0) return;
  add_title("Held more after the last step than when the second began", page);
  MemoryTable table = MemoryTable::of_numbers({12, 27}, 29);
  const std::size_t shown = std::min(std::min<std::size_t>(report.table_row_count, 5), report.growth->groups.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const LiveGroup& group = report.growth->groups[i];
    const std::string tensors = group.count.has_value() ? show_counted(group.count.value(), "tensor") : "-";
    table.add({memory_words(group.bytes), tensors, group.name});
  }
  table.write(page);
}

void add_free_memory(const MemoryReport& report, Page& page) {
  const MemoryDeviceReport* device = report.shown_device();
  if (device == nullptr || !device->fragmentation || device->segment_count == 0) return;
  add_title("Free memory at the end", page);
  const Fragmentation& free = *device->fragmentation;
  std::string words =
      fmt::format("{}; {} of it free", show_counted(static_cast<std::int64_t>(device->segment_count), "segment"),
                  memory_words(free.free_bytes));
  if (free.free_bytes > 0) {
    words += fmt::format(" in {}, the largest {}", show_counted(free.free_piece_count, "piece"),
                         memory_words(free.largest_free_bytes));
  }
  if (device->free_in_private_pools_bytes > 0) {
    words += fmt::format("; {} only for CUDA graphs", memory_words(device->free_in_private_pools_bytes));
  }
  if (device->has_history) {
    words +=
        fmt::format(". In the history memory was taken from the device {}, given back {}",
                    show_counted(device->cuda_malloc_count, "time"), show_counted(device->cuda_free_count, "time"));
  }
  page.paragraph(words + ".", kMemoryLabelColumn, Ink::kPlain, 2);
}

void add_other_devices(const MemoryReport& report, Page& page) {
  if (report.devices.size() < 2 || !report.withheld.empty()) return;
  add_title("Devices", page);
  for (const MemoryDeviceReport& device : report.devices) {
    const MemoryLevelReport& allocated = device.level(MemoryLevelKind::kAllocated);
    const MemoryLevelReport& reserved = device.level(MemoryLevelKind::kReserved);
    if (device.segment_count == 0 && !device.has_history) continue;
    std::string words = fmt::format("GPU {}: ", device.number);
    if (allocated.peak_bytes) words += fmt::format("allocated peak {}, ", memory_words(*allocated.peak_bytes));
    words += fmt::format("{} in {} at the end", bytes_or_dash(allocated.end_bytes), bytes_or_dash(reserved.end_bytes));
    if (!device.has_history) words += "; no allocation in the history: a stray context, or memory from before it";
    if (device.is_main) words += " (shown)";
    page.paragraph(words, kMemoryLabelColumn, Ink::kPlain, 2);
  }
  std::int64_t empty =
      std::count_if(report.devices.begin(), report.devices.end(),
                    [](const MemoryDeviceReport& device) { return device.segment_count == 0 && !device.has_history; });
  if (empty > 0) page.paragraph(fmt::format("{} more hold nothing", empty), kMemoryLabelColumn, Ink::kDim);
}

void add_memory_data(const MemoryReport& report, Page& page) {
  add_title("Data", page);
  const SnapshotInfo& info = report.info;
  std::string words =
      fmt::format("{}: {} of {}", info.source, show_bytes(static_cast<std::int64_t>(info.byte_count)),
                  info.format == "pickle" ? fmt::format("pickle, protocol {}", info.pickle_protocol) : info.format);
  if (info.host_segment_count + info.host_entry_count > 0) {
    words += fmt::format("; {} and {} of pinned host memory, not analyzed",
                         show_counted(static_cast<std::int64_t>(info.host_segment_count), "segment"),
                         show_counted(static_cast<std::int64_t>(info.host_entry_count), "entry", "entries"));
  }
  page.paragraph(words, kMemoryLabelColumn, Ink::kPlain, 2);
  if (!report.withheld.empty()) {
    std::size_t segments = 0, entries = 0;
    for (const MemoryDeviceReport& device : report.devices) {
      segments += device.segment_count;
      entries += device.entry_count;
    }
    page.paragraph(fmt::format("salvaged: {}, {}", show_counted(static_cast<std::int64_t>(segments), "segment"),
                               show_counted(static_cast<std::int64_t>(entries), "entry", "entries")),
                   kMemoryLabelColumn, Ink::kPlain, 2);
  }
  const MemoryDeviceReport* device = report.shown_device();
  if (device != nullptr && device->contradiction_count > 0) {
    page.paragraph(
        fmt::format("{} contradict what was known (a free of nothing, a second allocation in one place): the "
                    "recording lost something, and levels may be wrong by as much",
                    show_counted(device->contradiction_count, "entry", "entries")),
        kMemoryLabelColumn, Ink::kRed, 2);
  }
  for (const Note& note : report.notes) page.paragraph(note_words(note), kMemoryLabelColumn, ink_of(note.severity), 2);
}

void add_memory_diff(const MemoryReport& report, Page& page) {
  const MemoryDiffReport& diff = *report.diff;
  const std::int64_t difference = diff.after_bytes - diff.before_bytes;
  page.paragraph(fmt::format("{} holds {} {}, {} {} it is {}: {}.", report.info.source, memory_words(diff.before_bytes),
                             at_words(diff.at), "in", diff.other, memory_words(diff.after_bytes),
                             difference == 0 ? "as much" : signed_bytes(difference)),
                 0, Ink::kBold, 2);
  if (diff.at != diff.other_at) {
    page.paragraph(fmt::format("The second is {}.", at_words(diff.other_at)), 0, Ink::kMagenta);
  }
  if (diff.rows.empty()) {
    page.paragraph(fmt::format("No {} differs.", live_grouping_name(diff.by)), 0);
    return;
  }
  page.blank();
  const bool is_inferred = diff.by == LiveGrouping::kCategory && report.are_categories_inferred;
  MemoryTable table = MemoryTable::of_numbers({13, 26, 39}, 41);
  table.add({"difference", "first", "second",
             fmt::format("{}{}", live_grouping_name(diff.by), is_inferred ? " (inferred)" : "")},
            Ink::kDim);
  const std::size_t shown = std::min(report.table_row_count, diff.rows.size());
  std::int64_t rest = difference;
  for (std::size_t i = 0; i < shown; ++i) {
    const MemoryDiffRow& row = diff.rows[i];
    rest -= row.difference_bytes();
    table.add({signed_bytes(row.difference_bytes()), memory_words(row.before_bytes), memory_words(row.after_bytes),
               row.line});
  }
  if (shown < diff.rows.size()) {
    const auto more = static_cast<std::int64_t>(diff.rows.size() - shown);
    table.add({signed_bytes(rest), "", "", fmt::format("{} more", show_count(more))}, Ink::kDim);
  }
  table.write(page);
}

}  // namespace stepscope
