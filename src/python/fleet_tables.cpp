// Only what each rank says by itself: what ranks did to each other is in the report.
#include "python/fleet_tables.h"

#include <algorithm>

#include "python/table_maker.h"
#include "stats/quantiles.h"

namespace stepscope::python {
namespace {

template <class Get>
std::int64_t median_over_steps(const RankSummary& rank, Get get) {
  std::vector<std::int64_t> values;
  for (const SummaryStep& step : rank.steps) {
    const std::optional<std::int64_t> value = get(step);
    if (value) values.push_back(*value);
  }
  return median_ns(values).value_or(kMissing);
}

template <class Get>
std::int64_t largest_of_steps(const RankSummary& rank, Get get) {
  std::int64_t largest = kMissing;
  for (const SummaryStep& step : rank.steps) largest = std::max(largest, get(step).value_or(kMissing));
  return largest;
}

// The first finding's, which costs most.
std::string_view first_finding(const RankSummary& rank) {
  return rank.findings.empty() ? std::string_view() : std::string_view(rank.findings.front().id);
}

void add_identity(const std::vector<RankSummary>& ranks, TableMaker& table) {
  const auto or_missing = [](const std::optional<std::int64_t>& value) { return value.value_or(kMissing); };
  using Rank = RankSummary;
  table.numbers_of("rank", "null where neither the file nor its name says", ranks,
                   [&](const Rank& rank) { return or_missing(rank.rank); });
  table.numbers_of("world_size", "ranks of the run; null if not recorded", ranks,
                   [&](const Rank& rank) { return or_missing(rank.world_size); });
  table.texts_of("source", "the file", ranks, [](const Rank& rank) { return std::string_view(rank.source); });
  table.texts_of("host_name", "empty if not recorded", ranks,
                 [](const Rank& rank) { return std::string_view(rank.host_name); });
  table.texts_of("device_name", "empty if not recorded", ranks,
                 [](const Rank& rank) { return std::string_view(rank.device_name); });
  table.texts_of("torch_version", "empty if not recorded", ranks,
                 [](const Rank& rank) { return std::string_view(rank.torch_version); });
}

void add_times(const std::vector<RankSummary>& ranks, TableMaker& table) {
  using Rank = RankSummary;
  using Step = SummaryStep;
  using Value = std::optional<std::int64_t>;
  const auto median = [&](const char* name, const char* doc, auto get) {
    table.numbers_of(name, doc, ranks, [get](const Rank& rank) { return median_over_steps(rank, get); });
  };
  table.numbers_of("step_count", "complete steps", ranks,
                   [](const Rank& rank) { return static_cast<std::int64_t>(rank.steps.size()); });
  median("step_ns", "median over steps, on the GPU's clock",
         [](const Step& step) -> Value { return step.duration_ns; });
  median("gpu_busy_ns", "median over steps", [](const Step& step) -> Value { return step.gpu_busy_ns; });
  median("idle_ns", "median over steps of duration minus busy",
         [](const Step& step) -> Value { return step.duration_ns - step.gpu_busy_ns; });
  median("exposed_communication_ns", "median over steps; not under compute",
         [](const Step& step) -> Value { return step.exposed_communication_ns; });
  table.numbers_of("collective_count", "of all steps, those that did not fit included", ranks, [](const Rank& rank) {
    return static_cast<std::int64_t>(rank.collectives.size()) + rank.collectives_not_kept_count;
  });
}

}  // namespace

TablePointer ranks_table(const RunSummary& run) {
  using Rank = RankSummary;
  TableMaker table;
  add_identity(run.ranks, table);
  add_times(run.ranks, table);
  table.numbers_of("allocated_peak_bytes", "largest of the steps; null if memory was not recorded", run.ranks,
                   [](const Rank& rank) {
                     return largest_of_steps(rank, [](const SummaryStep& step) { return step.allocated_peak_bytes; });
                   });
  table.numbers_of("reserved_peak_bytes", "likewise", run.ranks, [](const Rank& rank) {
    return largest_of_steps(rank, [](const SummaryStep& step) { return step.reserved_peak_bytes; });
  });
  table.numbers_of("event_count", "", run.ranks,
                   [](const Rank& rank) { return static_cast<std::int64_t>(rank.event_count); });
  table.numbers_of("lost_count", "events that the file lost", run.ranks,
                   [](const Rank& rank) { return rank.lost_count; });
  table.texts_of("withheld", "why this rank's times cannot be trusted; empty if they can", run.ranks,
                 [](const Rank& rank) {
                   return rank.headline_withheld ? std::string_view(*rank.headline_withheld) : std::string_view();
                 });
  table.texts_of("finding", "id of the costliest of this rank alone; empty if there is none", run.ranks, first_finding);
  table.texts_of("verdict", "of this rank alone", run.ranks,
                 [](const Rank& rank) { return std::string_view(rank.verdict); });
  return table.take();
}

}  // namespace stepscope::python
