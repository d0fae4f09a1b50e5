// The first screen. What was held at the peak and by which line stands before the levels' details, and what would have
// avoided a failure before anything else is advised.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "memory/trace_snapshot.h"
#include "report/memory_table.h"
#include "report/memory_text.h"
#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

std::string device_words(const MemoryReport& report) {
  const MemoryDeviceReport* device = report.shown_device();
  if (device == nullptr) return "no GPU";
  std::string words = fmt::format("GPU {}", device->number);
  if (report.devices.size() > 1) words += fmt::format(" of {}", report.devices.size());
  return words;
}

std::pair<std::string, Ink> history_words(const MemoryReport& report) {
  const MemoryDeviceReport* device = report.shown_device();
  if (!report.withheld.empty()) return {"read in part, see Data below", Ink::kRed};
  if (device == nullptr) return {"", Ink::kPlain};
  if (!device->has_history) return {"no history", Ink::kMagenta};
  std::string words = show_counted(static_cast<std::int64_t>(device->entry_count), "entry", "entries");
  if (device->history_ns) words += fmt::format(", {}", moment_words(*device->history_ns));
  if (device->is_history_cut) return {fmt::format("history cut: the last {}", words), Ink::kMagenta};
  return {fmt::format("{}: {}", device->is_whole_life ? "history whole" : "history", words), Ink::kGreen};
}

void add_level(const MemoryReport& report, MemoryLevelKind kind, Page& page) {
  const MemoryLevelReport& level = report.shown_device()->level(kind);
  if (!level.end_bytes) return;
  Line line = page.line();
  line.pad_to(kMemoryLabelColumn).add(memory_level_name(kind)).pad_to(kMemoryTextColumn);
  if (level.peak_bytes) {
    line.add("peak ").add(memory_words(*level.peak_bytes), Ink::kBold);
    add_fitting(fmt::format(" {},  ", place_words(level.peak)), line, page.style());
  }
  const std::string end = fmt::format("{} at the end", memory_words(*level.end_bytes));
  // On a narrow page the end is left to the table of levels.
  if (line.width() + display_width(end) <= page.style().width) line.add(end);
  page.add(line);
}

double share_of(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// "activations" for kActivation.
std::string category_words(const CategoryShare& share) {
  if (share.is_older) return std::string(kOlderThanHistory);
  switch (share.category) {
    case MemoryCategory::kParameter:
      return "parameters";
    case MemoryCategory::kOptimizerState:
      return "optimizer state";
    case MemoryCategory::kInput:
      return "inputs";
    case MemoryCategory::kTemporary:
      return "temporaries";
    case MemoryCategory::kActivation:
      return "activations";
    case MemoryCategory::kGradient:
      return "gradients";
    case MemoryCategory::kAutogradDetail:
      return "autograd details";
    case MemoryCategory::kUnknown:
      break;
  }
  return "of unknown use";
}

bool is_place(std::string_view line) { return line != kNoFramesRecorded && line != kOlderThanHistory && !line.empty(); }

// The sentence that answers: the largest part, and the line that holds most of it.
std::string answer_words(const MemoryReport& report) {
  const LiveReport& live = *report.live;
  const std::string at = live.at == "oom" ? "When memory ran out" : "At" + at_words(live.at).substr(2);
  if (live.bytes <= 0) return fmt::format("{}, nothing is held.", at);
  const CategoryShare& first = report.categories.front();
  if (first.category == MemoryCategory::kUnknown && !first.is_older && live.by == LiveGrouping::kLine &&
      is_place(live.groups.front().name)) {
    const LiveGroup& line = live.groups.front();
    return fmt::format("{}, {} of what is held ({}) is by {}.", at, show_percent(share_of(line.bytes, live.bytes)),
                       memory_words(line.bytes), short_line(line.name));
  }
  // The live set of --by device is that of all, the categories are of the shown one.
  const MemoryDeviceReport* device = report.shown_device();
  const bool is_of_all = live.by == LiveGrouping::kDevice && device != nullptr;
  std::int64_t held_bytes = 0;
  for (const CategoryShare& share : report.categories) held_bytes += share.bytes;
  std::string words = fmt::format("{}, {} of what {} ", at, show_percent(share_of(first.bytes, held_bytes)),
                                  is_of_all ? fmt::format("GPU {} holds", device->number) : "is held");
  words += first.is_older || first.category == MemoryCategory::kUnknown ? "is " : "are ";
  words +=
      fmt::format("{} ({}{})", category_words(first), memory_words(first.bytes), first.is_inferred ? ", inferred" : "");
  if (!is_place(first.top_line)) return words + ".";
  const double share = share_of(first.top_line_bytes, first.bytes);
  if (share > 0.995) return words + fmt::format(", all by {}.", short_line(first.top_line));
  return words + fmt::format(", most by {} ({}).", short_line(first.top_line), memory_words(first.top_line_bytes));
}

std::string avoided_words(const MemoryWhatIfReport& what_if) {
  if (!what_if.withheld.empty() || what_if.rows.empty())
    return "whether other settings would have avoided it: withheld, see What if";
  std::size_t avoiding = 0, tried = 0;
  bool would_avoid_uncached = false;
  std::optional<std::int64_t> least;
  for (const MemoryWhatIfRow& row : what_if.rows) {
    if (!row.result) continue;
    const bool serves = !row.result->run.oom;
    // Without caching is no setting to train with.
    if (!row.result->config.caching) {
      would_avoid_uncached = would_avoid_uncached || serves;
      continue;
    }
    const auto& needs = row.result->least_capacity_bytes;
    if (needs && (!least || *needs < *least)) least = needs;
    ++tried;
    avoiding += serves ? 1 : 0;
  }
  const std::string_view only = would_avoid_uncached ? ", only without caching" : "";
  if (tried == 0) return would_avoid_uncached ? "avoided without caching" : "avoided by nothing that was tried";
  if (avoiding == 0) {
    return fmt::format("avoided by none of {} tried{}{}", show_counted(static_cast<std::int64_t>(tried), "setting"),
                       only,
                       least ? fmt::format("; {} would do (limit {})", memory_words(*least),
                                           memory_words(what_if.capacity_bytes.value_or(0)))
                             : "");
  }
  return fmt::format("avoided by {}{}", what_if.best, avoiding > 1 ? fmt::format(" and {} more", avoiding - 1) : "");
}

struct Glyph {
  std::string_view text;
  Ink ink;
};
// As many as a bar can tell apart without colour; the rest is one.
constexpr std::array<Glyph, 4> kGlyphs = {
    {{"█", Ink::kGreen}, {"▓", Ink::kMagenta}, {"▒", Ink::kBlue}, {"░", Ink::kDim}}};

struct BarPart {
  std::string words;
  std::int64_t bytes = 0;
};

std::vector<BarPart> bar_parts(const MemoryReport& report) {
  std::vector<BarPart> parts;
  for (const CategoryShare& share : report.categories) {
    if (share.bytes <= 0) continue;
    if (parts.size() + 1 < kGlyphs.size() || report.categories.size() == kGlyphs.size()) {
      parts.push_back({category_words(share), share.bytes});
    } else if (parts.size() + 1 == kGlyphs.size()) {
      parts.push_back({"rest", share.bytes});
    } else {
      parts.back().bytes += share.bytes;
    }
  }
  return parts;
}

std::string unbroken(std::string text) {
  for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at))
    text.replace(at, 1, "\xC2\xA0");
  return text;
}

Line memory_finding_head(std::size_t index, const MemoryFinding& finding, const Page& page) {
  constexpr std::size_t kIndent = 5, kSavingColumn = 29;
  Line line = page.line();
  line.pad_to(kMemoryLabelColumn).add(std::to_string(index + 1)).pad_to(kIndent).add(finding.id, Ink::kBold);
  if (finding.saving_bytes && *finding.saving_bytes > 0) {
    line.pad_to(kSavingColumn)
        .add(fmt::format("-{} {}", memory_words(*finding.saving_bytes), memory_level_name(finding.saving_level)));
  }
  return line.add_right(page.style().width, severity_name(finding.severity), severity_ink(finding.severity));
}

// A page of its own, so that its height is known before it is placed.
Page memory_finding_text(std::size_t index, const MemoryFinding& finding, bool is_whole, const Style& style) {
  constexpr std::size_t kIndent = 5, kHanging = 5;
  Page page(style);
  page.add(memory_finding_head(index, finding, page));
  // The panel above says it with more.
  if (is_whole || finding.id != "out-of-memory") page.paragraph(finding.title + ".", kIndent);
  if (is_whole) {
    for (const MemoryEvidence& evidence : finding.evidence) page.paragraph(evidence.text, kIndent, Ink::kDim, 2);
  }
  const std::size_t advice_count = is_whole ? finding.advice.size() : std::min<std::size_t>(1, finding.advice.size());
  for (std::size_t i = 0; i < advice_count; ++i) {
    const bool is_variable = finding.advice[i].starts_with("PYTORCH_");
    page.paragraph(is_variable ? "Try, in front of the command:" : "Try: " + finding.advice[i], kIndent, Ink::kPlain,
                   kHanging);
    if (is_variable) page.paragraph(finding.advice[i], kIndent);  // on a line of its own, to be copied whole
  }
  if (is_whole && !finding.gain.empty()) page.paragraph("Then " + finding.gain + ".", kIndent, Ink::kPlain, kHanging);
  return page;
}

}  // namespace

void add_memory_head(const MemoryReport& report, Page& page) {
  std::string words = device_words(report);
  words += report.settings.empty() ? ", settings not recorded" : ", settings: " + report.settings;
  const auto [history, ink] = history_words(report);
  Line line = page.line();
  const std::size_t room = page.style().width - std::min(page.style().width, display_width(history) + 2);
  line.add(shorten_end(words, std::max<std::size_t>(room, 10)));
  page.add(line.add_right(page.style().width, shorten_end(history, page.style().width - 12), ink));
}

void add_memory_levels(const MemoryReport& report, Page& page) {
  const MemoryDeviceReport* device = report.shown_device();
  if (device == nullptr || !report.withheld.empty()) return;
  page.blank();
  add_level(report, MemoryLevelKind::kAllocated, page);
  add_level(report, MemoryLevelKind::kReserved, page);
  const std::int64_t older = device->level(MemoryLevelKind::kRequested).start_bytes.value_or(0);
  if (!device->has_history || (device->older_count == MaybeInt{0} && !device->is_history_cut)) return;
  std::string words = "a higher peak may lie before the history";
  if (older > 0 && device->older_count.has_value()) {
    const std::int64_t count = device->older_count.value();
    words = fmt::format("{} ({}) {} older than the history; so may a peak be", memory_words(older),
                        show_counted(count, "tensor"), count == 1 ? "is" : "are");
  } else if (older > 0) {
    words = fmt::format("{} is older than the history; so may a peak be", memory_words(older));
  }
  page.paragraph(words, kMemoryTextColumn, Ink::kDim);
}

void add_memory_answer(const MemoryReport& report, Page& page) {
  page.blank();
  if (!report.withheld.empty()) {
    page.paragraph("This snapshot cannot carry an answer. " + report.withheld, kMemoryLabelColumn, Ink::kBold);
    return;
  }
  const MemoryDeviceReport* device = report.shown_device();
  if (device == nullptr) {
    page.paragraph("The file holds no device: no segments and no history.", kMemoryLabelColumn, Ink::kBold);
    return;
  }
  if (!device->has_history) {
    page.paragraph("The history was not recorded: no timeline, no peak. What is held at the end can be told.",
                   kMemoryLabelColumn, Ink::kBold);
    page.paragraph("Before the model is made: torch.cuda.memory._record_memory_history(max_entries=100000)",
                   kMemoryLabelColumn, Ink::kPlain, 2);
    page.blank();
  }
  if (report.live && !report.categories.empty()) {
    page.paragraph(answer_words(report), kMemoryLabelColumn, device->has_history ? Ink::kBold : Ink::kPlain);
  } else if (report.live) {
    page.paragraph("Nothing is held " + at_words(report.live->at) + ".", kMemoryLabelColumn, Ink::kBold);
  }
}

void add_memory_oom(const MemoryReport& report, Page& page) {
  const MemoryDeviceReport* device = report.shown_device();
  if (device == nullptr || device->ooms.empty()) return;
  const MemoryOomReport& oom = device->ooms.back();
  page.blank();
  Line line = page.line();
  line.pad_to(kMemoryLabelColumn).add("OOM", Ink::kRed).pad_to(kMemoryTextColumn);
  std::string place = place_words(oom.place);
  if (place.starts_with("after ")) place = "at " + place.substr(6);
  line.add(fmt::format("{} refused {}", memory_words(oom.facts.request_bytes), place));
  if (!oom.line.empty() && line.width() + 12 < page.style().width) {
    line.add(", asked by ").add(fit_line(short_line(oom.line), page.style().width - line.width()));
  }
  page.add(line);
  std::string free = "free pieces of that moment are not in the file";
  if (const auto& pieces = oom.facts.fragmentation) {
    free = fmt::format("free for it {} in {}, largest {}", memory_words(pieces->usable.free_bytes),
                       show_counted(pieces->usable.free_piece_count, "piece"),
                       memory_words(pieces->usable.largest_free_bytes));
    if (oom.facts.is_fragmentation) free += ": fragmentation";
  }
  if (oom.facts.device_free_bytes.has_value()) {
    free += fmt::format("; device had {} left", memory_words(oom.facts.device_free_bytes.value()));
    if (oom.facts.is_refused_by_cap) free += ": a cap refused it";
  }
  page.paragraph(free, kMemoryTextColumn, Ink::kPlain, 2);
  if (report.what_if) page.paragraph(avoided_words(*report.what_if), kMemoryTextColumn, Ink::kPlain, 2);
}

void add_memory_bar(const MemoryReport& report, Page& page) {
  if (!report.live || report.live->bytes <= 0 || report.live->by == LiveGrouping::kDevice) return;
  const auto parts = bar_parts(report);
  if (parts.size() < 2) return;  // the sentence says it
  page.blank();
  Line line = page.line();
  const std::string total = "  " + memory_words(report.live->bytes);
  line.pad_to(kMemoryLabelColumn).add("held").pad_to(kMemoryTextColumn);
  const std::size_t cells = page.style().width - kMemoryTextColumn - display_width(total);
  std::int64_t passed = 0;
  long long drawn = 0;
  // Cells by the place of each part's end, so that rounding never adds or loses one.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    passed += parts[i].bytes;
    const long long until = std::llround(share_of(passed, report.live->bytes) * static_cast<double>(cells));
    std::string text;
    for (; drawn < until; ++drawn) text += kGlyphs[i].text;
    line.add(text, kGlyphs[i].ink);
  }
  page.add(line.add(total));
  std::string legend;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    legend +=
        fmt::format("{}{}", legend.empty() ? "" : "  ",
                    unbroken(fmt::format("{} {} {}", kGlyphs[i].text, parts[i].words, memory_words(parts[i].bytes))));
  }
  if (report.are_categories_inferred) legend += "  " + unbroken("(inferred)");
  page.paragraph(legend, kMemoryTextColumn);
}

void add_live_table(const MemoryReport& report, std::size_t row_count, Page& page) {
  if (!report.live || report.live->groups.empty() || row_count == 0) return;
  const LiveReport& live = *report.live;
  const bool is_inferred = live.by == LiveGrouping::kCategory && report.are_categories_inferred;
  page.blank();
  MemoryTable table = MemoryTable::of_numbers({12, 19, 28}, 30);
  table.add({"requested", "share", "tensors",
             fmt::format("{}{}", live_grouping_name(live.by), is_inferred ? " (inferred)" : "")},
            Ink::kDim);
  const std::size_t shown = std::min(row_count, live.groups.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const LiveGroup& group = live.groups[i];
    table.add({memory_words(group.bytes), show_percent(share_of(group.bytes, live.bytes)), count_or_dash(group.count),
               group.name});
  }
  if (shown == live.groups.size()) return table.write(page);
  std::int64_t rest_bytes = 0;
  MaybeInt rest_count = 0;
  for (std::size_t i = shown; i < live.groups.size(); ++i) {
    rest_bytes += live.groups[i].bytes;
    rest_count = add_counts(rest_count, live.groups[i].count);
  }
  table.add({memory_words(rest_bytes), show_percent(share_of(rest_bytes, live.bytes)), count_or_dash(rest_count),
             fmt::format("{} more", show_count(static_cast<std::int64_t>(live.groups.size() - shown)))},
            Ink::kDim);
  table.write(page);
}

std::size_t add_memory_findings(const MemoryReport& report, std::size_t line_budget, Page& page) {
  const auto& findings = report.findings;
  if (findings.empty()) return 0;
  const std::size_t end = page.line_count() + line_budget;
  page.blank();
  std::size_t in_full = 0;
  for (; in_full < findings.size(); ++in_full) {
    const Page text = memory_finding_text(in_full, findings[in_full], false, page.style());
    if (in_full > 0 && page.line_count() + text.line_count() + 1 > end) break;
    page.append(text);
  }
  if (in_full == findings.size()) return in_full;
  // One line, or the screen grows by what is least on it.
  std::string others = "Further down: ";
  for (std::size_t i = in_full; i < findings.size(); ++i) {
    const std::string next = fmt::format("{}{}", i == in_full ? "" : ", ", findings[i].id);
    const std::size_t room = i + 1 < findings.size() ? std::size_t{10} : 0;  // for ", 99 more"
    if (i > in_full && kMemoryLabelColumn + others.size() + next.size() + room > page.style().width) {
      others += fmt::format(", {} more", findings.size() - i);
      break;
    }
    others += next;
  }
  page.paragraph(others, kMemoryLabelColumn, Ink::kPlain, 3);
  return in_full;
}

void add_memory_commands(const MemoryReport& report, bool all, Page& page) {
  const MemoryDeviceReport* device = report.shown_device();
  if (device == nullptr || !report.withheld.empty()) return;
  bool is_first = true;
  const auto add = [&](std::string_view options, std::string_view why) {
    if (is_first) page.blank();
    is_first = false;
    Line line = page.line();
    line.pad_to(kMemoryLabelColumn).add(memory_command(report, page.style(), options));
    const std::string remark = fmt::format("   # {}", why);
    if (line.width() + display_width(remark) <= page.style().width) line.add(remark, Ink::kDim);
    page.add(line);
  };
  if (!report.is_live_asked) add("--by stack", "whole stacks; also category, module, span");
  if (!device->has_history || (!all && !report.is_live_asked)) return;
  if (!device->ooms.empty() && !report.is_live_asked) {
    add("--at oom", "what was held when it failed");
  } else if (report.info.format != kTraceSnapshotFormat) {  // a trace tells too little to replay
    add("--what-if", "what other allocator settings would reserve");
  }
}

void add_more_memory_findings(const MemoryReport& report, std::size_t first, Page& page) {
  (void)first;  // evidence and gain of all of them stand here, also of those that were on the screen
  if (report.findings.empty()) return;
  page.blank();
  page.add(page.line().add("Findings, with evidence", Ink::kBold));
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    page.append(memory_finding_text(i, report.findings[i], true, page.style()));
  }
}

}  // namespace stepscope
