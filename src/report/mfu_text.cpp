// The answer, the calculation with the numbers put in, then what was counted and what was not: two MFUs compare only
// when these choices are the same.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/mfu_report.h"
#include "report/numbers.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kLabelColumn = 2, kTextColumn = 15;
// Right edges of the table of a trace. On a narrow screen what is counted has a line of its own, the numbers below it.
constexpr std::size_t kFlopsEdge = 44, kNarrowFlopsEdge = 22, kTimeWidth = 12;
constexpr std::size_t kMostTimes = 3;  // fit 80 columns

// 14.75%, 3.20%, 0.012%; never 100.00%, which cannot be.
std::string percent(double ratio) {
  const double value = ratio * 100;
  if (value < 0.001) return "<0.001%";
  return value >= 1 ? fmt::format("{:.2f}%", std::min(value, 99.99)) : fmt::format("{:#.2g}%", value);
}

std::string seconds(double step_s) {
  if (step_s >= 1) return fmt::format("{:.4g} s", step_s);
  if (step_s >= 1e-3) return fmt::format("{:.4g} ms", step_s * 1e3);
  return fmt::format("{:.4g} us", step_s * 1e6);
}

std::string time_words(const MfuStepTime& time) {
  return fmt::format("{}{}", time.source == MfuStepSource::kUnprofiled ? "~" : "", seconds(time.step_s));
}

// Whole numbers as they are, others and huge ones shortened.
std::string number(double value) {
  constexpr double kMostDigits = 1e15;
  if (value >= kMostDigits) return fmt::format("{:.6g}", value);
  return value == std::floor(value) ? show_count(static_cast<std::int64_t>(value)) : fmt::format("{}", value);
}

std::string gpus_words(const MfuGpus& gpus) { return number(gpus.count) + (gpus.count == 1 ? " GPU" : " GPUs"); }

std::string peak_words(const MfuPeak& peak) {
  const std::string words = show_quantity(peak.flops_per_s, "FLOP/s");
  return peak.dtype.empty() ? words : fmt::format("{} {}", words, clean_text(peak.dtype));
}

void add_headline(const MfuReport& report, Page& page) {
  const MfuRow& row = report.rows.front();
  Line line = page.line();
  line.add("MFU " + percent(*row.mfu_ratio.front()), Ink::kBold);
  const bool differs = row.recomputed_flops.value_or(0) > 0 || report.input.recompute != Recompute::kNotSaid;
  if (differs && row.hfu_ratio.front()) line.add("   HFU " + percent(*row.hfu_ratio.front()), Ink::kBold);
  const MfuInput& input = report.input;
  const std::string device = input.peak.device_name.empty() ? gpus_words(input.gpus)
                             : input.gpus.count == 1
                                 ? clean_text(input.peak.device_name)
                                 : number(input.gpus.count) + " x " + clean_text(input.peak.device_name);
  const std::string rest = fmt::format("{}, {} a step", device, seconds(report.step_times.front().step_s));
  if (line.width() + 3 + display_width(rest) <= page.style().width) {
    page.add(line.add("   " + rest));
  } else {
    page.add(line);
    page.paragraph(rest, kLabelColumn);
  }
  page.paragraph("The share of the FLOPs possible in a step that the model itself needs.", kLabelColumn, Ink::kDim);
}

// LABEL  EXPRESSION          = RESULT
void add_equation(std::string_view label, const std::string& expression, const std::string& result, Page& page) {
  constexpr std::size_t kResultColumn = 62, kResultWidth = 18;
  const std::size_t width = page.style().width;
  const std::size_t column = std::min(kResultColumn, width - std::min(width, kResultWidth));
  Line line = page.line();
  line.pad_to(kLabelColumn).add(label);
  for (const std::string& words : wrap_text(expression, width - kTextColumn)) {
    if (line.width() > kTextColumn) {
      page.add(line);
      line = page.line();
    }
    line.pad_to(kTextColumn).add(words);
  }
  // On a narrow screen the result stands below a long expression.
  if (line.width() + 1 > column) {
    page.add(line);
    line = page.line();
  }
  page.add(line.pad_to(column).add("= " + result));
}

void add_hfu(const MfuReport& report, double step_flops, double possible, Page& page) {
  const MfuRow& row = report.rows.front();
  if (row.recomputed_flops.value_or(0) <= 0 || !row.hfu_ratio.front()) return;
  const std::string again = show_quantity(*row.recomputed_flops * report.input.gpus.count, "FLOP");
  const std::string step = show_quantity(step_flops, "FLOP");
  if (report.input.recompute == Recompute::kFull) add_equation("done again", "the forward pass: a third", again, page);
  if (report.input.recompute == Recompute::kGiven) add_equation("done again", "as --recompute says", again, page);
  add_equation("HFU", fmt::format("({} + {}) / {}", step, again, show_quantity(possible, "FLOP")),
               percent(*row.hfu_ratio.front()), page);
}

void add_calculation(const MfuReport& report, Page& page) {
  const MfuInput& input = report.input;
  const MfuModel& model = *input.model;
  const TokenFlops& token = *report.token;
  const double step_flops = token.total() * model.tokens_per_step;
  const double step_s = report.step_times.front().step_s;
  const double possible = input.gpus.count * input.peak.flops_per_s * step_s;
  page.blank();
  add_equation("one token", fmt::format("6 x {} parameters", number(model.shape.params)),
               show_quantity(token.parameters, "FLOP"), page);
  if (token.attention > 0) {
    add_equation("+ attention",
                 fmt::format("12 x {} layers x {} d_model x {} context", number(model.shape.layers),
                             number(model.shape.d_model), number(model.shape.context)),
                 show_quantity(token.attention, "FLOP"), page);
  }
  add_equation("one step",
               fmt::format("{} x {} tokens", show_quantity(token.total(), "FLOP"), number(model.tokens_per_step)),
               show_quantity(step_flops, "FLOP"), page);
  add_equation("possible",
               fmt::format("{} x {} x {}", gpus_words(input.gpus), show_quantity(input.peak.flops_per_s, "FLOP/s"),
                           seconds(step_s)),
               show_quantity(possible, "FLOP"), page);
  add_equation("MFU", fmt::format("{} / {}", show_quantity(step_flops, "FLOP"), show_quantity(possible, "FLOP")),
               percent(*report.rows.front().mfu_ratio.front()), page);
  add_hfu(report, step_flops, possible, page);
}

std::string_view count_words(MfuCount count) {
  switch (count) {
    case MfuCount::kFormula:
      return "formula";
    case MfuCount::kFormulaWithoutEmbedding:
      return "formula, no embedding";
    case MfuCount::kOperators:
      return "operators, attention in full";
    case MfuCount::kOperatorsCausalHalved:
      return "operators, causal halved";
  }
  return "";
}

std::string_view source_words(MfuStepSource source) {
  switch (source) {
    case MfuStepSource::kGiven:
      return "given";
    case MfuStepSource::kRecorded:
      return "recorded";
    case MfuStepSource::kUnprofiled:
      return "unprofiled";
    case MfuStepSource::kWindow:
      return "mean";
  }
  return "";
}

bool is_narrow(const Page& page) { return page.style().width < kFlopsEdge + 3 * kTimeWidth; }

std::size_t flops_edge(const Page& page) { return is_narrow(page) ? kNarrowFlopsEdge : kFlopsEdge; }

void add_ratios(std::string_view label, double flops, const std::vector<std::optional<double>>& ratios, Page& page) {
  Line line = page.line();
  line.pad_to(kLabelColumn).add(label);
  if (is_narrow(page)) {
    page.add(line);
    line = page.line();
  }
  line.add_right(flops_edge(page), show_quantity(flops, "FLOP"));
  for (std::size_t i = 0; i < std::min(kMostTimes, ratios.size()); ++i) {
    line.add_right(flops_edge(page) + (i + 1) * kTimeWidth, ratios[i] ? percent(*ratios[i]) : ">= 100%",
                   i == 0 ? Ink::kBold : Ink::kPlain);
  }
  page.add(line);
}

// Each way of counting against each step time.
void add_table(const MfuReport& report, Page& page) {
  const std::size_t times = std::min(kMostTimes, report.step_times.size());
  page.blank();
  Line head = page.line();
  Line below = page.line();
  if (is_narrow(page)) {
    page.add(page.line().pad_to(kLabelColumn).add("MFU by what is counted", Ink::kDim));
  } else {
    head.pad_to(kLabelColumn).add("MFU by", Ink::kDim);
    below.pad_to(kLabelColumn).add("what is counted", Ink::kDim);
  }
  head.add_right(flops_edge(page), "a step", Ink::kDim);
  below.add_right(flops_edge(page), "on one GPU", Ink::kDim);
  for (std::size_t i = 0; i < times; ++i) {
    const std::size_t edge = flops_edge(page) + (i + 1) * kTimeWidth;
    head.add_right(edge, source_words(report.step_times[i].source), Ink::kDim);
    below.add_right(edge, time_words(report.step_times[i]), Ink::kDim);
  }
  page.add(head);
  page.add(below);
  for (const MfuRow& row : report.rows) {
    add_ratios(count_words(row.count), row.flops, row.mfu_ratio, page);
    if (row.recomputed_flops.value_or(0) > 0) {
      add_ratios("  with work done again: HFU", row.flops + *row.recomputed_flops, row.hfu_ratio, page);
    }
  }
}

void add_note(std::string_view label, const std::string& text, Page& page) {
  Line line = page.line();
  const std::vector<std::string> lines = wrap_text(text, page.style().width - kTextColumn);
  page.add(line.pad_to(kLabelColumn).add(label, Ink::kDim).pad_to(kTextColumn).add(lines.front()));
  for (std::size_t i = 1; i < lines.size(); ++i) page.add(page.line().pad_to(kTextColumn).add(lines[i]));
}

std::string embedding_words(const MfuReport& report) {
  const MfuModel& model = *report.input.model;
  if (model.embedding_params <= 0) {
    return "its parameters are counted, although looking up multiplies nothing; --vocab and --d-model show how much "
           "that makes";
  }
  const MfuRow& without = report.rows[1];
  return fmt::format(
      "counted: {} x {} = {} parameters, {} of all. Without this table MFU is {}. It belongs in where the output layer "
      "shares it (tied weights), else not",
      number(model.vocab), number(model.embedding_params / model.vocab), number(model.embedding_params),
      percent(model.embedding_params / model.shape.params), percent(without.mfu_ratio.front().value_or(0)));
}

std::string recompute_words(const MfuReport& report) {
  switch (report.input.recompute) {
    case Recompute::kNotSaid:
      return "activations computed again to save memory (checkpointing) are not in MFU; --recompute full shows HFU, "
             "which counts them";
    case Recompute::kNone:
      return "none, so HFU is MFU";
    case Recompute::kFull:
      return "all activations are computed again in the backward pass; counted in HFU only";
    case Recompute::kGiven:
      return "the work done again in the backward pass, as given; counted in HFU only";
  }
  return "";
}

void add_model_notes(const MfuReport& report, Page& page) {
  add_note("6 x", "a token costs 2 FLOP for each parameter forward and 4 backward (PaLM, appendix B)", page);
  add_note("attention",
           report.token->attention > 0
               ? "counted in full, also where a causal mask leaves half of it out"
               : "not counted: --layers, --d-model and --context add 12 x layers x d_model x context to a token",
           page);
  add_note("embedding", embedding_words(report), page);
  add_note("recomputing", recompute_words(report), page);
}

std::string step_words(const MfuReport& report) {
  std::string words;
  for (std::size_t i = 0; i < std::min(kMostTimes, report.step_times.size()); ++i) {
    switch (report.step_times[i].source) {
      case MfuStepSource::kGiven:
        words += "given: by --step-s. ";
        break;
      case MfuStepSource::kRecorded:
        words += fmt::format("recorded: the median of {}, slowed by the profiler. ",
                             show_counted(static_cast<std::int64_t>(report.input.trace->step_count), "step"));
        break;
      case MfuStepSource::kUnprofiled:
        words += "unprofiled: the same step without the profiler, estimated. ";
        break;
      case MfuStepSource::kWindow:
        words += "mean: all recorded steps, slow ones too; `stepscope report` takes this one. ";
        break;
    }
  }
  return words.substr(0, words.size() - 2);
}

void add_trace_notes(const MfuReport& report, Page& page) {
  const MfuTrace& trace = *report.input.trace;
  add_note("step time", step_words(report), page);
  if (trace.operator_flops > 0) {
    std::string words = "matrix products, convolutions and attention in the trace's steps, forward and backward";
    if (trace.recomputed_flops > 0) words += "; forward ones inside the backward pass are work done again";
    add_note("operators", words, page);
  } else {
    add_note("operators", "not counted: " + clean_text(trace.operators_not_available), page);
  }
  if (trace.operators_without_formula.empty()) return;
  std::string names;
  for (const std::string& name : trace.operators_without_formula) names += (names.empty() ? "" : ", ") + name;
  add_note("left out", "operators without a formula: " + clean_text(names), page);
}

// Known for large dense models on tensor cores; against the peak of fp32 it means nothing.
bool has_known_range(std::string_view dtype) {
  return dtype.empty() || dtype == "bf16" || dtype == "fp16" || dtype == "fp8";
}

void add_peak_notes(const MfuReport& report, Page& page) {
  const MfuPeak& peak = report.input.peak;
  std::string words = peak_words(peak) + ", dense, of one GPU: ";
  words += peak.source == "given" ? "given by --peak" : clean_text(peak.source);
  if (peak.dtype_source == "assumed") words += " (bf16 is assumed; else --dtype)";
  add_note("peak", words, page);
  const std::string_view source = report.input.gpus.source;
  if (source == "default") add_note("GPUs", "1 is assumed; else --gpus", page);
  if (source == "trace_world_size") add_note("GPUs", "as many as the trace has ranks", page);
  if (has_known_range(peak.dtype)) {
    add_note("to compare", "well-tuned training of large dense models reaches 40 to 60%", page);
  }
}

}  // namespace

std::string write_mfu_text(const MfuReport& report, const Style& style) {
  Page page(style);
  add_headline(report, page);
  if (report.input.model) add_calculation(report, page);
  if (report.input.trace) add_table(report, page);
  page.blank();
  if (report.input.model) add_model_notes(report, page);
  if (report.input.trace) add_trace_notes(report, page);
  add_peak_notes(report, page);
  return page.text();
}

}  // namespace stepscope
