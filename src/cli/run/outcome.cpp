// Capture files are named HOST_PID[_rankR].STARTNS.stepscope (agent/process_facts.cpp).
#include "cli/run/outcome.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace stepscope {
namespace {

namespace fs = std::filesystem;

bool is_private_folder(const char* path) {
  struct stat info {};
  return path != nullptr && path[0] == '/' && ::stat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == ::geteuid() && (info.st_mode & 0022) == 0;
}

std::string make_folder(const std::string& base) {
  std::string pattern = base + "/stepscope-XXXXXX";
  return ::mkdtemp(pattern.data()) != nullptr ? pattern : "";  // 0700
}

bool is_running(std::int64_t process_id) {
  return process_id > 0 && (::kill(static_cast<pid_t>(process_id), 0) == 0 || errno == EPERM);
}

// "host_12_rank3.17.stepscope" is of process 12 of that host.
bool is_of(std::string_view name, std::string_view host, std::int64_t process_id) {
  const std::string start = fmt::format("{}_{}", host, process_id);
  if (!name.starts_with(start)) return false;
  const std::string_view rest = name.substr(start.size());
  return rest.starts_with('.') || rest.starts_with("_rank");
}

}  // namespace

AgentFolder::AgentFolder() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (is_private_folder(runtime)) path_ = make_folder(runtime);
  const char* const temporary = std::getenv("TMPDIR");
  if (path_.empty() && temporary != nullptr && temporary[0] == '/') path_ = make_folder(temporary);
  if (path_.empty()) path_ = make_folder("/tmp");
}

AgentFolder::~AgentFolder() {
  if (path_.empty()) return;
  for (const AgentStatus& agent : read_all()) {
    if (!agent.is_over && is_running(agent.process_id)) return;  // `stepscope ctl` still finds it
  }
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string AgentFolder::socket_pattern() const { return path_.empty() ? "" : path_ + "/%p.sock"; }

std::vector<AgentStatus> AgentFolder::read_all() const {
  std::vector<AgentStatus> all;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(path_, failed)) {
    if (entry.path().extension() != ".status") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    all.push_back(parse_agent_status(std::string{std::istreambuf_iterator<char>(file), {}}));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.process_id < b.process_id; });
  return all;
}

std::vector<std::string> list_captures(const std::string& directory, const char* ending) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(directory, failed)) {
    if (entry.path().extension() == ending) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> captures_of_run(const std::vector<std::string>& before, const std::vector<std::string>& now,
                                         const std::vector<AgentStatus>& agents, const std::string& host_name) {
  std::vector<std::string> found;
  for (const std::string& name : now) {
    if (std::binary_search(before.begin(), before.end(), name)) continue;
    const bool is_elsewhere = !name.starts_with(host_name + "_");
    const bool is_ours = std::any_of(agents.begin(), agents.end(), [&](const AgentStatus& agent) {
      return is_of(name, host_name, agent.process_id);
    });
    if (is_elsewhere || is_ours) found.push_back(name);
  }
  return found;
}

std::string why_nothing(const std::vector<AgentStatus>& agents, const std::string& not_preloaded,
                        const WhatWasAsked& asked) {
  if (agents.empty()) {
    if (!not_preloaded.empty()) return not_preloaded;
    return "none of its processes used CUDA, NVTX or PyTorch where the agent could see it (python -I, -E and -S switch "
           "the import hook off; a program that clears its environment starts children without the agent)";
  }
  const AgentStatus& most =
      *std::max_element(agents.begin(), agents.end(),
                        [](const AgentStatus& a, const AgentStatus& b) { return a.step_count < b.step_count; });
  if (most.window_count > 0) return "nothing happened while it was recorded, or the file could not be written";
  if (asked.start_paused) return "it was started paused, and no `stepscope ctl start` came";
  if (asked.has_schedule && most.step_count == 0) {
    const std::string none = "the schedule counts steps, and none was seen: ";
    if (const std::string name = step_not_seen(agents, asked); !name.empty()) return none + name;
    return none +
           "no ProfilerStep#N span and no optimizer's step. Name the span that marks a step with --step, or leave "
           "--schedule and --every out";
  }
  if (asked.has_schedule) {
    return fmt::format("the program ended after {} step{}, before the schedule's first recorded one", most.step_count,
                       most.step_count == 1 ? "" : "s");
  }
  return "no window was opened";
}

std::string step_not_seen(const std::vector<AgentStatus>& agents, const WhatWasAsked& asked) {
  const bool was_seen = std::any_of(agents.begin(), agents.end(), [](const auto& each) { return each.step_count > 0; });
  if (asked.step_name.empty() || was_seen) return "";
  return fmt::format("no span and no NVTX range named `{}` (or `{}#7`) ended", asked.step_name, asked.step_name);
}

}  // namespace stepscope
