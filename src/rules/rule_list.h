// Every rule, in the order in which they run: specific causes before general ones, faults before remarks.
//
// A new rule is its own file, two lines here (declaration and row), a test beside it and a page in docs/findings.
#pragma once

#include <array>

#include "rules/rules.h"

namespace stepscope {

[[nodiscard]] std::optional<Finding> find_incomplete_data(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_launch_blocking(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_data_loader_stall(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_garbage_collection(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_host_pause(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_hidden_sync(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_blocking_copy(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_allocator_thrash(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_outlier_step(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_unfused_optimizer(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_no_tensor_cores(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_odd_matmul_sizes(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_exposed_copy(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_straggler(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_host_overhead(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_exposed_communication(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_warm_up_in_window(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_profiler_distortion(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_memory_spike_of_steps(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_graph_step(const RuleInput& input);
[[nodiscard]] std::optional<Finding> find_compute_bound(const RuleInput& input);

inline constexpr std::array kRules = {
    Rule{"incomplete-data", find_incomplete_data, false},
    Rule{"launch-blocking", find_launch_blocking, false},
    Rule{"data-loader-stall", find_data_loader_stall},
    Rule{"garbage-collection", find_garbage_collection},
    Rule{"host-pause", find_host_pause},
    Rule{"hidden-sync", find_hidden_sync},
    Rule{"blocking-copy", find_blocking_copy},
    Rule{"allocator-thrash", find_allocator_thrash},
    Rule{"outlier-step", find_outlier_step},
    Rule{"unfused-optimizer", find_unfused_optimizer},
    Rule{"no-tensor-cores", find_no_tensor_cores},
    Rule{"odd-matmul-sizes", find_odd_matmul_sizes},
    Rule{"exposed-copy", find_exposed_copy},
    Rule{"straggler", find_straggler},
    Rule{"host-overhead", find_host_overhead},
    Rule{"exposed-communication", find_exposed_communication},
    Rule{"warm-up-in-window", find_warm_up_in_window, false},
    Rule{"profiler-distortion", find_profiler_distortion},
    Rule{"memory-spike", find_memory_spike_of_steps, false},
    Rule{"graph-step", find_graph_step, false},
    Rule{"compute-bound", find_compute_bound},
};

}  // namespace stepscope
