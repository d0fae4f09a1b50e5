// One function a variable. The order in LD_PRELOAD: the user's libraries first, since theirs may have to be.
#include "cli/run/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>

namespace stepscope {
namespace {

bool is_file(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool contains_word(std::string_view list, std::string_view word, std::string_view separators) {
  while (!list.empty()) {
    const std::size_t end = list.find_first_of(separators);
    if (list.substr(0, end) == word) return true;
    list = end == std::string_view::npos ? std::string_view{} : list.substr(end + 1);
  }
  return false;
}

std::string value_of(const Lookup& lookup, const char* name) {
  const char* const value = lookup(name);
  return value == nullptr ? "" : value;
}

void plan_injection(EnvironmentPlan& plan, const Lookup& lookup, const char* name, const std::string& library,
                    const char* lost) {
  const std::string taken = value_of(lookup, name);
  if (taken.empty() || taken == library) {
    plan.variables.emplace_back(name, library);
  } else {
    plan.remarks.push_back(
        fmt::format("{} is set already, to {}: another tool is left in its place, and {}", name, taken, lost));
  }
}

void plan_preload(EnvironmentPlan& plan, const Lookup& lookup, const std::string& library) {
  if (library.find_first_of(": ") != std::string::npos) {
    plan.remarks.push_back(library + " cannot be preloaded, since LD_PRELOAD has no way to write ' ' or ':' in a path");
    return;
  }
  const std::string before = value_of(lookup, "LD_PRELOAD");
  if (contains_word(before, library, ": ")) return;
  plan.variables.emplace_back("LD_PRELOAD", before.empty() ? library : before + ":" + library);
}

void plan_python(EnvironmentPlan& plan, const Lookup& lookup, const std::string& folder) {
  if (folder.empty()) {
    plan.remarks.emplace_back("the import hook is not installed: PyTorch is seen only once the program uses CUDA");
    return;
  }
  const std::string before = value_of(lookup, "PYTHONPATH");
  if (before == folder || before.starts_with(folder + ":")) return;
  // First: Python takes the first sitecustomize that it finds, and ours runs the next one.
  plan.variables.emplace_back("PYTHONPATH", before.empty() ? folder : folder + ":" + before);
}

}  // namespace

std::optional<AgentFiles> find_agent(const std::string& program_path) {
  const std::string folder = folder_of(program_path);
  for (const std::string& base : {folder + "/lib/stepscope", folder_of(folder) + "/lib/stepscope"}) {
    const std::string library = base + "/libstepscope_agent.so";
    if (!is_file(library)) continue;
    const std::string python = base + "/python";
    return AgentFiles{library, is_file(python + "/sitecustomize.py") ? python : ""};
  }
  return std::nullopt;
}

EnvironmentPlan plan_environment(const AgentFiles& files, const AgentOptions& options, const Lookup& lookup) {
  EnvironmentPlan plan;
  if (options.gpu) {
    plan_injection(plan, lookup, "CUDA_INJECTION64_PATH", files.library, "kernels and copies are not recorded");
  }
  plan_injection(plan, lookup, "NVTX_INJECTION64_PATH", files.library, "NVTX ranges are not recorded");
  plan_preload(plan, lookup, files.library);
  plan_python(plan, lookup, files.python);
  plan.variables.emplace_back(kAgentOptionsVariable, format_agent_options(options));
  return plan;
}

std::vector<std::string> apply_plan(const EnvironmentPlan& plan, const char* const* environment) {
  std::vector<std::string> result;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    bool is_replaced = false;
    for (const auto& variable : plan.variables) is_replaced = is_replaced || variable.first == name;
    if (!is_replaced) result.emplace_back(entry);
  }
  for (const auto& [name, value] : plan.variables) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::string quote_for_shell(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace stepscope
