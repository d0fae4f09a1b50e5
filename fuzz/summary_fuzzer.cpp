// Any bytes as a summary: no crash, no hang, no blown memory; what was read is written and read again, and is the same.
// What a payload holds is judged beside itself and a sound rank, too, as `report` does it.
//
// A fuzzer does not guess checksums, so only inputs that begin as a file does are taken as files. Of the others half
// are payloads as they are, and half are changes to a sound payload: pairs of a place (2 bytes) and a byte.
#include <cstdlib>
#include <string>

#include "fleet/fit_summary.h"
#include "fleet/fleet_findings.h"
#include "fleet/summary_file.h"
#include "fleet/summary_limits.h"
#include "fleet/summary_payload.h"
#include "fleet/summary_test_support.h"

namespace {

using namespace stepscope;

void check(bool is_sound) {
  if (!is_sound) std::abort();
}

// What every answer relies on.
void check_rank(const RankSummary& rank) {
  for (const SummaryCollective& each : rank.collectives) {
    check(each.group < rank.groups.size() && each.name < rank.collective_names.size() && each.step < rank.steps.size());
    check(each.end_ns <= kMostTimeNs && each.exposed_ns <= kMostLengthNs);
  }
  for (const SummaryWork& row : rank.work) check(row.busy_by_step_ns.size() == rank.steps.size());
  for (const SummaryReplayEdge& edge : rank.replay.edges) {
    check(edge.from < edge.to && edge.to < rank.replay.points.size());
  }
  DurationNs sum = 0;  // must not overflow; the sanitizer would say so
  for (const SummaryStep& step : rank.steps) sum += step.duration_ns;
  check(sum <= kMostLengthNs * static_cast<DurationNs>(kMostSummarySteps));
}

// Any answer will do, but one that is in order.
void check_answer(const RankSummary& rank) {
  static const RankSummary sound = SummaryMaker(7).rank();
  RunSummary run;
  run.ranks = {rank, rank, sound};
  for (std::size_t i = 0; i < run.ranks.size(); ++i) run.ranks[i].rank = static_cast<std::int64_t>(i);
  const FleetAnswer answer = judge_fleet(run);
  check(answer.facts.ranks.size() <= run.ranks.size());
  for (const FleetWhatIf& what_if : answer.replay.what_ifs) {
    if (what_if.refused) continue;
    check(what_if.saving.low_ns <= what_if.saving.mid_ns && what_if.saving.mid_ns <= what_if.saving.high_ns);
    check(what_if.saving.high_ns <= answer.replay.what_ifs.front().step_unprofiled.high_ns);
  }
}

void check_file(std::string_view bytes) {
  const auto run = read_summary(bytes, "fuzz");
  if (!run) return;
  for (const RankSummary& rank : run->ranks) check_rank(rank);
  const std::string written = write_summary(*run);
  const auto again = read_summary(written, "fuzz");
  check(again.has_value());
  check(write_summary(merge_summaries({*again, *run})) == written);
}

void check_payload(std::string_view payload, std::uint32_t version) {
  DecodeBudget budget{std::uint64_t{256} << 20};
  auto rank = decode_rank(payload, budget, version);
  if (!rank) return;
  check_rank(*rank);
  check_answer(*rank);
  const std::string fitted = fit_and_encode(*rank);
  DecodeBudget more{std::uint64_t{256} << 20};
  auto again = decode_rank(fitted, more);
  check(again.has_value());
  check(fit_and_encode(*again) == fitted);
}

std::string changed_payload(std::string_view changes) {
  static const std::string sound = encode_rank(SummaryMaker(7).rank());
  std::string payload = sound;
  for (; changes.size() >= 3; changes.remove_prefix(3)) {
    const std::size_t at = static_cast<unsigned char>(changes[0]) + 256U * static_cast<unsigned char>(changes[1]);
    payload[at % payload.size()] = changes[2];
  }
  return payload;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (is_summary(input)) {
    check_file(input);
  } else if (!input.empty() && input[0] % 2 == 0) {
    for (std::uint32_t version = 1; version <= kSummaryVersion; ++version) check_payload(input.substr(1), version);
  } else if (!input.empty()) {
    // The sound one without its last bytes may be one of version 1.
    std::string payload = changed_payload(input.substr(1));
    check_payload(payload, kSummaryVersion);
    payload.resize(payload.size() - static_cast<unsigned char>(input[0]) % payload.size());
    check_payload(payload, 1);
  }
  return 0;
}
