// Runs independent pieces of work on all cores and waits for them.
//
// Plain threads for each call: the work handed here takes milliseconds, a thread 20 us. A persistent pool
// was rejected because nothing here is called often enough to notice.
#pragma once

#include <cstddef>
#include <functional>

namespace stepscope {

// Cores this process may use (its affinity mask), at least 1.
[[nodiscard]] unsigned available_threads();

// Calls work(0) ... work(count - 1), each once, on up to `threads` threads (0 = all). Blocks until all ended.
// `work` must not throw.
void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

}  // namespace stepscope
