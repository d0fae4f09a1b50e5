// Random summaries for tests of files and merging: any numbers, not a run that could be.
#pragma once

#include <random>
#include <string>

#include "fleet/rank_summary.h"

namespace stepscope {

class SummaryMaker {
 public:
  explicit SummaryMaker(std::uint64_t seed) : random_(seed) {}

  std::int64_t number(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  bool chance() { return number(0, 1) == 1; }
  std::string text(std::size_t most_bytes = 40) {
    std::string made(static_cast<std::size_t>(number(0, static_cast<std::int64_t>(most_bytes))), ' ');
    for (char& c : made) c = static_cast<char>(number('!', '~'));
    return made;
  }

  RankSummary rank() {
    RankSummary made;
    if (chance()) made.rank = number(0, 5);
    if (chance()) made.world_size = number(1, 1 << 14);
    made.rank_is_from_name = chance();
    for (std::string* field : {&made.source, &made.host_name, &made.backend, &made.device_name, &made.torch_version,
                               &made.step_source, &made.step_detail, &made.verdict}) {
      *field = text();
    }
    made.device_number = number(-1, 7);
    if (chance()) made.device_memory_bytes = number(0, std::int64_t{1} << 40);
    if (chance()) made.peak_flops_per_s = 989e12;
    made.has_clock = chance();
    made.has_shapes = chance();
    if (chance()) made.options = SummaryOptions{chance(), chance(), chance(), chance()};
    if (chance()) made.process_id = number(0, 1 << 22);
    if (chance()) made.first_correlation = number(1, 1 << 20);
    if (chance()) made.last_correlation = number(1 << 20, std::int64_t{1} << 32);
    if (chance()) made.process_start_ns = number(0, std::int64_t{1} << 60);
    made.are_steps_spread = chance();
    made.text_bytes = random_();
    made.event_count = random_();
    for (std::int64_t* count : {&made.launch_count, &made.gpu_event_count, &made.linked_gpu_event_count,
                                &made.lost_count, &made.steps_not_kept_count, &made.collectives_not_kept_count}) {
      *count = number(0, 1 << 20);
    }
    if (chance()) made.headline_withheld = text();
    made.is_host_only = chance();
    for (std::int64_t i = number(0, 3); i > 0; --i) made.steps_left_out.push_back(number(-5, 100));
    std::int64_t missing = number(-5, 100);
    for (std::int64_t i = number(0, 3); i > 0; --i) {
      const std::int64_t first = missing;
      made.missing_steps.push_back({first, missing += number(0, 1 << 20)});
      missing += number(1, 9);
    }
    add_steps(made);
    add_collectives(made);
    add_work(made);
    for (std::int64_t i = number(0, 4); i > 0; --i) {
      made.findings.push_back({text(), text(), estimate(), chance() ? std::optional(0.25) : std::nullopt, text()});
      for (std::int64_t k = number(0, 3); k > 0; --k) made.findings.back().evidence.push_back(text());
      for (std::int64_t k = number(0, 3); k > 0; --k) made.findings.back().advice.push_back(text());
      made.findings.back().saving_as_recorded = chance();
    }
    made.unprofiled_step = estimate();
    if (chance()) made.flops_per_step = 15.358e12;
    if (chance()) made.mfu_ratio = 0.357;
    add_replay(made);
    return made;
  }

  RunSummary run(std::size_t most_ranks) {
    RunSummary made;
    for (std::int64_t i = number(0, static_cast<std::int64_t>(most_ranks)); i > 0; --i) made.ranks.push_back(rank());
    for (std::int64_t i = number(0, 2); i > 0; --i) {
      made.unreadable.push_back({text(3), text(3), static_cast<ErrorCode>(number(0, 7))});
    }
    return made;
  }

 private:
  std::optional<Estimate> estimate() {
    if (chance()) return std::nullopt;
    return Estimate{number(-1000, 1000), number(0, 1 << 30), number(0, 1 << 30)};
  }
  void add_steps(RankSummary& made) {
    TimeNs at = number(-1000, std::int64_t{1} << 60);
    for (std::int64_t i = number(0, 6); i > 0; --i) {
      SummaryStep step;
      step.number = number(-3, 1 << 20);
      step.start_ns = at;
      step.duration_ns = number(0, 1 << 26);
      step.host_span_ns = number(0, 1 << 26);
      step.gpu_busy_ns = number(0, 1 << 26);
      step.exposed_communication_ns = number(0, 1 << 20);
      for (DurationNs& idle : step.idle_ns) idle = chance() ? number(0, 1 << 20) : 0;
      if (chance()) step.allocated_peak_bytes = number(0, std::int64_t{1} << 37);
      if (chance()) step.reserved_peak_bytes = number(0, std::int64_t{1} << 37);
      made.steps.push_back(step);
      if (number(0, 3) == 0) made.own_stops.push_back({at + number(0, 1 << 20), number(0, 1 << 26)});
      at += step.duration_ns;
    }
  }
  void add_collectives(RankSummary& made) {
    for (std::int64_t i = number(1, 3); i > 0; --i) {
      made.groups.push_back({text(), text(), chance() ? std::optional(number(1, 9)) : std::nullopt, {}});
      std::int64_t rank = 0;
      for (std::int64_t k = number(0, 9); k > 0; --k) made.groups.back().ranks.push_back(rank += number(1, 3));
      made.collective_names.push_back(text());
    }
    const auto last = [](const auto& list) { return static_cast<std::int64_t>(list.size()) - 1; };
    if (made.steps.empty()) return;
    for (std::int64_t i = number(0, 20); i > 0; --i) {
      SummaryCollective each;
      each.group = static_cast<std::uint32_t>(number(0, last(made.groups)));
      each.name = static_cast<std::uint32_t>(number(0, last(made.collective_names)));
      each.step = static_cast<std::uint32_t>(number(0, last(made.steps)));
      each.sequence = static_cast<std::uint32_t>(number(0, 1 << 20));
      each.start_ns = number(0, std::int64_t{1} << 61);
      each.end_ns = each.start_ns + number(0, 1 << 24);
      if (chance()) each.bytes = number(0, std::int64_t{1} << 40);
      if (chance()) each.bus_bytes = number(0, std::int64_t{1} << 40);
      each.exposed_ns = number(0, 1 << 24);
      made.collectives.push_back(each);
    }
  }
  void add_work(RankSummary& made) {
    for (std::int64_t i = number(0, 8); i > 0; --i) {
      SummaryWork row;
      row.operator_name = text();
      row.shapes = text();
      row.kernel = "kernel " + text();
      row.place = text();
      row.kernel_class = static_cast<KernelClass>(number(0, kKernelClassCount - 1));
      row.tensor_cores = static_cast<TensorCores>(number(0, 2));
      row.count = number(0, 1 << 20);
      row.gpu_sum_ns = number(0, 1 << 30);
      for (std::size_t k = 0; k < made.steps.size(); ++k) row.busy_by_step_ns.push_back(number(0, 1 << 26));
      made.work.push_back(row);
      made.operators.push_back({"aten::" + text(), number(0, 1 << 20), number(0, 1 << 30)});
    }
  }
  void add_replay(RankSummary& made) {
    if (chance() || made.collectives.empty()) {
      made.replay.refused = text();
      return;
    }
    using Kind = SummaryReplayPoint::Kind;
    made.replay.points = {{Kind::kOrigin, 0, number(0, 1 << 30)},
                          {Kind::kStepStart, 0, number(0, 1 << 30)},
                          {Kind::kReady, 0, number(0, 1 << 30)},
                          {Kind::kArrival, 0, number(0, 1 << 30)},
                          {Kind::kEnd, 0, number(0, 1 << 30)},
                          {Kind::kPass, static_cast<std::uint32_t>(made.steps.size()), number(0, 1 << 30)},
                          {Kind::kStepEnd, 0, number(0, 1 << 30)}};
    for (std::uint32_t to = 1; to < made.replay.points.size(); ++to) {
      const auto from = static_cast<std::uint32_t>(number(0, to - 1));
      made.replay.edges.push_back({from, to, number(-100, 1 << 30), number(0, 1 << 30), number(0, 1 << 30)});
    }
    made.replay.step_count = static_cast<std::uint32_t>(number(0, static_cast<std::int64_t>(made.steps.size())));
    made.replay.cost_uncertainty_ratio = 0.125;
  }

  std::mt19937_64 random_;
};

}  // namespace stepscope
