// Is the machine quiet enough to measure on? What the kernel says about it, in sentences.
//
// Read before and after a measurement from /proc and /sys; where a file is missing nothing is said. Nothing is changed:
// setting a governor or a priority needs rights that a measuring tool should not ask for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepscope {

struct MachineState {
  std::int64_t cpu_count = 0;                 // that this process may use
  std::optional<double> load_average;         // of the last minute: processes that ran or wanted to
  std::optional<std::string> governor;        // of CPU frequency, of the first CPU: "performance", "powersave", ...
  std::optional<std::int64_t> stolen_ticks;   // since boot: time that the hypervisor gave to other machines
  std::optional<std::int64_t> counted_ticks;  // since boot: all time of all CPUs
};

// `root` is "/" but in tests.
[[nodiscard]] MachineState read_machine_state(const std::string& root = "/");

// Sentences for people, none when nothing is to be said. `cores_used`: CPU time over wall time of the command.
[[nodiscard]] std::vector<std::string> describe_noise(const MachineState& before, const MachineState& after,
                                                      double cores_used);

}  // namespace stepscope
