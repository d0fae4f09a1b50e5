// Environment variables of the launchers that start one process a GPU. torchrun's come first: under srun it starts
// several processes a task and only its own variables tell them apart.
#include "agent/process_facts.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <initializer_list>
#include <iterator>

namespace stepscope::agent {
namespace {

MaybeInt first_number(std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) continue;
    std::int64_t number = 0;
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, number);
    if (error == std::errc() && stop == end && stop != text) return number;
  }
  return {};
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// Arguments joined by spaces; what holds a space is quoted, since the text is for people.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::string line;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string argument = bytes.c_str() + at;
    at += argument.size() + 1;
    if (!line.empty()) line += ' ';
    const bool is_plain = !argument.empty() && argument.find_first_of(" \t\n\"'") == std::string::npos;
    line += is_plain ? argument : '\'' + argument + '\'';
  }
  return line;
}

TimeNs wall_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return TimeNs{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Taken once, so that all windows of a process say the same number whatever is done to the clock meanwhile. The
// kernel's own start time (/proc/self/stat) was rejected: exec keeps it, and a program in the place of another is no
// window of that.
constinit std::atomic<TimeNs> came_to_be_ns{0};
[[maybe_unused]] const bool at_load = (begin_process(), true);

std::string working_directory() {
  char path[PATH_MAX] = {};
  return getcwd(path, sizeof path) != nullptr ? path : "";
}

}  // namespace

void begin_process() noexcept { came_to_be_ns.store(wall_ns()); }

CaptureInfo describe_process(const AgentOptions& options, TimeNs start_ns) {
  CaptureInfo info;
  info.process_id = getpid();
  info.start_ns = start_ns;
  info.host_name = host_name();
  info.command_line = command_line();
  info.working_directory = working_directory();
  info.rank = first_number({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
  info.world_size = first_number({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"});
  info.local_rank = first_number({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
  info.records_shapes = options.shapes;
  info.records_stacks = options.stacks;
  info.records_memory = options.memory || options.allocations;
  info.records_graphs = options.graphs;
  info.process_start_ns = came_to_be_ns.load();
  return info;
}

std::string capture_path(const AgentOptions& options, const CaptureInfo& info) {
  std::string host = info.host_name.empty() ? "host" : info.host_name;
  std::replace(host.begin(), host.end(), '/', '_');
  std::string path = options.directory + "/" + host + "_" + std::to_string(info.process_id);
  if (info.rank.has_value()) path += "_rank" + std::to_string(info.rank.value());
  return path + "." + std::to_string(info.start_ns) + ".stepscope";
}

}  // namespace stepscope::agent
