// Who is being recorded: host, process, and the rank that a launcher (torchrun, or a script that copies it) tells of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepscope {

struct RunIdentity {
  std::string host_name;
  std::int64_t process_id = 0;
  std::string process_name;
  std::optional<std::int64_t> rank;        // of RANK
  std::optional<std::int64_t> world_size;  // of WORLD_SIZE
  std::vector<std::string> warnings;       // what the environment says and cannot be

  // "host_pid", the worker name of torch.profiler.tensorboard_trace_handler.
  [[nodiscard]] std::string default_worker_name() const;
};

[[nodiscard]] RunIdentity read_run_identity();

}  // namespace stepscope
