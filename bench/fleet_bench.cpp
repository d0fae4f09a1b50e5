// What a rank's reduction costs, and how the replay of all ranks together grows with them.
#include <benchmark/benchmark.h>

#include "analyze/collectives.h"
#include "fleet/fleet_picture.h"
#include "fleet/reduced_replay.h"
#include "fleet/replay_run.h"
#include "import/importers.h"

namespace stepscope {
namespace {

void reduce_rank(benchmark::State& state) {
  auto read = read_traces(STEPSCOPE_TESTS_DIR "/data/h200/ddp_rank0.pt.trace.json.gz");
  const Trace trace = read ? std::move(read->front()) : Trace();
  const Facts facts = compute_facts(trace, {});
  std::vector<GpuEventId> collectives;
  for (const CollectiveRun& run :
       find_collectives(trace, facts.timeline, facts.classes, facts.steps, facts.busy[facts.main_device].device)) {
    collectives.push_back(run.event);
  }
  SummaryReplay replay;
  for (auto _ : state) {
    replay = reduce_replay(trace, facts, collectives, facts.steps.steps.size());
    benchmark::DoNotOptimize(replay.points.data());
  }
  state.counters["points"] = static_cast<double>(replay.points.size());
  state.counters["edges"] = static_cast<double>(replay.edges.size());
  state.counters["bytes"] = static_cast<double>(estimate_replay_bytes(replay));
}
BENCHMARK(reduce_rank)->Unit(benchmark::kMillisecond);

RunSummary fleet_of(std::int64_t ranks) {
  MadeDdp made;
  made.rank_count = static_cast<std::uint32_t>(ranks);
  made.bucket_count = 100;
  RunSummary run = make_ddp(made);
  for (SummaryReplayEdge& edge : run.ranks[static_cast<std::size_t>(ranks / 2)].replay.edges) {
    edge.recorded_ns += edge.recorded_ns / 2;
    edge.unprofiled_ns += edge.unprofiled_ns / 2;
    edge.uncontended_ns += edge.uncontended_ns / 2;
  }
  settle(run, match_by_name(run), made.transfer_ns);
  // Compute beside waits was slower, so that each what-if is evaluated four times.
  for (RankSummary& rank : run.ranks) {
    for (SummaryReplayEdge& edge : rank.replay.edges) edge.uncontended_ns -= edge.uncontended_ns / 10;
  }
  return run;
}

void replay_ranks(benchmark::State& state) {
  const RunSummary run = fleet_of(state.range(0));
  const FleetReplayInput input{run, {}, match_by_name(run), {}};
  for (auto _ : state) {
    const FleetReplay replay = replay_fleet(input);
    if (replay.refused) state.SkipWithError(replay.refused->c_str());
  }
  state.counters["bytes_a_rank"] = static_cast<double>(estimate_replay_bytes(run.ranks.front().replay));
  state.counters["seconds_a_rank"] = benchmark::Counter(
      static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(replay_ranks)->Arg(8)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stepscope
