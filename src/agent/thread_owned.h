// One T for each thread: made when the thread first asks, freed when it ends.
//
// The pointer lies in initial-exec thread storage (one load in a hook that runs for every operator); T itself is too
// large for the space that libraries loaded later get there. A thread_local with a destructor was rejected: it cannot
// say that there is no memory. A thread that asks again while it ends (PyTorch's own thread exit runs operators) gets
// none.
#pragma once

#include <pthread.h>

#include <new>

namespace stepscope::agent {

template <class T>
class ThreadOwned {
 public:
  // Before the first hook can run: keys are few (1024 a process), and a hook is no place to find that out.
  static void prepare() noexcept { (void)key(); }
  // The calling thread's, or nullptr: it never asked.
  [[nodiscard]] static T* find() noexcept { return here_; }
  // Makes it if need be; nullptr: the thread ends, or there is no memory.
  [[nodiscard]] static T* get() noexcept { return here_ != nullptr ? here_ : make(); }

 private:
  static T* make() noexcept {
    if (is_over_) return nullptr;
    auto* const made = new (std::nothrow) T;
    if (made != nullptr && pthread_setspecific(key(), made) == 0) return here_ = made;
    delete made;
    return nullptr;
  }
  static void end_thread(void* owned) {
    here_ = nullptr;
    is_over_ = true;
    delete static_cast<T*>(owned);
  }
  static pthread_key_t key() noexcept {
    static const pthread_key_t one = [] {
      pthread_key_t made{};
      pthread_key_create(&made, end_thread);
      return made;
    }();
    return one;
  }

  inline static constinit thread_local T* here_ __attribute__((tls_model("initial-exec"))) = nullptr;
  inline static constinit thread_local bool is_over_ __attribute__((tls_model("initial-exec"))) = false;
};

}  // namespace stepscope::agent
