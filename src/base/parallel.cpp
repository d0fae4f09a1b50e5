// Work is taken from one counter, so uneven pieces even out.
#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace stepscope {

unsigned available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    const int count = CPU_COUNT(&set);
    if (count > 0) return static_cast<unsigned>(count);
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work) {
  const std::size_t wanted = threads == 0 ? available_threads() : threads;
  const std::size_t used = std::min<std::size_t>(count, wanted);
  if (used <= 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::atomic<std::size_t> next{0};
  auto run = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
  };
  std::vector<std::jthread> others;
  others.reserve(used - 1);
  try {
    for (std::size_t i = 1; i < used; ++i) others.emplace_back(run);
  } catch (const std::system_error&) {
    // A limit of the system: those that started, and this thread, do the work.
  }
  run();
}

}  // namespace stepscope
