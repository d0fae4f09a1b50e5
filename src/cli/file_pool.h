// Many files read side by side: as many at once as there are cores and memory for, with progress on a terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stepscope {

// One file's turn.
struct FileTurn {
  std::size_t index = 0;  // into the files
  unsigned threads = 1;   // that it may use
  // To be told, now and then, how much of the file as stored has been read so far.
  std::function<void(std::uint64_t stored_bytes)> progress;
};

// Calls `work` once for each file, in any order, on up to `jobs` threads (0: all cores). Blocks until all ended.
void for_each_file(const std::vector<std::string>& files, unsigned jobs,
                   const std::function<void(const FileTurn&)>& work);

// Memory that a file needs while it is read and judged, from its size.
[[nodiscard]] std::uint64_t estimate_memory_bytes(const std::string& path);
// Memory that this process may take: what the machine and the process's control group have left.
[[nodiscard]] std::uint64_t available_memory_bytes();

}  // namespace stepscope
