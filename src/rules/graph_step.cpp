// graph-step: the step is replayed as a CUDA graph.
//
// Information: most GPU events come from graph launches, so operators cannot be named for them and host costs are
// small. Threshold: half of the GPU events (99 % and more on the recordings with a graph, h200/graph and the JAX one, 0
// on the others; a part-compiled model lies between, and half is where the majority is). No false alarm is known.
#include "rules/costs.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
std::optional<Finding> find_graph_step(const RuleInput& input) {
  const Launches& launches = input.facts.launches;
  if (!runs_as_graph(input)) return std::nullopt;
  const double share = graph_event_ratio(input);
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
