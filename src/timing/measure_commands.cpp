// The order of runs, block by block.
#include "timing/measure_commands.h"

#include <algorithm>
#include <utility>

#include "stats/quantiles.h"
#include "stats/random.h"

namespace stepscope {
namespace {

class Measuring {
 public:
  Measuring(const std::vector<ProcessCommand>& commands, const MeasurePlan& plan, ProcessRunner& runner,
            const std::function<void(const MeasureProgress&)>& report)
      : commands_(commands), plan_(plan), runner_(runner), report_(report), random_(plan.seed) {
    measurement_.runs.resize(commands.size());
    progress_.all_ns = plan.min_time_ns * static_cast<std::int64_t>(commands.size());
    if (plan.run_count) progress_.all_count = *plan.run_count * static_cast<std::int64_t>(commands.size());
  }

  CommandTimes measure() {
    for (std::int64_t i = 0; i < plan_.warm_up_count; ++i) {
      for (std::size_t command = 0; command < commands_.size(); ++command) {
        if (!run(command, true)) return std::move(measurement_);
      }
    }
    // A block: an order of the commands, and the same backwards.
    while (!is_done()) {
      std::vector<std::size_t> order(commands_.size());
      for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
        std::swap(order[i], order[random_.below(static_cast<std::uint32_t>(i) + 1)]);
      }
      if (!run_in(order) || is_count_reached()) break;
      std::reverse(order.begin(), order.end());
      if (!run_in(order)) break;
    }
    return std::move(measurement_);
  }

 private:
  [[nodiscard]] std::int64_t round_count() const { return static_cast<std::int64_t>(measurement_.runs.front().size()); }
  [[nodiscard]] bool is_count_reached() const { return plan_.run_count && round_count() >= *plan_.run_count; }
  [[nodiscard]] bool is_done() const {
    if (plan_.run_count) return is_count_reached();
    return round_count() >= kLeastRuns && progress_.done_ns >= progress_.all_ns;
  }

  bool run_in(const std::vector<std::size_t>& order) {
    return std::all_of(order.begin(), order.end(), [&](std::size_t command) { return run(command, false); });
  }

  bool is_interrupted() {
    measurement_.interrupted_by = runner_.interrupted_by();
    return measurement_.interrupted_by.has_value();
  }

  // False: it ends here.
  bool run(std::size_t command, bool in_warm_up) {
    if (is_interrupted()) return false;
    progress_.command = command;
    progress_.in_warm_up = in_warm_up;
    if (report_) report_(progress_);
    Result<ProcessRun> run = runner_.run(commands_[command]);
    if (is_interrupted()) return false;
    if (!run) {
      measurement_.failure = CommandFailure{command, in_warm_up, run.error(), std::nullopt};
      return false;
    }
    if (!run->succeeded() && !plan_.ignore_failure) {
      measurement_.failure = CommandFailure{command, in_warm_up, std::nullopt, std::move(*run)};
      return false;
    }
    if (in_warm_up) return true;
    progress_.done_ns += run->wall_ns;
    measurement_.runs[command].push_back({std::move(*run), progress_.done_count++});
    return true;
  }

  const std::vector<ProcessCommand>& commands_;
  const MeasurePlan& plan_;
  ProcessRunner& runner_;
  const std::function<void(const MeasureProgress&)>& report_;
  Random random_;
  CommandTimes measurement_;
  MeasureProgress progress_;
};

}  // namespace

CommandTimes measure_commands(const std::vector<ProcessCommand>& commands, const MeasurePlan& plan,
                              ProcessRunner& runner, const std::function<void(const MeasureProgress&)>& report) {
  if (commands.empty()) return {};
  return Measuring(commands, plan, runner, report).measure();
}

std::optional<std::int64_t> measure_empty_command(ProcessRunner& runner, bool by_shell) {
  constexpr int kRuns = 20;  // 10 to 20 ms in all
  const ProcessCommand command{by_shell ? std::vector<std::string>{"sh", "-c", ":"} : std::vector<std::string>{"true"},
                               false};
  std::vector<std::int64_t> walls;
  for (int i = 0; i < kRuns; ++i) {
    if (runner.interrupted_by()) return std::nullopt;
    const Result<ProcessRun> run = runner.run(command);
    if (!run || !run->succeeded()) return std::nullopt;
    walls.push_back(run->wall_ns);
  }
  return median_ns(walls);
}

}  // namespace stepscope
