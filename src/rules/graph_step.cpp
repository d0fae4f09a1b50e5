// graph-step: the step is replayed as a CUDA graph.
//
// Information: most GPU events come from graph launches, so operators cannot be named for them and host costs are
// small. Threshold: half of the GPU events (99.9 % on the recording with a graph, 0 elsewhere; a part-compiled model
// lies between, and half is where the majority is). No false alarm is known.
#include "rules/costs.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kMajority = 0.5;

}  // namespace

std::optional<Finding> find_graph_step(const RuleInput& input) {
  const Launches& launches = input.facts.launches;
  const std::int64_t events = input.facts.ledger.gpu_event_count;
  if (events <= 0 || launches.graph_launch_count <= 0) return std::nullopt;
  const double share = static_cast<double>(launches.graph_event_count) / static_cast<double>(events);
  if (share < kMajority) return std::nullopt;
  Finding finding;
  finding.id = "graph-step";
  finding.severity = Severity::kInformation;
  finding.title = "The step runs as a CUDA graph: " + format_percent(share) + " of the GPU events come from " +
                  count_of(launches.graph_launch_count, "graph launch", "graph launches");
  finding.evidence.push_back({format_count(static_cast<double>(launches.graph_event_count) /
                                           static_cast<double>(launches.graph_launch_count)) +
                                  " GPU events a launch; which operator each came from is not recorded.",
                              std::nullopt});
  finding.advice = {"To see operators, record one eager step beside it"};
  return finding;
}

}  // namespace stepscope
