// What the file holds, what was lost or repaired, and how well the re-simulation knows the recording.
#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"
#include "trace/producers.h"

namespace stepscope {
namespace {

struct LedgerLine {
  std::int64_t count;
  const char* one;
  const char* many;
};

void add_ledger(const Ledger& ledger, Page& page) {
  if (ledger.is_host_only) {
    page.paragraph("no GPU, no launches: the CPU alone was recorded", kLabelColumn, Ink::kPlain, 2);
    return;
  }
  std::string text = fmt::format("{}, {}", show_counted(ledger.launch_count, "launch", "launches"),
                                 show_counted(ledger.gpu_event_count, "GPU event"));
  const LedgerLine lines[] = {
      {ledger.launch_without_gpu_event_count, "launch without a GPU event", "launches without a GPU event"},
      {ledger.unlinked_gpu_event_count, "GPU event without a launch", "GPU events without a launch"},
      {ledger.leading_unlinked_gpu_event_count, "was queued before recording began",
       "were queued before recording began"},
      {ledger.bad_duration_count, "has an impossible duration and is left out",
       "have impossible durations and are left out"},
      {ledger.swallowing_duration_count, "swallows later work and is ended at the next start",
       "swallow later work and are ended at the next start"},
      {ledger.duplicate_gpu_event_count, "duplicate, counted once", "duplicates, counted once"},
      {ledger.negative_latency_count, "starts before its launch (clock skew)",
       "start before their launch (clock skew)"},
      {ledger.outside_window_gpu_event_count, "lies outside the window of the steps",
       "lie outside the window of the steps"},
      {ledger.steps_without_gpu_events_count, "step has no GPU events", "steps have no GPU events"}};
  bool any = false;
  for (const LedgerLine& line : lines) {
    if (line.count == 0) continue;
    text += "; " + show_counted(line.count, line.one, line.many);
    any = true;
  }
  if (!any && ledger.gpu_event_count > 0) text += ", each linked to the other";
  page.paragraph(text, kLabelColumn, Ink::kPlain, 2);
}

Ink ink_of(NoteSeverity severity) {
  return severity >= NoteSeverity::kLost ? Ink::kRed : severity == NoteSeverity::kRecovered ? Ink::kMagenta : Ink::kDim;
}

std::string note_words(const Note& note) {
  std::string kind(note_kind_name(note.kind));
  for (char& c : kind) c = c == '_' ? ' ' : c;
  std::string text = fmt::format("{} x {} ({}", show_count(static_cast<std::int64_t>(note.count)), kind,
                                 note_severity_name(note.severity));
  if (note.first_offset > 0) text += fmt::format(", first at byte {}", note.first_offset);
  text += ")";
  if (!note.example.empty()) text += ": " + note.example;
  return text;
}

// Which of many steps are replayed, where it is not the first ones.
std::string replayed_steps(const Report& report) {
  const SelfCheck& check = report.what_ifs.self_check;
  const auto count = static_cast<std::int64_t>(check.step_count);
  const std::vector<Step>& steps = report.steps.steps;
  std::string text = show_counted(count, "step");
  const std::size_t last = check.first_step + check.step_count - 1;
  if (check.first_step > 0 && last < steps.size()) {
    text += count == 1 ? fmt::format(" (#{})", steps[last].number)
                       : fmt::format(" (#{} to #{})", steps[check.first_step].number, steps[last].number);
  }
  if (check.scale != 1) text += fmt::format(", scaled by {:.2f} to the median of all,", check.scale);
  return text;
}

void add_self_check(const Report& report, Page& page) {
  const SelfCheck& check = report.what_ifs.self_check;
  if (check.refused) {
    page.paragraph("No predictions: " + clean_text(*check.refused), kLabelColumn, Ink::kPlain, 2);
    return;
  }
  if (check.step_count == 0) return;
  const std::string error = show_percent(std::max(check.replay_error_ratio, 0.001));
  const std::string delay = show_duration(check.unexplained_ns);
  // Without steps it is the window that is replayed.
  page.paragraph(
      !report.steps.steps.empty()
          ? fmt::format("Predictions replay {} and meet the recorded step within {}; {} a step of GPU delay has no "
                        "known cause.",
                        replayed_steps(report), error, delay)
          : fmt::format("Predictions replay the window and meet its recorded time within {}; {} of GPU delay has no "
                        "known cause.",
                        error, delay),
      kLabelColumn, Ink::kPlain, 2);
}

void add_source(const Report& report, Page& page) {
  const TraceInfo& info = report.info;
  std::string text =
      fmt::format("{}: {} of {}, {}", info.source, show_bytes(static_cast<std::int64_t>(info.text_bytes)),
                  info.producer == "chrome-json"      ? "JSON trace"
                  : info.producer == kSessionProducer ? "a C++ session's trace"
                  : info.producer.empty()             ? "trace"
                                                      : info.producer,
                  show_counted(static_cast<std::int64_t>(info.event_count), "event"));
  if (!info.host_name.empty()) text += ", host " + info.host_name;
  page.paragraph(text, kLabelColumn, Ink::kPlain, 2);
}

}  // namespace

void add_completeness(const Report& report, Page& page) {
  page.blank();
  page.add(page.line().add("Data", Ink::kBold));
  add_source(report, page);
  add_ledger(report.ledger, page);
  for (const Note& note : report.notes) {
    if (note.kind == NoteKind::kEmptyObject) continue;  // JAX ends every file so; it means nothing
    page.paragraph(note_words(note), kLabelColumn, ink_of(note.severity), 2);
  }
  if (report.has_headline()) add_self_check(report, page);
}

}  // namespace stepscope
