// What `stepscope run` sets for the program so that the agent gets into it, and what of it somebody else has set
// already.
//
// Only the environment is changed: no wrapper around the program's own file, no ptrace, so it runs as without us.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/agent_options.h"

namespace stepscope {

struct AgentFiles {
  std::string library;  // libstepscope_agent.so
  std::string python;   // folder of the import hook's sitecustomize.py; empty: not there
};
// Beside the running program (a build tree) or in ../lib/stepscope (installed). Missing: no agent there.
[[nodiscard]] std::optional<AgentFiles> find_agent(const std::string& program_path);

struct EnvironmentPlan {
  std::vector<std::pair<std::string, std::string>> variables;  // to be set, in the order to show them
  std::vector<std::string> remarks;                            // what is not possible, and why
};
using Lookup = std::function<const char*(const char* name)>;
// `lookup` is getenv.
[[nodiscard]] EnvironmentPlan plan_environment(const AgentFiles& files, const AgentOptions& options,
                                               const Lookup& lookup);
// This process's environment with those variables in place of its own.
[[nodiscard]] std::vector<std::string> apply_plan(const EnvironmentPlan& plan, const char* const* environment);

// A word as a shell reads it back.
[[nodiscard]] std::string quote_for_shell(const std::string& word);

}  // namespace stepscope
