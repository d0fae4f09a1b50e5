// Looks at the Python stacks of the launching threads a thousand times a second while a window is open.
//
// Calls and operators say where a launch came from; a data loader that computes in Python, or a pause, makes neither
// and has its line only from here. Stacks are read without the interpreter's lock and without stopping the thread (see
// python_stack_of): a look costs the program nothing but a few cache misses. Without Python no thread is started.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace stepscope::agent {

class Sampler {
 public:
  Sampler() = default;
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // A thread that launches or computes; its stack is of interest from now on. Cheap for those that are known.
  void note_thread(std::int64_t thread_id);
  // A window opened or closed. The first one that is wanted starts the thread.
  void set_on(bool is_on) noexcept;
  // The thread ends; waits for it.
  void stop() noexcept;

 private:
  struct Thread {
    std::int64_t id = 0;
    int empty_count = 0;  // looks in a row that found nothing
  };
  static void* enter(void* sampler) noexcept;
  void run();
  void look();

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
  std::vector<Thread> threads_;  // under mutex_, like the rest
  std::atomic<std::int64_t> last_noted_{0};
  pthread_t thread_{};
  bool is_started_ = false;
  bool is_on_ = false;
  bool is_ending_ = false;
};

}  // namespace stepscope::agent
