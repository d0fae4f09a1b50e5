// One more question to the replay of the main device, after the what-ifs: the graph is built again instead of being
// kept, since it is large and such questions are asked of few recordings.
#pragma once

#include <optional>
#include <type_traits>

#include "analyze/facts.h"
#include "analyze/replay/build_graph.h"

namespace stepscope {

// `ask` gets ReplayInput, ReplayWindow and ReplayGraph, which live as long as the call. Missing where the re-simulation
// is refused.
template <class Ask>
auto ask_again(const Trace& trace, const Facts& facts, Ask ask)
    -> std::optional<std::invoke_result_t<Ask, const ReplayInput&, const ReplayWindow&, const ReplayGraph&>> {
  if (facts.what_ifs.results.empty() || facts.busy.empty()) return std::nullopt;
  WhatIfOptions options;
  options.device = facts.busy[facts.main_device].device;
  const ReplayInput input{trace,         facts.timeline, facts.launches, facts.steps,
                          facts.classes, facts.path,     facts.waits,    options};
  const ReplayWindow window = choose_replay_window(input);
  if (window.refused) return std::nullopt;
  const BuiltGraph built = build_replay_graph(input, window);
  if (built.refused) return std::nullopt;
  return ask(input, window, built.graph);
}

}  // namespace stepscope
