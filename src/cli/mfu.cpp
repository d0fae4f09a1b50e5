// stepscope mfu: model FLOPs utilization from numbers, from a trace, or from both side by side.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts.h"
#include "analyze/step_marks.h"
#include "cli/options.h"
#include "cli/reading.h"
#include "cli/units.h"
#include "report/mfu_report.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope mfu --params 7B --tokens-per-step 2M --step-s 9 \\\n"
    "    --gpus 64 --peak 989T\n"
    "  stepscope mfu --params 7B --layers 32 --d-model 4096 --context 4096 \\\n"
    "    --tokens-per-step 2M --step-s 9s --gpus 64 --device 'NVIDIA H200'\n"
    "  stepscope mfu trace.json.gz            from the operators in a trace\n"
    "  stepscope mfu trace.json.gz --params 137353728 --tokens-per-step 16384\n"
    "                                         the formula beside the operators\n"
    "  ... --recompute full                   HFU: the forward pass runs twice\n"
    "  ... --json | jq .mfu_ratio             docs/formats/mfu.md\n\n"
    "MFU = FLOPs that the model needs in a step / FLOPs that the GPUs could do\n"
    "in its time. A token needs 6 x parameters + 12 x layers x d_model x context.\n\n"
    "Exit status: 0 answered, 2 wrong usage, 3 nothing usable, or 100% and more,\n"
    "             4 something of the trace was lost.\n";

struct Request {
  std::string file;  // empty: none
  TraceOptions trace;
  StyleOptions style;
  std::optional<double> params, layers, d_model, context, vocab, tokens_per_step, step_s, gpus, peak_flops_per_s;
  std::string device, dtype, recompute;
  bool json = false;
};

const std::vector<std::string> kDtypes = {"bf16", "fp16", "tf32", "fp32", "fp64", "fp8", "int8"};

CLI::Validator recompute_words() {
  const auto check = [](const std::string& text) -> std::string {
    if (text == "full" || text == "none" || parse_flops(text)) return "";
    return "must be full, none, or the FLOPs done again in a step, such as 28P, not " + text;
  };
  return CLI::Validator(check, "");
}

void add_model_options(CLI::App& app, Request& request) {
  app.add_option("--params", request.params, "parameters of the model: 7B, 7e9")->type_name("N")->transform(amount());
  app.add_option("--tokens-per-step", request.tokens_per_step, "tokens of a step on all GPUs: 2M")
      ->type_name("N")
      ->transform(amount());
  app.add_option("--layers", request.layers, "with --d-model and --context: counts attention")
      ->type_name("N")
      ->transform(plain_size());
  app.add_option("--d-model", request.d_model, "width of the hidden state")->type_name("N")->transform(plain_size());
  app.add_option("--context", request.context, "tokens of a sequence")->type_name("N")->transform(plain_size());
  app.add_option("--vocab", request.vocab, "with --d-model: what the embedding table makes")
      ->type_name("N")
      ->transform(plain_size());
  app.add_option("--recompute", request.recompute, "full, none or FLOPs done again in a step: HFU")
      ->type_name("WHAT")
      ->check(recompute_words());
}

void add_options(CLI::App& app, Request& request) {
  app.add_option("TRACE", request.file, "a trace, for its steps, operators and GPU")->type_name("");
  add_model_options(app, request);
  app.add_option("--step-s", request.step_s, "time of a step: 9, 9s, 43.5ms; else the trace's")
      ->type_name("T")
      ->transform(seconds());
  app.add_option("--gpus", request.gpus, "how many; else the trace's ranks, or 1")
      ->type_name("N")
      ->transform(positive_count());
  app.add_option("--peak,--peak-flops", request.peak_flops_per_s, "FLOP/s of one GPU, dense: 989T")
      ->type_name("X")
      ->transform(peak_flops());
  app.add_option("--device", request.device, "GPU whose peak is known: 'NVIDIA H200'")->type_name("NAME");
  app.add_option("--dtype", request.dtype, "of the matrix products: bf16, fp16, tf32, fp32, ...")
      ->type_name("TYPE")
      ->check(one_of(kDtypes));
  app.add_flag("--json", request.json, "a versioned document (docs/formats/mfu.md)");
  app.add_option("--steps", request.trace.steps_name, "the span that is one step, if not ProfilerStep#N")
      ->type_name("NAME");
  add_rank_and_threads(app, request.trace);
  add_style_options(app, request.style);
  app.footer(kExamples);
}

// What does not fit together; empty if all does.
std::string check_request(const Request& request) {
  const bool has_trace = !request.file.empty();
  if (!request.params && !has_trace) return "give --params and --tokens-per-step, or a TRACE";
  if (request.params && !request.tokens_per_step) return "--params needs --tokens-per-step";
  if (!request.params) {
    const std::pair<const char*, bool> needing[] = {{"--tokens-per-step", request.tokens_per_step.has_value()},
                                                    {"--layers", request.layers.has_value()},
                                                    {"--d-model", request.d_model.has_value()},
                                                    {"--context", request.context.has_value()},
                                                    {"--vocab", request.vocab.has_value()},
                                                    {"--recompute", !request.recompute.empty()}};
    for (const auto& [option, is_given] : needing) {
      if (is_given) return fmt::format("{} needs --params", option);
    }
  }
  if (!request.step_s && !has_trace) return "give the time of a step with --step-s, or a TRACE";
  const bool only_for_vocab = request.vocab && !request.layers && !request.context;
  const bool has_some = request.layers || request.context || (request.d_model && !only_for_vocab);
  const bool has_all = request.layers && request.context && request.d_model;
  if (has_some && !has_all)
    return "attention needs all of --layers, --d-model and --context; leave out all to ignore it";
  if (request.vocab && !request.d_model) return "--vocab needs --d-model";
  if (request.vocab && *request.vocab * *request.d_model >= *request.params) {
    return "--vocab x --d-model is as much as --params or more, so one of the three is wrong";
  }
  if (request.peak_flops_per_s && !request.device.empty()) return "give --peak or --device, not both";
  if (!has_trace && !request.trace.steps_name.empty()) return "--steps needs a TRACE";
  if (!has_trace && request.trace.rank) return "--rank needs a TRACE";
  if (!request.peak_flops_per_s && request.device.empty() && !has_trace) {
    return "give the peak of one GPU with --peak (989T), or name it with --device ('NVIDIA H200')";
  }
  return "";
}

std::optional<MfuModel> model_of(const Request& request) {
  if (!request.params) return std::nullopt;
  MfuModel model;
  model.shape.params = *request.params;
  if (request.layers) model.shape = {*request.params, *request.layers, *request.d_model, *request.context};
  model.vocab = request.vocab.value_or(0);
  if (request.vocab) model.embedding_params = *request.vocab * *request.d_model;
  model.tokens_per_step = *request.tokens_per_step;
  return model;
}

std::string join(const std::vector<std::string_view>& names, std::string_view separator) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += separator;
    text += name;
  }
  return text;
}

// Why the table has no such peak, and what it has instead.
std::string missing_peak(const MfuPeak& peak, bool was_typed) {
  std::vector<std::string_view> types;
  std::vector<std::string_view> devices;
  for (const DevicePeak& row : device_peaks()) {
    if (row.device_name == peak.device_name) types.push_back(row.dtype);
    if (devices.empty() || devices.back() != row.device_name) devices.push_back(row.device_name);
  }
  std::string text =
      fmt::format("no {} peak is known for \"{}\"", clean_text(peak.dtype), clean_text(peak.device_name));
  const auto near = find_similar_devices(peak.device_name);
  if (!types.empty()) {
    text += fmt::format(", only: {} (--dtype)", join(types, ", "));
  } else if (!near.empty()) {
    text += fmt::format("; near: {}", join(near, ", "));
  } else if (was_typed) {
    text += fmt::format("; known are:\n  {}", join(devices, "\n  "));
  }
  return text + "\nElse give the FLOP/s of one GPU: --peak 989T";
}

// The peak as asked for, else of the trace's device and data type.
Result<MfuPeak> find_peak(const Request& request, const Efficiency* trace) {
  MfuPeak peak;
  peak.dtype = request.dtype;
  peak.dtype_source = request.dtype.empty() ? "" : "given";
  if (peak.dtype.empty() && trace != nullptr && !trace->peak_dtype.empty()) {
    peak.dtype = trace->peak_dtype;
    peak.dtype_source = "trace";
  }
  if (request.peak_flops_per_s) {
    peak.flops_per_s = *request.peak_flops_per_s;
    peak.source = "given";
    return peak;
  }
  peak.device_name = request.device.empty() && trace != nullptr ? trace->device_name : request.device;
  if (peak.device_name.empty()) {
    return Error{ErrorCode::kInvalidArgument, "the trace does not name its GPU: give --device or --peak", {}};
  }
  if (peak.dtype.empty()) {
    peak.dtype = "bf16";
    peak.dtype_source = "assumed";
  }
  const auto found = find_device_peak(peak.device_name, peak.dtype);
  if (!found) {
    return Error{ErrorCode::kInvalidArgument, missing_peak(peak, !request.device.empty()), {}};
  }
  peak.flops_per_s = found->flops_per_s;
  peak.source = found->source;
  return peak;
}

MfuTrace trace_of(const std::string& path, const Trace& trace, const Facts& facts) {
  MfuTrace out;
  out.path = path;
  const bool is_partial = trace.notes.lost_anything() || facts.ledger.headline_withheld;
  out.status = is_partial ? ReportStatus::kPartial : ReportStatus::kComplete;
  out.step_count = facts.steps.steps.size();
  out.steps_not_available = "no step is marked in the trace; name the span that is one with --steps, or give --step-s";
  if (facts.steps.source_detail == kOneStepsEnd) {
    out.steps_not_available = fmt::format("{}; record two steps or more, or give --step-s", kOneStepsEnd);
  }
  if (out.step_count == 0) {
    out.operators_not_available = facts.steps.source_detail == kOneStepsEnd
                                      ? fmt::format("{}; record two steps or more", kOneStepsEnd)
                                      : "no step is marked in the trace; name the span that is one with --steps";
    return out;
  }
  const auto seconds_of = [](DurationNs ns) { return static_cast<double>(ns) * 1e-9; };
  const auto steps = static_cast<double>(out.step_count);
  // A damaged file may have steps without length.
  const auto add_time = [&](MfuStepSource source, double step_s) {
    if (step_s > 0) out.step_times.push_back({source, step_s});
  };
  if (!facts.ledger.headline_withheld && facts.steps.median_ns) {
    add_time(MfuStepSource::kRecorded, seconds_of(*facts.steps.median_ns));
    const auto unprofiled = facts.what_ifs.unprofiled_step();
    if (unprofiled) add_time(MfuStepSource::kUnprofiled, seconds_of(unprofiled->mid_ns));
    add_time(MfuStepSource::kWindow, seconds_of(facts.steps.recorded_ns()) / steps);
  }
  out.operators_not_available = facts.flops.total > 0 ? "" : facts.efficiency.not_available;
  const double share = steps * static_cast<double>(std::max<std::size_t>(facts.busy.size(), 1));
  out.operator_flops = facts.flops.model / share;
  out.operator_flops_causal_halved = facts.flops.model_causal_halved / share;
  out.recomputed_flops = facts.flops.recomputed / share;
  out.operators_without_formula = facts.flops.unknown_operators;
  return out;
}

MfuGpus gpus_of(const Request& request, const Trace* trace, const Facts* facts) {
  if (request.gpus) return {*request.gpus, "given"};
  if (trace == nullptr) return {};
  if (trace->info.world_size.value_or(0) > 0) {
    return {static_cast<double>(*trace->info.world_size), "trace_world_size"};
  }
  return {static_cast<double>(std::max<std::size_t>(facts->busy.size(), 1)), "trace_devices"};
}

MfuInput input_of(const Request& request) {
  MfuInput input;
  input.model = model_of(request);
  input.step_s = request.step_s;
  if (request.recompute == "none") input.recompute = Recompute::kNone;
  if (request.recompute == "full") input.recompute = Recompute::kFull;
  if (const auto flops = parse_flops(request.recompute)) {
    input.recompute = Recompute::kGiven;
    input.recomputed_flops = *flops;
  }
  return input;
}

int print(const Request& request, MfuInput input, int exit_code, Console& console) {
  const auto report = build_mfu_report(std::move(input));
  if (!report) {
    console.complain(report.error());
    return report.error().code == ErrorCode::kInvalidArgument ? kExitUsage : kExitUnusable;
  }
  const std::string text = request.json
                               ? write_mfu_json(*report)
                               : write_mfu_text(*report, Console::style(request.style.colour, request.style.width));
  return console.write(text) ? exit_code : kExitUnusable;
}

int run_on_numbers(const Request& request, Console& console) {
  MfuInput input = input_of(request);
  input.gpus = gpus_of(request, nullptr, nullptr);
  auto peak = find_peak(request, nullptr);
  if (!peak) {
    console.complain_lines(peak.error().to_string());
    return kExitUsage;
  }
  input.peak = *peak;
  return print(request, std::move(input), kExitComplete, console);
}

int run_on_trace(const Request& request, Console& console) {
  const OneTrace one = read_one_trace(request.file, request.trace, console);
  if (!one.trace) return one.exit_code;
  FactOptions options;
  options.steps.span_name = request.trace.steps_name;
  const Facts facts = compute_facts(*one.trace, options);
  MfuInput input = input_of(request);
  input.gpus = gpus_of(request, &*one.trace, &facts);
  input.trace = trace_of(request.file, *one.trace, facts);
  if (facts.ledger.headline_withheld && !request.step_s) {
    console.complain(Error{ErrorCode::kDamaged, *facts.ledger.headline_withheld, request.file});
    return kExitUnusable;
  }
  if (facts.ledger.is_host_only && !request.gpus) {
    console.complain(Error{ErrorCode::kInvalidArgument,
                           "only the CPU is in this file, so it does not say how many GPUs worked: give --gpus, and "
                           "--device or --peak",
                           request.file});
    return kExitUsage;
  }
  auto peak = find_peak(request, &facts.efficiency);
  if (!peak) {
    console.complain_lines(peak.error().to_string());
    return kExitUsage;
  }
  input.peak = *peak;
  const bool is_partial = input.trace->status == ReportStatus::kPartial;
  return print(request, std::move(input), is_partial ? kExitPartial : one.exit_code, console);
}

}  // namespace

int run_mfu(const Arguments& arguments, Console& console) {
  CLI::App app("How much of what the GPUs could compute a training step computes.", "stepscope mfu");
  Request request;
  add_options(app, request);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  const std::string wrong = check_request(request);
  if (!wrong.empty()) {
    console.complain(wrong + "\nType `stepscope mfu --help` for the options and examples.");
    return kExitUsage;
  }
  return request.file.empty() ? run_on_numbers(request, console) : run_on_trace(request, console);
}

}  // namespace stepscope
