// Small files of the kernel, read whole; each is allowed to be missing or to look different.
#include "timing/machine_noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/parallel.h"

namespace stepscope {
namespace {

std::string read_first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string one_decimal(double value) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice"; guests are counted in user and nice already.
void read_ticks(const std::string& line, MachineState& state) {
  std::istringstream words(line);
  std::string name;
  words >> name;
  if (name != "cpu") return;
  constexpr int kSteal = 7;
  std::int64_t all = 0, value = 0;
  for (int column = 0; column <= kSteal; ++column) {
    if (!(words >> value)) return;  // an old kernel that does not tell
    all += value;
  }
  state.stolen_ticks = value;
  state.counted_ticks = all;
}

std::optional<double> stolen_ratio(const MachineState& before, const MachineState& after) {
  if (!before.stolen_ticks || !after.stolen_ticks || *after.counted_ticks <= *before.counted_ticks) return std::nullopt;
  return static_cast<double>(*after.stolen_ticks - *before.stolen_ticks) /
         static_cast<double>(*after.counted_ticks - *before.counted_ticks);
}

}  // namespace

MachineState read_machine_state(const std::string& root) {
  MachineState state;
  state.cpu_count = available_threads();
  double load = 0;
  if (std::istringstream(read_first_line(root + "proc/loadavg")) >> load) state.load_average = load;
  const std::string governor = read_first_line(root + "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!governor.empty()) state.governor = governor;
  read_ticks(read_first_line(root + "proc/stat"), state);
  return state;
}

std::vector<std::string> describe_noise(const MachineState& before, const MachineState& after, double cores_used) {
  std::vector<std::string> sentences;
  const auto cores = static_cast<double>(before.cpu_count);
  const double needed = std::max(1.0, std::round(cores_used));
  // Before the command ran, so the load is that of others: were there as many whole cores free as it uses?
  if (before.load_average && std::round(*before.load_average) + std::min(needed, cores) > cores) {
    sentences.push_back("The machine was busy before the first run (load average " + one_decimal(*before.load_average) +
                        " on " + std::to_string(before.cpu_count) + (before.cpu_count == 1 ? " core" : " cores") +
                        "): the command had to share them, so its times are longer and vary.");
  }
  if (before.governor && *before.governor != "performance") {
    sentences.push_back("The CPU frequency governor is `" + *before.governor +
                        "`: clocks follow the load, so short commands may run slower than long ones.");
  }
  // 1 % is the difference that a measurement is expected to tell.
  if (const auto stolen = stolen_ratio(before, after); stolen && *stolen >= 0.01) {
    sentences.push_back("The hypervisor gave " + one_decimal(*stolen * 100) +
                        " % of the CPU time to other machines while this was measured.");
  }
  return sentences;
}

}  // namespace stepscope
