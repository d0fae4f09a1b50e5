// Many ranks of one run: how many of how many, how long a step, who is late and what it did, and the ranks that tell
// most. Never a row for each of a thousand: the latest ones, the typical one and the earliest say it; --top N shows
// more.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "report/missing_words.h"
#include "report/numbers.h"
#include "report/ranks.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kFewRows = 6;  // of the table, on a first screen of 24 lines

std::int64_t counted(std::size_t count) { return static_cast<std::int64_t>(count); }

std::string label_of(const FleetFacts& facts, std::size_t row) { return clean_text(facts.ranks[row].label); }

// False: nothing could be read, or only listed step times were.
bool has_recording(const FleetFacts& facts) {
  return std::any_of(facts.ranks.begin(), facts.ranks.end(), [](const FleetRank& rank) { return !rank.is_times_only; });
}

// False: they are recordings, of which nobody knows whether they are ranks of anything.
bool has_ranks(const FleetFacts& facts) {
  return facts.world_size || std::any_of(facts.ranks.begin(), facts.ranks.end(),
                                         [](const FleetRank& rank) { return rank.rank || rank.is_times_only; });
}

std::string typical_words(const FleetFacts& facts) {
  return has_ranks(facts) ? " on the typical rank" : " in the typical recording";
}

// "2 of 8 ranks", "64 ranks", "2 recordings without a rank number".
std::string rank_words(const FleetFacts& facts) {
  const auto lists =
      std::count_if(facts.ranks.begin(), facts.ranks.end(), [](const auto& r) { return r.is_times_only; });
  const std::string list_words = show_counted(lists, "list of step times", "lists of step times");
  if (facts.ranks.empty()) return "No rank";
  if (lists == counted(facts.ranks.size())) return list_words;
  const std::int64_t numbered = counted(facts.ranks.size() - facts.without_rank_count - facts.outside.size()) - lists;
  if (!has_ranks(facts)) return show_counted(counted(facts.ranks.size()), "recording") + " without a rank number";
  std::vector<std::string> words;
  words.push_back(facts.world_size
                      ? fmt::format("{} of {}", show_count(numbered), show_counted(*facts.world_size, "rank"))
                      : show_counted(numbered, "rank"));
  if (!facts.outside.empty()) words.push_back(show_count(counted(facts.outside.size())) + " outside them");
  if (facts.without_rank_count > 0)
    words.push_back(show_counted(counted(facts.without_rank_count), "file") + " without a number");
  if (lists > 0) words.push_back(list_words);
  return fmt::format("{}", fmt::join(words, " and "));
}

std::string host_words(const FleetFacts& facts) {
  std::set<std::string> hosts;
  for (const FleetRank& rank : facts.ranks) {
    if (!rank.host_name.empty()) hosts.insert(rank.host_name);
  }
  return hosts.empty() ? "" : ", " + show_counted(counted(hosts.size()), "host");
}

std::string device_words(const FleetFacts& facts) {
  std::set<std::string> names;
  for (const FleetRank& rank : facts.ranks) {
    if (!rank.device_name.empty()) names.insert(clean_text(rank.device_name));
  }
  if (names.empty()) return "";
  return ", " + *names.begin() + (names.size() > 1 ? " and others" : "");
}

std::string step_words(const FleetFacts& facts) {
  if (facts.steps.empty()) return "";
  const std::int64_t first = facts.steps.front().number, last = facts.steps.back().number;
  if (first == last) return fmt::format(", step {}", first);
  return fmt::format(", steps {}-{}{}", first, last, missing_short_words(facts));
}

void add_title(const RankReports& ranks, Page& page) {
  const FleetFacts& facts = *ranks.fleet;
  std::string right = "data complete";
  if (ranks.status != ReportStatus::kComplete) right = "not all read whole";
  const bool has_all_steps = not_kept_words(facts).empty();
  if (!has_all_steps) right = "not all steps";
  if (facts.missing_count > 0) right = show_counted(facts.missing_count, "rank") + " missing";
  const bool is_good = ranks.status == ReportStatus::kComplete && facts.missing_count == 0 && has_all_steps;
  const std::size_t room = page.style().width - std::min(page.style().width, display_width(right) + 2);
  std::string left = rank_words(facts) + host_words(facts) + device_words(facts) + step_words(facts);
  // The numbers stay, the names go.
  if (display_width(left) > room) left = rank_words(facts) + host_words(facts) + step_words(facts);
  if (display_width(left) > room) left = rank_words(facts) + step_words(facts);
  Line line = page.line();
  line.add(shorten_end(left, room), Ink::kBold);
  page.add(line.add_right(page.style().width, right, is_good ? Ink::kGreen : Ink::kRed));
}

// "67.7 ms (65.0 to 67.7)"
std::string spread_words(const FleetSpread& spread, const DurationFormat& format) {
  const std::string low = format.number(spread.min), high = format.number(spread.max);
  if (low == high) return format.text(spread.median);
  return fmt::format("{} ({} to {})", format.text(spread.median), low, high);
}

std::string share_words(const FleetFacts& facts, DurationNs part) {
  if (!facts.step_ns || facts.step_ns->median <= 0) return "";
  return fmt::format(" ({})", show_percent(static_cast<double>(part) / static_cast<double>(facts.step_ns->median)));
}

void add_labelled(std::string_view label, const std::string& text, Page& page) {
  const std::vector<std::string> lines = wrap_text(text, page.style().width - kTextColumn);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Line line = page.line();
    if (i == 0) line.pad_to(kLabelColumn).add(label);
    line.pad_to(kTextColumn).add(lines[i]);
    page.add(line);
  }
}

std::string busy_words(const FleetFacts& facts) {
  std::vector<double> shares;
  for (const FleetRank& rank : facts.ranks) {
    if (rank.step_ns && rank.gpu_busy_ns && *rank.step_ns > 0) {
      shares.push_back(static_cast<double>(*rank.gpu_busy_ns) / static_cast<double>(*rank.step_ns));
    }
  }
  if (shares.empty()) return "no GPU was recorded";
  std::sort(shares.begin(), shares.end());
  const std::string low = show_percent(shares.front()), high = show_percent(shares.back());
  return low == high ? "GPU busy " + low : fmt::format("GPU busy {} to {}", low, high);
}

void add_facts(const FleetFacts& facts, Page& page) {
  if (!facts.step_ns) {
    add_labelled("step", "unknown: no rank has steps", page);
    return;
  }
  const auto format = DurationFormat::pick(facts.step_ns->median, facts.step_ns->max - facts.step_ns->min);
  const std::string busy = busy_words(facts);
  add_labelled("step",
               spread_words(*facts.step_ns, format) + (facts.ranks.size() > 1 ? typical_words(facts) : "") +
                   (busy.empty() ? "" : "; " + busy),
               page);
  if (facts.exposed_communication_ns && facts.exposed_communication_ns->max > 0) {
    const FleetSpread& exposed = *facts.exposed_communication_ns;
    // Waits are known of the steps that others recorded too, and may be longer in these.
    const auto waiting = [](std::optional<DurationNs> wait, DurationNs of_ns) {
      const DurationNs part = std::min(wait.value_or(0), of_ns);
      return part > 0 ? fmt::format(", of it {} waiting for others", show_duration(part)) : std::string();
    };
    std::string text = fmt::format("exposed {}{}", show_duration(exposed.median), share_words(facts, exposed.median));
    if (facts.ranks.size() > 1) text += typical_words(facts);
    if (facts.wait_ns) text += waiting(facts.wait_ns->median, exposed.median);
    if (facts.ranks.size() > 1) {
      text += fmt::format("; {} at most ({})", show_duration(exposed.max), label_of(facts, exposed.max_rank));
    }
    if (facts.wait_ns && facts.wait_ns->median == 0)
      text += waiting(facts.ranks[exposed.max_rank].wait_ns, exposed.max);
    add_labelled("comm.", text, page);
  }
}

// The table ----------------------------------------------------------------------------------------------------------

struct Column {
  std::string_view head;
  std::size_t width;
  std::string (*cell)(const FleetFacts& facts, const FleetRank& rank);
};

std::string milliseconds(std::optional<DurationNs> ns) {
  return ns ? show_decimal(static_cast<double>(*ns) / 1e6, 2) : "-";
}

std::string ratio_of_step(const FleetRank& rank, std::optional<DurationNs> part) {
  if (!part || !rank.step_ns || *rank.step_ns <= 0) return "-";
  return show_percent(static_cast<double>(*part) / static_cast<double>(*rank.step_ns));
}

constexpr Column kColumns[] = {
    {"ms a step", 10, [](const FleetFacts&, const FleetRank& rank) { return milliseconds(rank.step_ns); }},
    {"own work", 10, [](const FleetFacts&, const FleetRank& rank) { return milliseconds(rank.own_ns); }},
    {"waits", 9, [](const FleetFacts&, const FleetRank& rank) { return milliseconds(rank.wait_ns); }},
    {"GPU busy", 10, [](const FleetFacts&, const FleetRank& rank) { return ratio_of_step(rank, rank.gpu_busy_ns); }},
    {"comm.", 8,
     [](const FleetFacts&, const FleetRank& rank) { return ratio_of_step(rank, rank.exposed_communication_ns); }},
};
// On wide terminals.
constexpr Column kMoreColumns[] = {
    {"kernels", 9,
     [](const FleetFacts&, const FleetRank& rank) {
       return rank.kernel_time_ratio ? show_decimal(*rank.kernel_time_ratio, 2) + " x" : std::string("-");
     }},
    {"memory", 13,
     [](const FleetFacts&, const FleetRank& rank) {
       return rank.allocated_peak_bytes ? show_bytes(*rank.allocated_peak_bytes) : std::string("-");
     }},
    {"clock", 12,
     [](const FleetFacts& facts, const FleetRank& rank) {
       return facts.clocks.corrected ? show_duration(rank.clock_offset_ns) : std::string("-");
     }},
};

std::vector<Column> columns_for(const Style& style) {
  std::vector<Column> columns(std::begin(kColumns), std::end(kColumns));
  if (style.width < 80) columns.resize(3);
  if (style.width >= 120) columns.insert(columns.end(), std::begin(kMoreColumns), std::end(kMoreColumns));
  return columns;
}

std::string last_cell(const FleetRank& rank) {
  if (rank.headline_withheld) return "data incomplete";
  if (rank.first_finding.empty()) return "-";
  if (rank.first_finding == "straggler") return "waits for others";  // all that one rank alone can tell
  std::string words = clean_text(rank.first_finding);
  if (rank.first_finding_saving_ns && *rank.first_finding_saving_ns > 0) {
    words += " -" + show_duration(*rank.first_finding_saving_ns);
  }
  return words;
}

double saving_ratio(const FleetRank& rank) {
  if (!rank.first_finding_saving_ns || !rank.step_ns || *rank.step_ns <= 0) return 0;
  return static_cast<double>(*rank.first_finding_saving_ns) / static_cast<double>(*rank.step_ns);
}

// Latest first; those without a judgement after them by what their costliest finding would save, then by step time,
// as recordings are listed that are no ranks; those without a headline last.
std::vector<std::size_t> by_lateness(const FleetFacts& facts) {
  std::vector<std::size_t> rows(facts.ranks.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const auto key = [&](std::size_t row) {
    const FleetRank& rank = facts.ranks[row];
    return std::tuple(rank.own_ns    ? 0
                      : rank.step_ns ? 1
                                     : 2,
                      -rank.late_ns.value_or(0), rank.own_ns ? 0 : -saving_ratio(rank), -rank.step_ns.value_or(0));
  };
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return rows;
}

struct ShownRow {
  std::size_t row;
  std::string_view remark;
};

// All when they are few; else the latest, the typical one and the earliest.
std::vector<ShownRow> choose_rows(const FleetFacts& facts, std::size_t most) {
  const std::vector<std::size_t> sorted = by_lateness(facts);
  std::vector<ShownRow> out;
  const std::size_t first = sorted.size() <= most ? sorted.size() : most - 2;
  for (std::size_t i = 0; i < first; ++i) out.push_back({sorted[i], ""});
  if (first == sorted.size()) return out;
  std::size_t judged = 0;
  while (judged < sorted.size() && facts.ranks[sorted[judged]].own_ns) ++judged;
  if (judged == 0) judged = sorted.size();
  if (judged > 2 && judged / 2 >= first) out.push_back({sorted[judged / 2], "typical"});
  if (judged > first) out.push_back({sorted[judged - 1], "earliest"});
  return out;
}

void add_cells(const FleetFacts& facts, const ShownRow& shown, std::size_t label_width, Page& page) {
  const FleetRank& rank = facts.ranks[shown.row];
  const bool is_late = std::find(facts.stragglers.begin(), facts.stragglers.end(), shown.row) != facts.stragglers.end();
  Line line = page.line();
  line.pad_to(kLabelColumn).add(shorten_middle(label_of(facts, shown.row), label_width), Ink::kBold);
  std::size_t edge = kLabelColumn + label_width;
  for (const Column& column : columns_for(page.style())) {
    line.add_right(edge += column.width, column.cell(facts, rank), is_late ? Ink::kRed : Ink::kPlain);
  }
  std::string last = shown.remark.empty() ? last_cell(rank) : fmt::format("({})", shown.remark);
  if (is_late && rank.late_ns) {
    const bool is_effect = !rank.first_finding_saving_ns || rank.first_finding == "exposed-communication";
    last = fmt::format("late {}{}", show_duration(*rank.late_ns), is_effect ? "" : ": " + last);
  }
  const std::size_t room = page.style().width - std::min(page.style().width, line.width() + 3);
  page.add(line.pad_to(line.width() + 3).add(shorten_end(last, room)));
}

void add_table(const RankReports& ranks, Page& page) {
  const FleetFacts& facts = *ranks.fleet;
  const std::vector<ShownRow> rows =
      choose_rows(facts, std::max<std::size_t>(3, ranks.row_count > 0 ? ranks.row_count : kFewRows));
  std::size_t label_width = 4;
  for (const ShownRow& row : rows) label_width = std::max(label_width, display_width(label_of(facts, row.row)));
  std::size_t used = kLabelColumn + 16;  // and the last column
  for (const Column& column : columns_for(page.style())) used += column.width;
  label_width = std::min(label_width, page.style().width > used + 8 ? page.style().width - used : 8);
  Line head = page.line();
  std::size_t edge = kLabelColumn + label_width;
  head.pad_to(kLabelColumn);
  for (const Column& column : columns_for(page.style())) head.add_right(edge += column.width, column.head, Ink::kDim);
  constexpr std::string_view kLast = "first finding";
  if (head.width() + 3 + kLast.size() <= page.style().width) head.pad_to(head.width() + 3).add(kLast, Ink::kDim);
  page.add(head);
  bool gap_said = false;
  for (const ShownRow& row : rows) {
    if (!row.remark.empty() && !gap_said) {
      gap_said = true;
      const auto hidden = counted(facts.ranks.size() - rows.size());
      page.add(page.line()
                   .pad_to(kLabelColumn)
                   .add(fmt::format("... {} between; --top N shows more", show_counted(hidden, "rank")), Ink::kDim));
    }
    add_cells(facts, row, label_width, page);
  }
}

// Findings -----------------------------------------------------------------------------------------------------------

std::string where_words(const SharedFinding& shared, const FleetFacts& facts) {
  if (shared.found_on.empty() || facts.ranks.size() < 2) return "";
  const std::string all = show_counted(counted(facts.ranks.size()), has_ranks(facts) ? "rank" : "recording");
  const std::string_view in = has_ranks(facts) ? "on" : "in";
  if (shared.found_on.size() == facts.ranks.size()) {
    if (facts.ranks.size() > 2) return fmt::format("{} all {}", in, all);
    return fmt::format("{} both {}", in, has_ranks(facts) ? "ranks" : "recordings");
  }
  return fmt::format("{} {} of {}", in, show_count(counted(shared.found_on.size())), all);
}

// `is_told`: the verdict began with its title.
void add_finding(std::size_t index, const SharedFinding& shared, const FleetFacts& facts, bool is_told, Page& page) {
  const Finding& finding = shared.finding;
  page.blank();
  Line line = page.line();
  line.pad_to(kLabelColumn).add(std::to_string(index + 1)).pad_to(5).add(finding.id, Ink::kBold);
  line.pad_to(29).add(saving_words(finding));
  page.add(line.add_right(page.style().width, severity_name(finding.severity), severity_ink(finding.severity)));
  if (!is_told) page.paragraph(finding.title, 5);
  const bool is_of_all = finding.id == "straggler" || finding.id == "rank-imbalance" || finding.id == "slow-gpu" ||
                         finding.id == "incomplete-run";
  if (is_of_all) {
    for (const Evidence& evidence : finding.evidence) page.paragraph("· " + evidence.text, 5, Ink::kPlain, 2);
  } else if (const std::string where = where_words(shared, facts); !where.empty()) {
    page.paragraph(where, 5, Ink::kDim);
  }
  if (!finding.advice.empty()) page.paragraph("Try: " + finding.advice.front(), 5, Ink::kPlain, 5);
}

// Details ------------------------------------------------------------------------------------------------------------

std::string size_words(std::int64_t from_bytes) {
  if (from_bytes == 0) return "under 64 KiB";
  return show_bytes(from_bytes) + " on";
}

// Right edges of columns.
struct BandwidthEdges {
  std::size_t kind, ranks, size, count, best, median;
};
struct SpreadEdges {
  std::size_t least, typical, most;
};

BandwidthEdges bandwidth_edges(const Style& style) {
  if (style.width < 80) return {16, 22, 35, 41, 51, 59};
  return {22, 32, 48, 57, 68, 78};
}

SpreadEdges spread_edges(const Style& style) {
  if (style.width < 80) return {31, 40, 49};  // room for "rank 1023" at 60
  return {36, 49, 62};
}

void add_bandwidths(const FleetFacts& facts, Page& page) {
  if (facts.bandwidths.empty()) return;
  const BandwidthEdges at = bandwidth_edges(page.style());
  page.blank();
  page.add(page.line().add("Collectives: bus bandwidth after the last rank has come", Ink::kBold));
  Line head = page.line();
  head.pad_to(kLabelColumn).add("kind", Ink::kDim).add_right(at.ranks, "ranks", Ink::kDim);
  head.add_right(at.size, "size", Ink::kDim).add_right(at.count, "count", Ink::kDim);
  page.add(head.add_right(at.best, "best GB/s", Ink::kDim).add_right(at.median, "median", Ink::kDim));
  for (const FleetBandwidth& row : facts.bandwidths) {
    Line line = page.line();
    line.pad_to(kLabelColumn).add(shorten_end(clean_text(row.kind.empty() ? "unnamed" : row.kind), at.kind - 2));
    line.add_right(at.ranks, show_count(row.rank_count)).add_right(at.size, size_words(row.from_bytes));
    line.add_right(at.count, show_count(row.count)).add_right(at.best, show_decimal(row.best_bytes_per_s / 1e9, 1));
    page.add(line.add_right(at.median, show_decimal(row.median_bytes_per_s / 1e9, 1)));
  }
}

void add_spread(std::string_view label, const FleetFacts& facts, const std::optional<FleetSpread>& spread,
                bool is_bytes, Page& page) {
  if (!spread || spread->max == 0) return;
  const SpreadEdges at = spread_edges(page.style());
  const auto show = [&](std::int64_t value) { return is_bytes ? show_bytes(value) : show_duration(value); };
  Line line = page.line();
  line.pad_to(kLabelColumn).add(label).add_right(at.least, show(spread->min));
  line.add_right(at.typical, show(spread->median)).add_right(at.most, show(spread->max)).pad_to(at.most + 2);
  const std::size_t room = page.style().width - std::min(page.style().width, line.width());
  std::string who = label_of(facts, spread->max_rank);
  if (const auto rank = facts.ranks[spread->max_rank].rank; rank && display_width(who) > room)
    who = std::to_string(*rank);
  if (room > 0) line.add(shorten_middle(who, room), Ink::kDim);
  page.add(line);
}

void add_spreads(const FleetFacts& facts, Page& page) {
  if (!facts.step_ns || !has_recording(facts)) return;
  page.blank();
  Line head = page.line();
  const SpreadEdges at = spread_edges(page.style());
  head.add(has_ranks(facts) ? "Over the ranks, a step" : "Over all, a step", Ink::kBold)
      .add_right(at.least, "least", Ink::kDim);
  page.add(head.add_right(at.typical, "typical", Ink::kDim).add_right(at.most, "most", Ink::kDim));
  add_spread("step", facts, facts.step_ns, false, page);
  add_spread("own work", facts, facts.own_ns, false, page);
  add_spread("waits", facts, facts.wait_ns, false, page);
  add_spread("compute on the GPU", facts, facts.compute_ns, false, page);
  add_spread("exposed communication", facts, facts.exposed_communication_ns, false, page);
  add_spread("allocated peak", facts, facts.allocated_peak_bytes, true, page);
  add_spread("reserved peak", facts, facts.reserved_peak_bytes, true, page);
}

std::string what_if_words(const FleetFacts& facts, const FleetWhatIf& what_if) {
  if (what_if.transform == FleetTransform::kUnchanged) return "as it is";
  if (what_if.transform == FleetTransform::kNobodyWaits) return "no rank waits for another";
  if (what_if.transform == FleetTransform::kCommunicationFree) return "communication takes no time";
  if (what_if.transform == FleetTransform::kGroupFree) return "none in " + clean_text(what_if.group);
  for (std::size_t row = 0; row < facts.ranks.size(); ++row) {
    if (what_if.rank == facts.ranks[row].summary) return label_of(facts, row) + " as the median rank";
  }
  return "one rank as the median rank";
}

// What the step would be, all ranks replayed together.
void add_replay(const FleetFacts& facts, const FleetReplay& replay, Page& page) {
  if (replay.refused || replay.what_ifs.empty()) return;
  page.blank();
  page.add(page.line().add("If, without the profiler", Ink::kBold).add("   the step would be about", Ink::kDim));
  const bool is_narrow = page.style().width < 80;
  for (const FleetWhatIf& what_if : replay.what_ifs) {
    if (what_if.refused) continue;
    const Estimate& step = what_if.step_unprofiled;
    const auto format = DurationFormat::pick(step.mid_ns, step.high_ns - step.low_ns);
    Line line = page.line();
    line.pad_to(kLabelColumn)
        .add(shorten_end(what_if_words(facts, what_if), is_narrow ? 26 : 34))
        .add_right(is_narrow ? 39 : 47, format.text(step.mid_ns));
    page.add(line.add(fmt::format("  ({} to {})", format.number(step.low_ns), format.number(step.high_ns)), Ink::kDim));
  }
}

std::string replay_words(const FleetReplay& replay) {
  if (replay.refused) return "no what-ifs: " + clean_text(*replay.refused);
  std::string text =
      fmt::format("{} of {} replayed together; the replay is {} off the recorded step",
                  show_counted(counted(replay.step_count), "step"), show_counted(counted(replay.rank_count), "rank"),
                  show_percent(replay.replay_error_ratio));
  for (std::size_t i = 0; i < std::min<std::size_t>(3, replay.remarks.size()); ++i)
    text += "; " + clean_text(replay.remarks[i]);
  return text;
}

std::string clock_words(const FleetFacts& facts) {
  const FleetClocks& clocks = facts.clocks;
  if (clocks.meeting_count == 0) return "no collective that ranks share, so they are on no common clock";
  std::string text = fmt::format("{} from the ends of {}: ", show_counted(counted(clocks.domain_count), "clock"),
                                 show_counted(counted(clocks.meeting_count), "collective"));
  text += clocks.corrected
              ? fmt::format("they differ by up to {}, which is taken off", show_duration(clocks.largest_offset_ns))
              : fmt::format("they agree to {}", show_duration(clocks.largest_offset_ns));
  if (clocks.largest_drift_ns > 0)
    text += fmt::format("; one drifts by {} over the recording", show_duration(clocks.largest_drift_ns));
  if (clocks.component_count > 1)
    text += fmt::format("; {} share no collective, and each has a clock of its own",
                        show_counted(counted(clocks.component_count), "set of ranks", "sets of ranks"));
  return text;
}

std::string matching_words(const FleetFacts& facts) {
  std::string text = fmt::format("{} matched in {}", show_counted(facts.matched_count, "collective"),
                                 show_counted(counted(facts.groups.size()), "group"));
  std::int64_t nameless_count = 0;
  for (const FleetGroup& group : facts.groups)
    nameless_count += group.name.empty() && group.ranks.empty() ? group.meeting_count : 0;
  if (nameless_count > 0)
    text +=
        fmt::format("; {} by order alone, since their process group is not recorded (inside CUDA graphs it never is)",
                    show_count(nameless_count));
  if (facts.unmatched_count > 0) text += fmt::format("; {} could not be", show_counted(facts.unmatched_count, "event"));
  if (facts.left_out_step_count > 0)
    text += fmt::format("; {} left out, since ranks recorded different numbers",
                        show_counted(facts.left_out_step_count, "step of a group", "steps of a group"));
  return text;
}

// What of it is ours: nothing of this run.
std::string stop_words(const FleetFacts& facts) {
  DurationNs total_ns = 0;
  for (const FleetStoppedRank& each : facts.stopped_ranks) total_ns += each.total_ns;
  std::string text = "Stepscope itself stopped ";
  const bool is_one = facts.stopped_ranks.size() == 1;
  text += is_one ? label_of(facts, facts.stopped_ranks.front().row)
                 : show_counted(counted(facts.stopped_ranks.size()), "rank");
  text += fmt::format(" for {}{}{}: ", show_duration(total_ns), is_one ? "" : " together",
                      facts.groups.empty() ? "" : ", and others waited for it");
  if (facts.stopped_everywhere)
    return text + "in every step, so what ranks wait for and step times hold that; no rank is called late for it";
  return text +
         (facts.stopped_steps.size() == 1
              ? fmt::format("step {} is counted on no rank", facts.stopped_steps.front())
              : fmt::format("{} are counted on no rank", show_counted(counted(facts.stopped_steps.size()), "step")));
}

void add_matching(const FleetFacts& facts, const FleetReplay& replay, Page& page) {
  if (!has_recording(facts)) return;
  page.blank();
  page.add(page.line().add("Data", Ink::kBold));
  if (!facts.groups.empty() || facts.unmatched_count > 0) add_labelled("ranks", matching_words(facts), page);
  add_labelled("clock", clock_words(facts), page);
  if (!facts.without_steps.empty()) {
    const std::size_t others = facts.without_steps.size() - 1;
    add_labelled("files",
                 fmt::format("{}{}: no step in it, left out", clean_text(facts.without_steps.front()),
                             others > 0 ? " and " + show_counted(counted(others), "other") : ""),
                 page);
  }
  const std::string missing = missing_words(facts);
  if (!missing.empty()) add_labelled("steps", missing, page);
  const std::string not_kept = not_kept_words(facts);
  if (!not_kept.empty()) add_labelled(missing.empty() ? "steps" : "", not_kept, page);
  const std::string sample = sample_words(facts);
  if (!sample.empty()) add_labelled(missing.empty() && not_kept.empty() ? "steps" : "", sample, page);
  if (!facts.stopped_steps.empty()) add_labelled("stops", stop_words(facts), page);
  if (facts.matched_count > 0) add_labelled("replay", replay_words(replay), page);
}

// The latest rank's own file; without a judgement the first.
void add_one_in_full(const RankReports& ranks, Page& page) {
  const FleetFacts& facts = *ranks.fleet;
  if (facts.ranks.empty()) return;
  const FleetRank& rank = facts.ranks[by_lateness(facts).front()];
  if (rank.is_times_only) return;  // there is no more
  page.blank();
  Report worst;
  worst.info.source = rank.source;
  if (!ranks.reports.empty()) worst.asked = ranks.reports.front().asked;
  const auto same_file = std::count_if(facts.ranks.begin(), facts.ranks.end(),
                                       [&](const FleetRank& other) { return other.source == rank.source; });
  if (same_file > 1) worst.asked.rank = rank.rank;
  Line line = page.line();
  line.pad_to(kLabelColumn).add(more_command(worst, page.style(), "", page.style().width - kLabelColumn));
  constexpr std::string_view kWords = "   # the first row in full";
  if (line.width() + display_width(kWords) <= page.style().width) line.add(kWords, Ink::kDim);
  page.add(line);
}

}  // namespace

std::string write_fleet(const RankReports& ranks, const Style& style) {
  Page page(style);
  const FleetFacts& facts = *ranks.fleet;
  add_title(ranks, page);
  page.blank();
  add_facts(facts, page);
  page.blank();
  page.paragraph(ranks.verdict, kLabelColumn, Ink::kBold);
  page.blank();
  if (!facts.ranks.empty()) add_table(ranks, page);
  // A few are named by incomplete-run.
  for (std::size_t i = 6; i < ranks.unusable.size(); ++i)
    page.paragraph(clean_text(ranks.unusable[i].error.to_string()), kLabelColumn, Ink::kRed, 2);
  for (std::size_t i = 0; i < ranks.findings.size(); ++i)
    add_finding(i, ranks.findings[i], facts, ranks.verdict.starts_with(ranks.findings[i].finding.title), page);
  add_one_in_full(ranks, page);
  add_spreads(facts, page);
  add_bandwidths(facts, page);
  add_replay(facts, ranks.replay, page);
  add_matching(facts, ranks.replay, page);
  return page.text();
}

}  // namespace stepscope
