// Timers. What is timed is a callable `run(count)` of Python that loops itself, so that a block costs one call from
// here and its runs none. Times are seconds, as torch.utils.benchmark gives them.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "python/bindings.h"
#include "python/errors.h"
#include "stepscope/compare.h"
#include "stepscope/measurement.h"
#include "stepscope/step_timer.h"
#include "stepscope/timer.h"

namespace nb = nanobind;

namespace stepscope::python {
namespace {

constexpr double kNsPerSecond = 1e9;

template <class T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(result).value();
}

double seconds(double ns) { return ns / kNsPerSecond; }
std::optional<double> seconds(std::optional<std::int64_t> ns) {
  return ns ? std::optional(seconds(static_cast<double>(*ns))) : std::nullopt;
}
template <class T>
std::vector<double> seconds(const std::vector<T>& ns) {
  std::vector<double> all;
  all.reserve(ns.size());
  for (const T each : ns) all.push_back(seconds(static_cast<double>(each)));
  return all;
}

// (number, seconds) of each block; None: no callback.
BlockCallback block_callback(const std::optional<nb::callable>& callback) {
  if (!callback) return {};
  return [call = *callback](std::int64_t number, double block_ns) { call(number, seconds(block_ns)); };
}

// A function of the user's that tells seconds, as torch's `timer`; waiting for a device is that function's affair.
class CallableClock final : public Clock {
 public:
  explicit CallableClock(nb::callable tell) : tell_(std::move(tell)) {}
  [[nodiscard]] std::string name() const override { return "timer"; }
  [[nodiscard]] bool is_device() const override { return false; }
  Status synchronize() override { return Done{}; }
  [[nodiscard]] std::int64_t now_ns() override { return std::llround(nb::cast<double>(tell_()) * kNsPerSecond); }
  Result<ClockEvent> record_event() override { return ClockEvent{}; }
  Status wait_event(ClockEvent /*event*/) override { return Done{}; }
  Result<double> elapsed_ns(ClockEvent /*begin*/, ClockEvent /*end*/) override {
    return Error{ErrorCode::kUnsupported, "a timer of the program's own has no events", {}};
  }
  void release_event(ClockEvent /*event*/) override {}

 private:
  nb::callable tell_;
};

struct TextsOfTask {
  std::string statement, setup, label, sub_label, description, env;
};

Timer make_timer(nb::callable run, int num_threads, const std::optional<nb::callable>& set_num_threads,
                 const std::optional<nb::callable>& clock, TextsOfTask texts) {
  TimerOptions options;
  options.label = std::move(texts.label);
  options.sub_label = std::move(texts.sub_label);
  options.description = std::move(texts.description);
  options.env = std::move(texts.env);
  options.statement = std::move(texts.statement);
  options.setup_text = std::move(texts.setup);
  options.num_threads = num_threads;
  if (set_num_threads) {
    options.set_num_threads = [call = *set_num_threads](int count) { return nb::cast<int>(call(count)); };
  }
  if (clock) options.default_clock = [tell = *clock] { return std::make_unique<CallableClock>(tell); };
  return Timer(BatchCallable{[run = std::move(run)](std::int64_t count) { run(count); }}, std::move(options));
}

// What pickle keeps of a measurement: texts of the task, its threads, blocks in ns, runs a block, notes.
using MeasurementState =
    std::tuple<std::vector<std::string>, int, std::vector<double>, std::int64_t, std::vector<std::string>>;

MeasurementState state_of(const Measurement& self) {
  const TaskSpec& task = self.task();
  return {{task.statement, task.setup, task.label, task.sub_label, task.description, task.env},
          task.num_threads,
          self.raw_times_ns(),
          self.number_per_run(),
          self.notes()};
}

void set_state(Measurement& self, const MeasurementState& state) {
  const auto& [texts, num_threads, raw_times_ns, number_per_run, notes] = state;
  if (texts.size() != 6) throw nb::value_error("no state of a Measurement");
  TaskSpec task{texts[0], texts[1], texts[2], texts[3], texts[4], texts[5], num_threads};
  new (&self) Measurement(value_or_raise(Measurement::make(std::move(task), raw_times_ns, number_per_run, notes)));
}

// torch has None where nothing was given.
std::optional<std::string> given(const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); }

void bind_measurement(nb::module_& m) {
  nb::class_<Measurement>(m, "Measurement", "Times of one task, in seconds of one run.")
      .def_prop_ro("times", [](const Measurement& self) { return seconds(self.times_ns()); })
      .def_prop_ro("raw_times", [](const Measurement& self) { return seconds(self.raw_times_ns()); })
      .def_prop_ro("number_per_run", &Measurement::number_per_run)
      .def_prop_ro("median", [](const Measurement& self) { return seconds(self.median_ns()); })
      .def_prop_ro("mean", [](const Measurement& self) { return seconds(self.mean_ns()); })
      .def_prop_ro("iqr", [](const Measurement& self) { return seconds(self.iqr_ns()); })
      .def(
          "percentile", [](const Measurement& self, double percent) { return seconds(self.percentile_ns(percent)); },
          nb::arg("percent"))
      .def_prop_ro("significant_figures", &Measurement::significant_figures)
      .def_prop_ro("has_warnings", &Measurement::has_warnings)
      .def_prop_ro("warnings", &Measurement::warnings)
      .def_prop_ro("title", [](const Measurement& self) { return self.task().title(); })
      .def_prop_ro("stmt", [](const Measurement& self) { return self.task().statement; })
      .def_prop_ro("setup", [](const Measurement& self) { return self.task().setup; })
      .def_prop_ro("label", [](const Measurement& self) { return given(self.task().label); })
      .def_prop_ro("sub_label", [](const Measurement& self) { return given(self.task().sub_label); })
      .def_prop_ro("description", [](const Measurement& self) { return given(self.task().description); })
      .def_prop_ro("env", [](const Measurement& self) { return given(self.task().env); })
      .def_prop_ro("as_row_name", [](const Measurement& self) { return self.task().row_name(); })
      .def_prop_ro("num_threads", [](const Measurement& self) { return self.task().num_threads; })
      .def("meets_confidence", &Measurement::meets_confidence, nb::arg("threshold") = 0.1)
      .def_static("merge", merge_measurements, nb::arg("measurements"))
      .def("__getstate__", [](const Measurement& self) { return state_of(self); })
      .def("__setstate__", [](Measurement& self, const MeasurementState& state) { set_state(self, state); })
      .def("__str__", &Measurement::to_string)
      .def("__repr__", &Measurement::to_string);
  m.def(
      "compare",
      [](std::vector<Measurement> measurements, std::size_t width, bool trim, bool colorize, bool highlight_warnings) {
        Compare table(std::move(measurements));
        table.trim_significant_figures(trim);
        table.highlight_warnings(highlight_warnings);
        if (colorize) table.colorize();
        return table.to_string(width);
      },
      nb::arg("measurements"), nb::arg("width"), nb::arg("trim"), nb::arg("colorize"), nb::arg("highlight_warnings"));
}

void bind_timer(nb::module_& m) {
  nb::class_<Timer>(m, "Timer", "Blocks of runs, the device waited for at both ends of each.")
      .def(
          "__init__",
          [](Timer* self, nb::callable run, int num_threads, std::optional<nb::callable> set_num_threads,
             std::optional<nb::callable> clock, std::string statement, std::string setup_text, std::string label,
             std::string sub_label, std::string description, std::string env) {
            new (self) Timer(make_timer(std::move(run), num_threads, set_num_threads, clock,
                                        {std::move(statement), std::move(setup_text), std::move(label),
                                         std::move(sub_label), std::move(description), std::move(env)}));
          },
          nb::arg("run"), nb::arg("num_threads"), nb::arg("set_num_threads").none(), nb::arg("clock").none(),
          nb::arg("statement"), nb::arg("setup_text"), nb::arg("label"), nb::arg("sub_label"), nb::arg("description"),
          nb::arg("env"))
      .def(
          "timeit", [](Timer& self, std::int64_t number) { return value_or_raise(self.timeit(number)); },
          nb::arg("number"))
      .def(
          "blocked_autorange",
          [](Timer& self, double min_run_time, const std::optional<nb::callable>& callback) {
            return value_or_raise(self.blocked_autorange(min_run_time, block_callback(callback)));
          },
          nb::arg("min_run_time"), nb::arg("callback").none())
      .def(
          "adaptive_autorange",
          [](Timer& self, double threshold, double min_run_time, double max_run_time,
             const std::optional<nb::callable>& callback) {
            return value_or_raise(
                self.adaptive_autorange(threshold, min_run_time, max_run_time, block_callback(callback)));
          },
          nb::arg("threshold"), nb::arg("min_run_time"), nb::arg("max_run_time"), nb::arg("callback").none());
}

void raise_unless(Status status) {
  if (!status) raise(status.error());
}

// What pickle keeps of step times.
using StepTimesState =
    std::tuple<std::string, bool, std::vector<std::int64_t>, std::vector<std::int64_t>, std::vector<std::int64_t>,
               std::vector<std::tuple<std::int64_t, std::int64_t>>, std::int64_t, std::vector<std::string>>;

StepTimesState state_of(const StepTimes& self) {
  std::vector<std::tuple<std::int64_t, std::int64_t>> outliers;
  for (const StepOutlier& outlier : self.outliers) outliers.emplace_back(outlier.step, outlier.duration_ns);
  return {self.clock,   self.waited_for_each, self.warmup_ns,  self.steps_ns,
          self.data_ns, std::move(outliers),  self.typical_ns, self.warnings};
}

// As the timer makes them: nothing but this can have been pickled.
void check_times(const StepTimes& times) {
  const auto is_negative = [](std::int64_t ns) { return ns < 0; };
  const auto has_negative = [&](const std::vector<std::int64_t>& all) {
    return std::any_of(all.begin(), all.end(), is_negative);
  };
  const auto first = static_cast<std::int64_t>(times.warmup_ns.size());  // counted with the warm-up
  const auto count = static_cast<std::int64_t>(times.steps_ns.size());
  bool is_sound =
      count > 0 && times.typical_ns >= 0 && (times.data_ns.empty() || times.data_ns.size() == times.steps_ns.size());
  is_sound =
      is_sound && !has_negative(times.steps_ns) && !has_negative(times.warmup_ns) && !has_negative(times.data_ns);
  for (const StepOutlier& outlier : times.outliers) {
    is_sound = is_sound && outlier.step >= first && outlier.step - first < count && outlier.duration_ns >= 0;
  }
  if (!is_sound) throw nb::value_error("no state of StepTimes");
}

void set_state(StepTimes& self, const StepTimesState& state) {
  StepTimes times;
  std::vector<std::tuple<std::int64_t, std::int64_t>> outliers;
  std::tie(times.clock, times.waited_for_each, times.warmup_ns, times.steps_ns, times.data_ns, outliers,
           times.typical_ns, times.warnings) = state;
  for (const auto& [step, duration_ns] : outliers) times.outliers.push_back({step, duration_ns});
  check_times(times);
  new (&self) StepTimes(std::move(times));
}

void bind_step_timer(nb::module_& m) {
  nb::class_<StepTimes>(m, "StepTimes", "Times of steps, in seconds.")
      .def_ro("clock", &StepTimes::clock)
      .def_prop_ro("steps", [](const StepTimes& self) { return seconds(self.steps_ns); })
      .def_prop_ro("warmup", [](const StepTimes& self) { return seconds(self.warmup_ns); })
      .def_prop_ro("data", [](const StepTimes& self) { return seconds(self.data_ns); })
      .def_prop_ro("outliers",
                   [](const StepTimes& self) {
                     nb::list list;
                     for (const StepOutlier& outlier : self.outliers) {
                       list.append(nb::make_tuple(outlier.step, seconds(static_cast<double>(outlier.duration_ns))));
                     }
                     return list;
                   })
      .def_ro("warnings", &StepTimes::warnings)
      .def_prop_ro("median", [](const StepTimes& self) { return seconds(static_cast<double>(self.median_ns())); })
      .def_prop_ro("p10", [](const StepTimes& self) { return seconds(static_cast<double>(self.p10_ns())); })
      .def_prop_ro("p90", [](const StepTimes& self) { return seconds(static_cast<double>(self.p90_ns())); })
      .def_prop_ro("data_median", [](const StepTimes& self) { return seconds(self.data_median_ns()); })
      .def("__getstate__", [](const StepTimes& self) { return state_of(self); })
      .def("__setstate__", [](StepTimes& self, const StepTimesState& state) { set_state(self, state); })
      .def("__str__", [](const StepTimes& self) { return self.to_string(); })
      .def("__repr__", [](const StepTimes& self) { return self.to_string(); });
  nb::class_<StepTimer>(m, "StepTimer", "An event before and one after each step.")
      .def(
          "__init__",
          [](StepTimer* self, std::int64_t warmup, std::int64_t pending) {
            StepTimerOptions options;
            options.warmup_steps = warmup;
            options.pending_steps = pending;
            new (self) StepTimer(std::move(options));
          },
          nb::arg("warmup"), nb::arg("pending"))
      .def("begin_step", [](StepTimer& self) { raise_unless(self.begin_step()); })
      .def("end_step",
           [](StepTimer& self) {
             std::optional<Status> status;
             {
               const nb::gil_scoped_release others_run;  // it may wait for the device
               status.emplace(self.end_step());
             }
             raise_unless(std::move(*status));
           })
      .def("drop_step", &StepTimer::drop_step)
      .def(
          "time_data",
          [](StepTimer& self, const nb::callable& fetch) { return self.time_data([&] { return fetch(); }); },
          nb::arg("fetch"))
      .def("times", [](StepTimer& self) { return value_or_raise(self.times()); });
}

}  // namespace

void bind_timing(nb::module_& m) {
  bind_measurement(m);
  bind_timer(m);
  bind_step_timer(m);
}

}  // namespace stepscope::python
