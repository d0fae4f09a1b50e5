// A GPU's step is split exactly, into idle time by cause and busy time; a step of a host alone into what its thread
// did. A name is looked for last, in the host's events of the step, since a cause without one sends the reader to
// search.
#include "rules/outlier_cause.h"

#include <algorithm>

#include "analyze/framework.h"
#include "analyze/warm_up_events.h"
#include "rules/gpu_excess.h"
#include "rules/grown_event.h"
#include "rules/host_only.h"
#include "rules/recompile_advice.h"
#include "rules/wording.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr std::string_view kNamesLines = "profile(..., with_stack=True) names the lines";
constexpr std::string_view kLooksAtStep = "Look at this step's operators: stepscope steps FILE";

DurationNs excess_over_others(const std::vector<DurationNs>& by_step, std::size_t step) {
  if (step >= by_step.size()) return 0;
  std::vector<std::int64_t> others = by_step;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(step));
  return by_step[step] - median_ns(others).value_or(0);
}

OutlierCause make_cause(std::string what, std::string_view explained_by, std::vector<std::string> advice) {
  OutlierCause cause;
  cause.what = std::move(what);
  cause.explained_by = explained_by;
  cause.advice = std::move(advice);
  return cause;
}

OutlierCause cause_of_label(const Trace& trace, HostLabel label) {
  switch (label) {
    case HostLabel::kDataLoader:
      return make_cause("the data loader keeps it waiting", "data-loader-stall",
                        {"See data-loader-stall: more workers, prefetch_factor"});
    case HostLabel::kCheckpoint: {
      OutlierCause cause = make_cause("a checkpoint is written", "",
                                      {"Write checkpoints less often, or from a thread: copy the weights to pinned "
                                       "memory, then torch.save there (torch.distributed.checkpoint.async_save)"});
      cause.is_checkpoint = true;
      return cause;
    }
    case HostLabel::kAllocator:
      return make_cause("device memory is allocated or freed", "allocator-thrash",
                        {"Warm up with the largest batch first, so that memory has grown before the steps that count",
                         "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"});
    case HostLabel::kSynchronization:
    case HostLabel::kBlockingCopy:
      return make_cause("the host waits for the GPU", "hidden-sync",
                        {"Look at what is read from the GPU in this step"});
    case HostLabel::kPython:
    case HostLabel::kNoEvent:
      return make_cause(find_framework(trace) == Framework::kCpp ? "the host works without launching anything"
                                                                 : "Python works without launching anything",
                        "host-pause",
                        {"profile(..., with_stack=True) names the line; if it is the garbage collector: gc.freeze() "
                         "after set-up"});
    case HostLabel::kProfiler:
      return make_cause("the profiler itself works", "",
                        {"Record a shorter window, or fewer kinds: with_stack=False, profile_memory=False"});
    case HostLabel::kKernelGap:
      return make_cause("the GPU waits between its kernels, for another stream or its own scheduling", "",
                        {"See what the streams wait for in this step: stepscope view FILE"});
    case HostLabel::kUnlinked:
      return make_cause("the GPU waits for work whose launch was not recorded", "",
                        {"See what stands before the gap: stepscope view FILE"});
    default:
      return make_cause("the host launches its work late", "host-overhead", {std::string(kLooksAtStep)});
  }
}

// By appending: of "`" + text GCC 12 warns, wrongly, that the two overlap (-Wrestrict).
std::string quoted(std::string_view name) {
  std::string text("`");
  text += shortened(name, 60);
  text += '`';
  return text;
}

// "operator `sort`"
std::string kind_and_name(const GrownEvent& grown) {
  const std::string_view kind = grown.kind == GrownEvent::Kind::kSpan    ? "span "
                                : grown.kind == GrownEvent::Kind::kFrame ? ""
                                                                         : "operator ";
  return std::string(kind) + quoted(grown.name);
}

// "operator `sort` takes 16.0 ms more"
std::string describe_grown(const GrownEvent& grown) {
  return kind_and_name(grown) + " takes " + format_duration(grown.excess_ns) + " more";
}

std::string look_at(const GrownEvent& grown) {
  return "Look at what " + quoted(grown.name) + " does in this step, and whether every so many steps need it";
}

// More work than the others have, or a larger batch.
void explain_more_work(const RuleInput& input, DeviceId device, std::size_t step, const GpuExcess& gpu,
                       OutlierCause& cause) {
  // Sizes change kernels, not their number; half as many again are other work.
  const bool has_more = gpu.typical_count > 0 && gpu.event_count * 2 >= gpu.typical_count * 3;
  const std::string does = count_of(gpu.event_count, "kernel or copy", "kernels and copies");
  const std::string others = format_count(static_cast<double>(gpu.typical_count));
  if (const auto added = find_added_gpu_work(input, device, step, cause.excess_ns)) {
    cause.what = "the GPU works " + format_duration(added->excess_ns) + " for " + kind_and_name(*added) +
                 ", which the others do not have";
    cause.advice = {look_at(*added)};
    cause.at = added->longest;
  } else if (has_more) {
    cause.what = "the GPU has more to do, " + does + ", in the others " + others;
    cause.advice = {"record_function(\"validate\") around parts of the loop names what this step does more"};
  } else if (gpu.event_count > 0 && gpu.event_count != gpu.typical_count) {
    cause.detail = "The GPU does " + does + " in it, in the others " + others + ".";
  }
  if (gpu.most_grown_ns * 2 < cause.excess_ns) return;
  cause.detail += cause.detail.empty() ? "" : " ";
  cause.detail += quoted(short_kernel_name(input.trace.text(gpu.most_grown))) + " takes " +
                  format_duration(gpu.most_grown_ns) + " more of it.";
}

// Which work of the GPU it is that takes longer.
void explain_busy(const RuleInput& input, DeviceId device, std::size_t step, OutlierCause& cause) {
  // Twice the noise of kernels of one shape on a GPU whose clock is steady (5 to 7 % on the recordings).
  constexpr double kSlower = 1.15;
  const GpuExcess gpu = find_gpu_excess(input, device, step);
  const auto explains = [&](DurationNs part_ns) { return part_ns * 2 >= cause.excess_ns; };
  if (explains(gpu.collectives_ns)) {
    cause.what = "its collectives take longer, as when another rank comes late";
    cause.explained_by = "straggler";
    cause.advice = {"stepscope report rank0.json.gz rank1.json.gz ...  names the late rank and what it did meanwhile"};
  } else if (gpu.is_even && gpu.slowdown >= kSlower && explains(gpu.kernels_ns)) {
    cause.what = "its kernels, the same as in the others, take " + format_times(gpu.slowdown) + " as long";
    cause.advice = {"nvidia-smi -q -d PERFORMANCE says whether power or heat lowers the GPU's clock",
                    "nvidia-smi lists other processes on the GPU, which slow it too"};
  } else if (explains(gpu.copies_ns)) {
    cause.what = "its copies take longer than the same ones in the others";
    cause.advice = {"Copies from pinned memory depend less on what else the host does: pin_memory=True"};
  } else {
    explain_more_work(input, device, step, gpu, cause);
  }
}

// The longest stretch of a step in which its thread has no event.
std::optional<Interval> longest_silence(const std::vector<HostSlice>& slices) {
  std::optional<Interval> longest;
  for (const HostSlice& slice : slices) {
    if (slice.label != HostLabel::kNoEvent && slice.label != HostLabel::kPython) continue;
    const Interval at{slice.start_ns, slice.end_ns};
    if (!longest || at.length_ns() > longest->length_ns()) longest = at;
  }
  return longest;
}

// The last row of `table` that ends before `time_ns`, by its end.
template <class Table, class Id>
void find_last_before(const Table& table, IdRange<Id> rows, TimeNs time_ns, TimeNs& end_ns, StringId& name) {
  for (const Id row : rows.ids()) {
    if (table.start_ns[row] >= time_ns) break;
    if (table.end_ns[row] > time_ns || table.end_ns[row] <= end_ns) continue;
    end_ns = table.end_ns[row];
    name = table.name[row];
  }
}

// "after `aten::mm`", or empty.
std::string describe_before(const RuleInput& input, Interval step, TimeNs time_ns) {
  const ThreadId thread = input.facts.steps.main_thread;
  TimeNs end_ns = step.start_ns;
  StringId name;
  find_last_before(input.trace.spans, input.trace.spans_of_thread[thread], time_ns, end_ns, name);
  find_last_before(input.trace.ops, input.trace.ops_of_thread[thread], time_ns, end_ns, name);
  return name.empty() ? "" : ", after " + quoted(input.trace.text(name));
}

// What another thread did meanwhile, where it fills half of `at`: it may have held Python's lock or the cores.
std::string describe_meanwhile(const RuleInput& input, Interval at) {
  const Trace& trace = input.trace;
  StringId name;
  DurationNs most_ns = 0;
  const auto look = [&](const auto& table, const auto& rows_of_thread) {
    for (const ThreadId thread : trace.threads.ids().ids()) {
      if (thread == input.facts.steps.main_thread) continue;
      for (const auto row : rows_of_thread[thread].ids()) {
        if (table.start_ns[row] >= at.end_ns) break;
        const DurationNs both = std::min(table.end_ns[row], at.end_ns) - std::max(table.start_ns[row], at.start_ns);
        if (both <= most_ns) continue;
        most_ns = both;
        name = table.name[row];
      }
    }
  };
  look(trace.spans, trace.spans_of_thread);
  look(trace.ops, trace.ops_of_thread);
  if (most_ns * 2 < at.length_ns()) return "";
  return "Meanwhile " + quoted(trace.text(name)) + " runs on another thread.";
}

// By label, what the training thread did.
std::vector<DurationNs> label_by_step(const std::vector<std::vector<HostSlice>>& steps,
                                      std::initializer_list<HostLabel> labels) {
  std::vector<DurationNs> by_step;
  for (const std::vector<HostSlice>& slices : steps) {
    by_step.push_back(0);
    for (const HostSlice& slice : slices) {
      if (std::find(labels.begin(), labels.end(), slice.label) == labels.end()) continue;
      by_step.back() += slice.end_ns - slice.start_ns;
    }
  }
  return by_step;
}

// No name took half of it: the profiler, a silence of the thread, or many small operators.
OutlierCause nameless_cause_on_host(const RuleInput& input, std::size_t step, DurationNs excess_ns) {
  const auto slices = host_only_slices(input);
  const auto excess = [&](std::initializer_list<HostLabel> labels) {
    return std::min(excess_ns, excess_over_others(label_by_step(slices, labels), step));
  };
  const DurationNs profiler_ns = excess({HostLabel::kProfiler});
  const DurationNs silent_ns = excess({HostLabel::kNoEvent, HostLabel::kPython});
  const DurationNs operators_ns = excess({HostLabel::kOperator, HostLabel::kOptimizer});
  if (profiler_ns * 2 >= excess_ns) {
    OutlierCause cause = cause_of_label(input.trace, HostLabel::kProfiler);
    cause.excess_ns = profiler_ns;
    return cause;
  }
  if (silent_ns * 2 >= excess_ns) {
    const auto longest = longest_silence(slices[step]);
    const bool is_one = longest && longest->length_ns() * 2 >= silent_ns;
    OutlierCause cause =
        make_cause("for " + format_duration(silent_ns) + " more nothing is recorded on its thread" +
                       (is_one ? describe_before(input, input.facts.steps.steps[step].host, longest->start_ns) : ""),
                   "", {std::string(kNamesLines)});
    cause.excess_ns = silent_ns;
    if (is_one) {
      cause.at = longest;
      cause.detail = describe_meanwhile(input, *longest);
    }
    return cause;
  }
  if (operators_ns * 2 >= excess_ns) {
    OutlierCause cause =
        make_cause("its operators take " + format_duration(operators_ns) + " more, none of them half of that", "",
                   {std::string(kLooksAtStep)});
    cause.excess_ns = operators_ns;
    return cause;
  }
  if (operators_ns > 0 && silent_ns > 0 && (operators_ns + silent_ns) * 2 >= excess_ns) {
    OutlierCause cause = make_cause("its operators take " + format_duration(operators_ns) + " more, and for " +
                                        format_duration(silent_ns) + " more nothing is recorded on its thread",
                                    "", {std::string(kNamesLines)});
    cause.excess_ns = operators_ns + silent_ns;
    return cause;
  }
  return make_cause("nothing that was recorded says why", "", {std::string(kNamesLines)});
}

// Without a GPU the parts of a step are what its training thread did, by name.
OutlierCause cause_on_host(const RuleInput& input, std::size_t step, DurationNs excess_ns) {
  const auto grown = find_grown_event(input, step, excess_ns);
  if (!grown) return nameless_cause_on_host(input, step, excess_ns);
  OutlierCause cause;
  if (grown->is_loader || grown->is_checkpoint) {
    cause = cause_of_label(input.trace, grown->is_loader ? HostLabel::kDataLoader : HostLabel::kCheckpoint);
    cause.what += " (" + quoted(grown->name) + ")";
  } else {
    cause = make_cause(describe_grown(*grown), "", {look_at(*grown)});
  }
  cause.excess_ns = std::min(grown->excess_ns, excess_ns);
  cause.at = grown->longest;
  return cause;
}

// What the host did more, by name, where the cause is the host's work.
void name_host_work(const RuleInput& input, std::size_t step, OutlierCause& cause) {
  const bool is_python = cause.explained_by == "host-pause";
  if (!is_python && cause.explained_by != "host-overhead") return;
  const auto grown = find_grown_event(input, step, cause.excess_ns, !is_python);
  if (!grown) return;
  cause.what += " (" + describe_grown(*grown) + ")";
  cause.advice = {look_at(*grown)};
}

// Where no part is half of it, the two that sum to it exactly.
std::string describe_sum(const RuleInput& input, std::size_t step, DurationNs excess_ns) {
  const DeviceBusy* busy = input.facts.main_busy();
  const DurationNs busy_ns = busy == nullptr ? 0 : excess_over_others(busy->busy_by_step_ns, step);
  const DurationNs idle_ns = excess_ns - busy_ns;
  if (busy_ns <= 0) return "the GPU is idle for longer, for several reasons";
  if (idle_ns <= 0) return "the GPU works longer";
  return "the GPU works " + format_duration(busy_ns) + " longer and waits " + format_duration(idle_ns) +
         " longer, for several reasons";
}

OutlierCause largest_part(const RuleInput& input, std::size_t step, DurationNs excess_ns) {
  std::vector<OutlierCause> parts = find_grown_parts(input, step);
  if (parts.empty() && input.facts.ledger.is_host_only) return cause_on_host(input, step, excess_ns);
  if (parts.empty()) return make_cause("its parts are all a little longer", "", {std::string(kLooksAtStep)});
  OutlierCause cause = std::move(parts.front());
  if (cause.excess_ns * 2 < excess_ns && parts.size() > 1) {
    cause.what = describe_sum(input, step, excess_ns);
    cause.explained_by = {};  // no finding of one part covers it
    cause.is_sum = true;
    return cause;
  }
  if (cause.is_busy) explain_busy(input, input.facts.main_busy()->device, step, cause);
  name_host_work(input, step, cause);
  return cause;
}

bool covers(const Interval& step, const Interval& event, DurationNs excess_ns) {
  return event.start_ns >= step.start_ns && event.start_ns < step.end_ns && event.length_ns() * 2 >= excess_ns;
}

std::optional<OutlierCause> event_over_all(const RuleInput& input, std::size_t at, DurationNs excess_ns) {
  const Step& step = input.facts.steps.steps[at];
  const WarmUpEvents signs = compute_warm_up_events(input.trace, input.facts.steps);
  for (const WarmUpKind kind : {WarmUpKind::kCompile, WarmUpKind::kAutotune, WarmUpKind::kModuleLoad}) {
    const WarmUpSign& sign = signs.by_step[at][static_cast<std::size_t>(kind)];
    if (sign.count == 0 || !covers(step.host, sign.example, excess_ns)) continue;
    const std::string name = " (" + shortened(input.trace.text(sign.name), 60) + ")";
    OutlierCause cause =
        kind == WarmUpKind::kModuleLoad
            ? make_cause("code is loaded onto the GPU" + name, "warm-up-in-window",
                         {"It comes once for each kernel: run every kind of step once before the loop"})
            : make_cause((signs.step_recompiles[at] ? "code is compiled again" : "code is compiled") + name, "",
                         {std::string(kRecompileAdvice)});
    cause.excess_ns = std::min(excess_ns, sign.longest_ns);
    cause.at = sign.example;
    cause.is_part = false;
    return cause;
  }
  for (const PauseSite& pause : input.facts.what_ifs.pauses) {
    if (!pause.is_garbage_collection || !covers(step.host, pause.example, excess_ns)) continue;
    OutlierCause cause = make_cause("Python's garbage collector runs", "garbage-collection",
                                    {"gc.freeze() after set-up, or gc.disable()"});
    cause.excess_ns = std::min(excess_ns, pause.example.length_ns());
    cause.at = pause.example;
    cause.is_part = false;
    return cause;
  }
  return std::nullopt;
}

}  // namespace

std::vector<OutlierCause> find_grown_parts(const RuleInput& input, std::size_t step) {
  std::vector<OutlierCause> parts;
  const DeviceIdle* idle = input.facts.main_idle();
  for (std::size_t label = 0; idle != nullptr && label < kHostLabelCount; ++label) {
    std::vector<DurationNs> by_step;
    by_step.reserve(idle->blame_by_step_ns.size());
    for (const IdleByCause& causes : idle->blame_by_step_ns) by_step.push_back(causes[label]);
    const DurationNs excess = excess_over_others(by_step, step);
    if (excess <= 0) continue;
    OutlierCause cause = cause_of_label(input.trace, static_cast<HostLabel>(label));
    const auto same =
        std::find_if(parts.begin(), parts.end(), [&](const OutlierCause& part) { return part.what == cause.what; });
    if (same == parts.end()) {
      parts.push_back(std::move(cause));
      parts.back().excess_ns = excess;
    } else {
      same->excess_ns += excess;
    }
  }
  const DeviceBusy* busy = input.facts.main_busy();
  const DurationNs busy_excess = busy == nullptr ? 0 : excess_over_others(busy->busy_by_step_ns, step);
  if (busy_excess > 0) {
    parts.push_back(make_cause("the GPU itself works longer, as for a larger batch", "",
                               {"Batches of one size, or buckets of similar length"}));
    parts.back().excess_ns = busy_excess;
    parts.back().is_busy = true;
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const OutlierCause& a, const OutlierCause& b) { return a.excess_ns > b.excess_ns; });
  return parts;
}

OutlierCause find_outlier_cause(const RuleInput& input, std::size_t step, DurationNs excess_ns) {
  const Step& whole = input.facts.steps.steps[step];
  if (auto event = event_over_all(input, step, excess_ns)) return *event;
  OutlierCause cause = largest_part(input, step, excess_ns);
  const DeviceIdle* idle = input.facts.main_idle();
  if (idle == nullptr) return cause;
  if (cause.at) return cause;
  for (const Gap& gap : idle->largest) {
    if (gap.at.start_ns < whole.gpu.start_ns || gap.at.start_ns >= whole.gpu.end_ns) continue;
    cause.at = gap.at;
    break;
  }
  return cause;
}

}  // namespace stepscope
