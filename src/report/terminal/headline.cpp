// The first lines: what was recorded and whether all of it arrived, the step time, busy time and MFU.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/cut_file.h"
#include "analyze/recording_words.h"
#include "analyze/step_marks.h"
#include "report/missing_words.h"
#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

std::string step_range_words(const Report& report) {
  const Steps& steps = report.steps;
  if (steps.steps.empty()) return report.asked.whole_file_window ? "whole file" : "steps unknown";
  const std::int64_t first = steps.steps.front().number, last = steps.steps.back().number;
  if (first == last) return fmt::format("1 step (#{})", first);
  return fmt::format("{} steps (#{} to #{}{})", show_count(static_cast<std::int64_t>(steps.steps.size())), first, last,
                     missing_short_words(steps.missing));
}

std::string rank_words(const Report& report) {
  if (!report.info.rank) return "";
  if (!report.info.world_size) return fmt::format("rank {}", *report.info.rank);
  return fmt::format("rank {} of {}", *report.info.rank, *report.info.world_size);
}

std::string device_words(const Report& report) {
  const DeviceReport* device = report.main_device();
  if (device == nullptr) return "no GPU";
  std::string words = device->name.empty() ? fmt::format("device {}", device->number) : device->name;
  if (report.devices.size() > 1) words += fmt::format(" (device {} of {})", device->number, report.devices.size());
  return words;
}

std::pair<std::string, Ink> completeness_words(const Report& report) {
  const Ledger& ledger = report.ledger;
  const std::int64_t lost = ledger.launch_without_gpu_event_count;
  if (report.status == ReportStatus::kComplete && ledger.is_host_only) return {"data complete: CPU only", Ink::kGreen};
  if (report.status == ReportStatus::kComplete && lost == 0) {
    // The rule knows more than the status: steps without GPU events, durations that were mended.
    for (std::size_t i = 0; i < report.findings.size(); ++i) {
      if (report.findings[i].id == "incomplete-data")
        return {fmt::format("not complete: see finding {}", i + 1), Ink::kMagenta};
    }
    return {"data complete: " + show_counted(ledger.gpu_event_count, "GPU event"), Ink::kGreen};
  }
  if (lost > 0) {
    return {fmt::format("incomplete: {} of {} launches lost", show_count(lost), show_count(ledger.launch_count)),
            Ink::kRed};
  }
  return {"read in part, see Data below", Ink::kRed};
}

// The spread shown in brackets: everything for a few steps, the middle 80 % for many.
std::optional<Interval> shown_range(const Steps& steps) {
  constexpr std::size_t kFewSteps = 10;
  if (steps.steps.size() < 2) return std::nullopt;
  if (steps.steps.size() >= kFewSteps && steps.p10_ns && steps.p90_ns) return Interval{*steps.p10_ns, *steps.p90_ns};
  Interval range{steps.steps.front().duration_ns(), steps.steps.front().duration_ns()};
  for (const Step& step : steps.steps) {
    range.start_ns = std::min(range.start_ns, step.duration_ns());
    range.end_ns = std::max(range.end_ns, step.duration_ns());
  }
  return range;
}

std::string range_words(Interval range, const DurationFormat& format) {
  const std::string low = format.number(range.start_ns), high = format.number(range.end_ns);
  return low == high ? "(every step)" : fmt::format("({} to {})", low, high);
}

std::string unprofiled_words(const Report& report, const DurationFormat& format) {
  const auto estimate = report.unprofiled_step();
  if (!estimate) {
    const bool is_refused = report.what_ifs.self_check.refused.has_value() && !report.was_launch_blocking();
    return is_refused ? "without the profiler: no estimate, see Data below" : "";
  }
  DurationFormat rough = format;
  if (rough.decimals > 0 && estimate->mid_ns > 20'000'000) rough.decimals = 0;  // an estimate has no tenths
  // Always a range: as many digits as tell its ends apart.
  constexpr int kMostDecimals = 4;
  while (rough.decimals < kMostDecimals && rough.number(estimate->low_ns) == rough.number(estimate->high_ns)) {
    ++rough.decimals;
  }
  if (rough.number(estimate->low_ns) == rough.number(estimate->high_ns)) {
    return "without the profiler the same: no operators to take its cost from";
  }
  return fmt::format("without the profiler about {} ({} to {})", rough.number(estimate->mid_ns),
                     rough.number(estimate->low_ns), rough.number(estimate->high_ns));
}

// The host runs ahead: says how far, since a clock around the step would lie.
void add_host_lead(const Report& report, const DurationFormat& format, Page& page) {
  const Steps& steps = report.steps;
  if (report.ledger.is_host_only) return;  // the host's clock is the right one
  if (!steps.median_ns || !steps.host_span_median_ns || !steps.host_lead_ns) return;
  // 5 %: below that a clock around the step would have been right for all purposes.
  const DurationNs difference_ns = *steps.median_ns - *steps.host_span_median_ns;
  const double ahead = static_cast<double>(*steps.host_lead_ns) / static_cast<double>(*steps.median_ns);
  // A quarter of a step: less is a late synchronization, no habit of the loop.
  if (difference_ns < *steps.median_ns / 20 || ahead < 0.25) return;
  page.paragraph(
      fmt::format("on the GPU; the host queues a step in {} and runs {:.1f} steps ahead: a clock around the step "
                  "would have said {}",
                  format.text(*steps.host_span_median_ns), ahead, format.number(*steps.host_span_median_ns)),
      kTextColumn, Ink::kDim);
}

void add_step_time(const Report& report, Page& page) {
  const Steps& steps = report.steps;
  Line line = page.line();
  line.pad_to(kLabelColumn).add("step").pad_to(kTextColumn);
  if (!steps.median_ns && !steps.left_out.empty()) {
    page.add(line.add("unknown", Ink::kMagenta).add(": no step was recorded whole"));
    return;
  }
  if (!steps.median_ns && steps.source_detail == kOneStepsEnd) {
    page.add(line.add("unknown", Ink::kMagenta).add(": " + steps.source_detail));
    // The verdict may have said what to do already.
    if (report.verdict.find(kRecordTwoSteps) == std::string::npos) {
      page.paragraph(std::string(kRecordTwoSteps), kTextColumn);
    }
    return;
  }
  if (!steps.median_ns) {
    line.add("unknown", Ink::kMagenta).add(": nothing marks or repeats a step");
    page.add(line);
    // The verdict may have said what to do already.
    if (report.verdict.find("--steps NAME") == std::string::npos) {
      page.paragraph(fit_recording_words(report.tool,
                                         "Call prof.step() in the loop, or name the span that is one step: "
                                         "--steps NAME"),
                     kTextColumn);
    }
    return;
  }
  const auto range = shown_range(steps);
  const auto format = DurationFormat::pick(*steps.median_ns, range ? range->length_ns() : 0);
  line.add(format.text(*steps.median_ns), Ink::kBold);
  if (range) line.add("  " + range_words(*range, format));
  const std::string unprofiled = unprofiled_words(report, format);
  const bool fits = line.width() + 4 + display_width(unprofiled) <= page.style().width;
  if (!unprofiled.empty() && fits) line.pad_to(line.width() + 4).add(unprofiled);
  page.add(line);
  add_host_lead(report, format, page);
  if (!unprofiled.empty() && !fits) page.paragraph(unprofiled, kTextColumn);
  if (steps.source == StepSource::kDetectedSpans || steps.source == StepSource::kDetectedKernels) {
    page.paragraph("detected, not marked: " + steps.source_detail + "; --steps NAME decides", kTextColumn, Ink::kDim);
  }
}

// What well-tuned runs reach is known for large dense models on tensor cores; against the peak of fp32 it means
// nothing.
bool has_known_range(std::string_view dtype) { return dtype == "bf16" || dtype == "fp16" || dtype == "fp8"; }

// What the profiler took from it, where that is much: FLOPs of the mean step over the step without the profiler.
std::string unprofiled_mfu_words(const Report& report) {
  const auto step = report.unprofiled_step();
  const DeviceReport* device = report.main_device();
  const bool distorted = std::any_of(report.findings.begin(), report.findings.end(),
                                     [](const Finding& finding) { return finding.id == "profiler-distortion"; });
  if (!distorted || !step || step->mid_ns <= 0 || device == nullptr) return "";
  const double mean_ns = static_cast<double>(device->busy.window_ns) / static_cast<double>(report.step_divisor());
  const double percent = 100 * *report.efficiency.mfu_ratio * mean_ns / static_cast<double>(step->mid_ns);
  return percent < 0.05 || percent >= 100 ? ""
                                          : fmt::format(" (about {} % without the profiler)", show_decimal(percent, 1));
}

std::string mfu_words(const Report& report, bool brief) {
  const Efficiency& efficiency = report.efficiency;
  if (!efficiency.mfu_ratio || !efficiency.peak_flops_per_s) return "";
  // 0.0 would read as nothing at all.
  const double percent = *efficiency.mfu_ratio * 100;
  std::string words = fmt::format("MFU {} %{} of {} ", percent < 0.05 ? "under 0.1" : show_decimal(percent, 1),
                                  unprofiled_mfu_words(report), show_flops(*efficiency.peak_flops_per_s));
  words += brief ? clean_text(efficiency.peak_dtype) : fmt::format("({}, dense)", clean_text(efficiency.peak_dtype));
  if (has_known_range(efficiency.peak_dtype)) words += brief ? "; well-tuned: 40-60 %" : "; well-tuned runs: 40-60 %";
  return words;
}

// The share in the median of the steps; one long step can pull the window's far away from it.
std::optional<double> median_step_busy(const DeviceReport& device, const Steps& steps) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(steps.steps.size(), device.busy.busy_by_step_ns.size()); ++i) {
    const DurationNs step_ns = steps.steps[i].duration_ns();
    if (step_ns > 0)
      ratios.push_back(static_cast<double>(device.busy.busy_by_step_ns[i]) / static_cast<double>(step_ns));
  }
  return quantile(ratios, 0.5);
}

// What to do where that is known, since that fits a line; the reason in full stands in the JSON.
std::string missing_mfu_words(const Report& report) {
  std::string reason = clean_text(report.efficiency.not_available);
  const std::string option = fit_recording_words(report.tool, "record_shapes=True");
  return reason.find(option) == std::string::npos ? reason : "record with " + option;
}

void add_busy(const Report& report, Page& page) {
  if (report.ledger.is_host_only) return;
  Line line = page.line();
  line.pad_to(kLabelColumn).add("GPU busy").pad_to(kTextColumn);
  const DeviceReport* device = report.main_device();
  if (device == nullptr || device->busy.window_ns <= 0) {
    page.add(line.add("unknown: no GPU activity recorded", Ink::kMagenta));
    return;
  }
  const double busy = static_cast<double>(device->busy.gpu_busy_ns) / static_cast<double>(device->busy.window_ns);
  line.add(show_percent(busy), Ink::kBold);
  const auto of_median = median_step_busy(*device, report.steps);
  // 3 points: closer together, the two say the same.
  if (of_median && std::abs(*of_median - busy) >= 0.03) {
    line.add(fmt::format(" of the window ({} of the median step)", show_percent(*of_median)));
  }
  if (report.ledger.swallowing_duration_count > 0) {
    const double raw = static_cast<double>(device->busy.gpu_busy_raw_ns) / static_cast<double>(device->busy.window_ns);
    line.add(fmt::format(" ({} with the durations as recorded)", show_percent(raw)), Ink::kMagenta);
  }
  std::string mfu = mfu_words(report, false);
  if (line.width() + 5 + display_width(mfu) > page.style().width) mfu = mfu_words(report, true);
  const bool fits = line.width() + 5 + display_width(mfu) <= page.style().width;
  if (!mfu.empty() && fits) line.pad_to(line.width() + 5).add(mfu);
  page.add(line);
  if (!mfu.empty() && !fits) page.paragraph(mfu, kTextColumn);
  if (mfu.empty() && !report.efficiency.not_available.empty()) {
    page.paragraph("MFU not available: " + missing_mfu_words(report), kTextColumn, Ink::kDim);
  }
}

void add_title(const Report& report, Page& page) {
  std::string left = device_words(report);
  for (const std::string& part : {rank_words(report), step_range_words(report)}) {
    if (!part.empty()) left += ", " + part;
  }
  const auto [right, ink] = completeness_words(report);
  Line line = page.line();
  const std::size_t width = page.style().width;
  const std::size_t right_width = display_width(right);
  if (display_width(left) + right_width + 2 <= width) {
    page.add(line.add(left, Ink::kBold).add_right(width, right, ink));
    return;
  }
  page.paragraph(left, 0, Ink::kBold);
  page.paragraph(right, 0, ink);
}

const Note* find_lost(const Report& report, NoteKind kind) {
  for (const Note& note : report.notes) {
    if (note.kind == kind && note.severity >= NoteSeverity::kLost) return &note;
  }
  return nullptr;
}

// Of captures: the program's end and the recorder's limits, which a new copy of the file does not mend.
std::string missing_in_capture(const Report& report) {
  if (find_lost(report, NoteKind::kEndedEarly) != nullptr) {
    return "The capture has no end: the program was killed or runs still, or the file is cut. Below is what was "
           "recorded until then.";
  }
  if (const Note* damaged = find_lost(report, NoteKind::kChunkDamaged)) {
    return fmt::format("The file is damaged at byte {}: copy it again. Below is what can be read.",
                       damaged->first_offset);
  }
  if (const Note* dropped = find_lost(report, NoteKind::kRecordsDropped)) {
    const std::string records = show_counted(static_cast<std::int64_t>(dropped->count), "record", "records");
    if (report.steps.left_out.empty())
      return fmt::format("The recorder had no room for {}: times and counts below lack them.", records);
    // Step times are of whole steps; totals over the file are not.
    return fmt::format("The recorder had no room for {}: {} left out for it, and counts below lack them.", records,
                       show_counted(static_cast<std::int64_t>(report.steps.left_out.size()), "step is", "steps are"));
  }
  return "";
}

// What is missing at the end of a file may be its whole GPU part, so this is read before any number.
void add_damage(const Report& report, Page& page) {
  if (const std::string text = missing_in_capture(report); !text.empty()) return page.paragraph(text, 0, Ink::kRed);
  const Note* cut = find_cut(report.notes);
  if (cut == nullptr) return;
  const std::string_view what = cut->kind == NoteKind::kFileCut ? "is cut" : "has damaged gzip data";
  std::string text = fmt::format("The file {} at byte {}: copy it again.", what, cut->first_offset);
  if (report.main_device() == nullptr) text += " What a GPU did, if there was one, stands behind that place.";
  page.paragraph(text, 0, Ink::kRed);
}

}  // namespace

void add_headline(const Report& report, Page& page) {
  add_title(report, page);
  add_damage(report, page);
  page.blank();
  if (!report.has_headline()) return;
  add_step_time(report, page);
  add_busy(report, page);
}

void add_withheld(const Report& report, Page& page) {
  page.paragraph(report.verdict, kLabelColumn, Ink::kMagenta);
  page.blank();
  const Ledger& ledger = report.ledger;
  page.paragraph(
      fmt::format("What can be said: the file holds {}, {} ({} without a launch) and {}{}.",
                  show_counted(ledger.launch_count, "launch", "launches"),
                  show_counted(ledger.gpu_event_count, "GPU event"), show_count(ledger.unlinked_gpu_event_count),
                  show_counted(static_cast<std::int64_t>(report.steps.steps.size()), "whole step"),
                  report.steps.left_out.empty() ? "" : ", others are cut off"),
      kLabelColumn);
}

void add_verdict(const Report& report, Page& page) {
  if (report.verdict.empty()) return;
  page.blank();
  page.paragraph(report.verdict, kLabelColumn, Ink::kBold);
}

}  // namespace stepscope
