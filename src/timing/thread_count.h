// The number of threads that timed code may use, set for a while and set back.
//
// A comparison is fair only when both sides have the same threads, and each library has its own knob. The one that
// nearly all C++ code shares is OpenMP's, found in the process at run time: linking OpenMP would bring it into programs
// that have none. Everything else (TBB, a framework's pool, an OpenMP that was loaded privately, as Python does) needs
// the hook.
#pragma once

#include <functional>
#include <string>

namespace stepscope {

// The two functions of an OpenMP runtime, both or none.
struct OpenMp {
  void (*set_num_threads)(int) = nullptr;
  int (*get_max_threads)() = nullptr;

  explicit operator bool() const { return set_num_threads != nullptr; }
  // That of this process, if one is loaded. Loads none.
  [[nodiscard]] static OpenMp find();
};

// Sets the count while it lives. 0 leaves all as it is.
class ThreadCount {
 public:
  using Hook = std::function<int(int)>;  // sets a count and returns the one before

  // Looking for OpenMP takes 60 us where there is none, so it is left out where nothing is to be set.
  ThreadCount(int num_threads, const Hook& hook)
      : ThreadCount(num_threads, hook, num_threads > 0 ? OpenMp::find() : OpenMp{}) {}
  ThreadCount(int num_threads, const Hook& hook, OpenMp openmp);
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

  // A sentence when more than one thread was asked for and there is nobody to tell; else empty.
  [[nodiscard]] std::string note() const;

 private:
  int num_threads_;
  const Hook& hook_;
  OpenMp openmp_;
  int openmp_before_ = 0;
  int hook_before_ = 0;
};

}  // namespace stepscope
