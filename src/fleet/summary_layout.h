// What a rank's summary consists of in its file, said once for both directions: an Io writes what it is shown, or reads
// into it.
//
// Lists are stored column by column, numbers as differences from the row before or from a number near them, so that
// varints take one or two bytes and zstd finds what repeats. Words of enums are stored as text: a later order of an
// enum changes no file. docs/formats/summary.md draws it; whoever adds a field adds it here and there.
#pragma once

#include <array>
#include <functional>
#include <string_view>

#include "fleet/rank_summary.h"
#include "fleet/summary_limits.h"

namespace stepscope {

inline constexpr std::array<std::string_view, 3> kTensorCoreWords = {"used", "not_used", "unknown"};
inline constexpr std::array<std::string_view, 7> kReplayPointWords = {"origin", "pass",       "ready",   "arrival",
                                                                      "end",    "step_start", "step_end"};

// An Io has
//   text, flag, count (unsigned), index(number, limit), size(list, most), fixed_size(list, size);
//   beyond (number, from, least): by at least so much above `from`;
//   number, time, length (number, from): the difference from `from`; a time is within kMostTimeNs, a length within
//     kMostLengthNs;
//   maybe: an optional number, real or text; has(optional): whether there is one, made if so;
//   real, kernel_class, word(enum, words), ranks, idle.
template <class Io>
class SummaryLayout {
 public:
  // `version` of the file.
  SummaryLayout(Io& io, std::uint32_t version) : io_(io), version_(version) {}

  // `Rank` is RankSummary, const when it is written.
  template <class Rank>
  void rank(Rank& rank) {
    identity(rank);
    completeness(rank);
    steps(rank.steps);
    maybe_estimate(rank.unprofiled_step);
    io_.maybe(rank.flops_per_step);
    io_.maybe(rank.mfu_ratio);
    groups(rank.groups);
    collectives(rank);
    work(rank.work, rank.steps.size());
    operators(rank.operators);
    findings(rank.findings);
    io_.text(rank.verdict);
    replay(rank);
    if (version_ >= 2) additions(rank);
    if (version_ >= 3) own_stops(rank.own_stops);
    if (version_ >= 4) missing_steps(rank.missing_steps);
    if (version_ >= 5) io_.maybe(rank.process_start_ns);
    if (version_ >= 6) io_.flag(rank.are_steps_spread);
  }

  template <class File>
  void unreadable(File& file) {
    io_.text(file.source);
    io_.text(file.reason);
    if (version_ >= 2) io_.word(file.code, kErrorCodeWords);
  }

 private:
  template <class List, class Member>
  void texts(List& list, Member member) {
    for (auto& row : list) io_.text(row.*member);
  }
  template <class List, class Member>
  void maybes(List& list, Member member) {
    for (auto& row : list) io_.maybe(row.*member);
  }
  // Each as its difference from the row before, the first from 0; `show` shows one and what it is told from.
  template <class List, class Member, class Show>
  static void deltas(List& list, Member member, Show show) {
    std::int64_t before = 0;
    for (auto& row : list) {
      auto& number = std::invoke(member, row);
      show(number, before);
      before = number;
    }
  }
  template <class List, class Member>
  void numbers(List& list, Member member) {
    deltas(list, member, [this](auto& number, std::int64_t from) { io_.number(number, from); });
  }
  template <class List, class Member>
  void times(List& list, Member member) {
    deltas(list, member, [this](auto& time, TimeNs from) { io_.time(time, from); });
  }
  template <class List, class Member = std::identity>
  void lengths(List& list, Member member = {}) {
    deltas(list, member, [this](auto& length, DurationNs from) { io_.length(length, from); });
  }

  template <class Rank>
  void identity(Rank& rank) {
    io_.maybe(rank.rank);
    io_.maybe(rank.world_size);
    io_.flag(rank.rank_is_from_name);
    io_.text(rank.source);
    io_.text(rank.host_name);
    io_.text(rank.backend);
    io_.text(rank.device_name);
    io_.number(rank.device_number, 0);
    io_.maybe(rank.device_memory_bytes);
    io_.maybe(rank.peak_flops_per_s);
    io_.text(rank.torch_version);
    io_.flag(rank.has_clock);
    io_.flag(rank.has_shapes);
  }

  template <class Rank>
  void completeness(Rank& rank) {
    io_.count(rank.text_bytes);
    io_.count(rank.event_count);
    io_.number(rank.launch_count, 0);
    io_.number(rank.gpu_event_count, 0);
    io_.number(rank.linked_gpu_event_count, 0);
    io_.number(rank.lost_count, 0);
    io_.maybe(rank.headline_withheld);
    io_.flag(rank.is_host_only);
    io_.text(rank.step_source);
    io_.size(rank.steps_left_out, kMostStepsLeftOut);
    for (auto& number : rank.steps_left_out) io_.number(number, 0);
    io_.number(rank.steps_not_kept_count, 0);
    io_.number(rank.collectives_not_kept_count, 0);
  }

  template <class Steps>
  void steps(Steps& steps) {
    io_.size(steps, kMostSummarySteps);
    numbers(steps, &SummaryStep::number);
    times(steps, &SummaryStep::start_ns);
    lengths(steps, &SummaryStep::duration_ns);
    for (auto& step : steps) io_.length(step.host_span_ns, step.duration_ns);
    for (auto& step : steps) io_.length(step.gpu_busy_ns, step.duration_ns);
    lengths(steps, &SummaryStep::exposed_communication_ns);
    maybes(steps, &SummaryStep::allocated_peak_bytes);
    maybes(steps, &SummaryStep::reserved_peak_bytes);
    io_.idle(steps);
  }

  template <class MaybeEstimate>
  void maybe_estimate(MaybeEstimate& maybe) {
    if (!io_.has(maybe)) return;
    io_.length(maybe->low_ns, 0);
    io_.length(maybe->mid_ns, maybe->low_ns);
    io_.length(maybe->high_ns, maybe->mid_ns);
  }

  template <class Groups>
  void groups(Groups& groups) {
    io_.size(groups, kMostSummaryGroups);
    texts(groups, &SummaryGroup::name);
    texts(groups, &SummaryGroup::description);
    maybes(groups, &SummaryGroup::size);
    for (auto& group : groups) io_.ranks(group.ranks);
  }

  template <class Rank>
  void collectives(Rank& rank) {
    io_.size(rank.collective_names, kMostCollectiveNames);
    for (auto& name : rank.collective_names) io_.text(name);
    auto& all = rank.collectives;
    io_.size(all, kMostSummaryCollectives);
    for (auto& each : all) io_.index(each.group, rank.groups.size());
    for (auto& each : all) io_.index(each.name, rank.collective_names.size());
    for (auto& each : all) io_.index(each.step, rank.steps.size());
    for (auto& each : all) io_.index(each.sequence, kMostSequence);
    times(all, &SummaryCollective::start_ns);
    for (auto& each : all) io_.time(each.end_ns, each.start_ns);
    maybes(all, &SummaryCollective::bytes);
    maybes(all, &SummaryCollective::bus_bytes);
    for (auto& each : all) io_.length(each.exposed_ns, 0);
  }

  template <class Work>
  void work(Work& work, std::size_t step_count) {
    io_.size(work, kMostWorkRows + kKernelClassCount);
    texts(work, &SummaryWork::operator_name);
    texts(work, &SummaryWork::shapes);
    texts(work, &SummaryWork::kernel);
    texts(work, &SummaryWork::place);
    for (auto& row : work) io_.kernel_class(row.kernel_class);
    for (auto& row : work) io_.word(row.tensor_cores, kTensorCoreWords);
    for (auto& row : work) io_.number(row.count, 0);
    for (auto& row : work) io_.length(row.gpu_sum_ns, 0);
    for (auto& row : work) {
      io_.fixed_size(row.busy_by_step_ns, step_count);
      lengths(row.busy_by_step_ns);
    }
  }

  template <class Operators>
  void operators(Operators& operators) {
    io_.size(operators, kMostOperatorRows + 1);
    texts(operators, &SummaryOperator::name);
    for (auto& row : operators) io_.number(row.count, 0);
    for (auto& row : operators) io_.length(row.self_cpu_ns, 0);
  }

  template <class Findings>
  void findings(Findings& findings) {
    io_.size(findings, kMostSummaryFindings);
    texts(findings, &SummaryFinding::id);
    texts(findings, &SummaryFinding::severity);
    for (auto& finding : findings) maybe_estimate(finding.saving);
    maybes(findings, &SummaryFinding::saving_ratio);
    texts(findings, &SummaryFinding::title);
  }

  template <class Rank>
  void replay(Rank& rank) {
    auto& replay = rank.replay;
    io_.maybe(replay.refused);
    io_.index(replay.step_count, rank.steps.size() + 1);
    io_.real(replay.cost_uncertainty_ratio);
    io_.size(replay.points, kMostReplayPoints);
    for (auto& point : replay.points) io_.word(point.kind, kReplayPointWords);
    for (auto& point : replay.points) io_.index(point.of, limit_of(point, rank));
    times(replay.points, &SummaryReplayPoint::recorded_ns);
    io_.size(replay.edges, kMostReplayEdges);
    std::uint32_t to = 0;
    for (auto& edge : replay.edges) {
      io_.rise(edge.to, to, replay.points.size());
      to = edge.to;
    }
    for (auto& edge : replay.edges) io_.fall(edge.from, edge.to);
    for (auto& edge : replay.edges) io_.length(edge.recorded_ns, 0);
    for (auto& edge : replay.edges) io_.length(edge.unprofiled_ns, edge.recorded_ns);
    for (auto& edge : replay.edges) io_.length(edge.uncontended_ns, edge.unprofiled_ns);
  }

  // What version 2 added: behind everything, so that what version 1 wrote is its beginning.
  template <class Rank>
  void additions(Rank& rank) {
    io_.maybe(rank.process_id);
    io_.maybe(rank.first_correlation);
    io_.maybe(rank.last_correlation);
    io_.text(rank.step_detail);
    if (io_.has(rank.options)) {
      io_.flag(rank.options->memory);
      io_.flag(rank.options->stacks);
      io_.flag(rank.options->flops);
      io_.flag(rank.options->modules);
    }
    for (auto& finding : rank.findings) {
      text_list(finding.evidence);
      text_list(finding.advice);
      io_.flag(finding.saving_as_recorded);
    }
  }

  // What version 3 added.
  template <class Stops>
  void own_stops(Stops& stops) {
    io_.size(stops, kMostOwnStops);
    times(stops, &SummaryStop::start_ns);
    lengths(stops, &SummaryStop::length_ns);
  }

  // What version 4 added: ranges that rise and have room between them.
  template <class Ranges>
  void missing_steps(Ranges& ranges) {
    io_.size(ranges, kMostMissingSteps);
    std::int64_t before = 0;
    for (auto& range : ranges) {
      if (&range == &ranges.front()) {
        io_.number(range.first, 0);
      } else {
        io_.beyond(range.first, before, 1);
      }
      io_.beyond(range.last, range.first, 0);
      before = range.last;
    }
  }

  template <class Texts>
  void text_list(Texts& texts) {
    io_.size(texts, kMostFindingTexts);
    for (auto& text : texts) io_.text(text);
  }

  template <class Rank>
  static std::size_t limit_of(const SummaryReplayPoint& point, const Rank& rank) {
    switch (point.kind) {
      case SummaryReplayPoint::Kind::kReady:
      case SummaryReplayPoint::Kind::kArrival:
      case SummaryReplayPoint::Kind::kEnd:
        return rank.collectives.size();
      case SummaryReplayPoint::Kind::kStepStart:
      case SummaryReplayPoint::Kind::kStepEnd:
        return rank.steps.size();
      default:
        return rank.steps.size() + 1;
    }
  }

  static constexpr std::size_t kMostSequence = std::size_t{1} << 31;
  Io& io_;
  std::uint32_t version_;
};

}  // namespace stepscope
