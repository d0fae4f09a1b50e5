// RTLD_DEFAULT sees what was linked or loaded globally; RTLD_NOLOAD by name finds the runtimes of GCC, LLVM and Intel
// where a plugin loaded them for itself. What omp_set_num_threads sets belongs to the calling thread, which is the one
// that runs the timed code.
#include "timing/thread_count.h"

#include <dlfcn.h>

namespace stepscope {
namespace {

OpenMp functions_in(void* library) {
  OpenMp found;
  found.set_num_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
  found.get_max_threads = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads"));
  return found.set_num_threads != nullptr && found.get_max_threads != nullptr ? found : OpenMp{};
}

}  // namespace

OpenMp OpenMp::find() {
  if (const OpenMp found = functions_in(RTLD_DEFAULT)) return found;
  for (const char* name : {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const OpenMp found = functions_in(library);
    dlclose(library);  // gives back what RTLD_NOLOAD counted; whoever loaded it keeps it
    if (found) return found;
  }
  return {};
}

ThreadCount::ThreadCount(int num_threads, const Hook& hook, OpenMp openmp)
    : num_threads_(num_threads), hook_(hook), openmp_(openmp) {
  if (num_threads_ <= 0) return;
  if (hook_) hook_before_ = hook_(num_threads_);
  if (openmp_) {
    openmp_before_ = openmp_.get_max_threads();
    openmp_.set_num_threads(num_threads_);
  }
}

ThreadCount::~ThreadCount() {
  if (num_threads_ <= 0) return;
  if (openmp_) openmp_.set_num_threads(openmp_before_);
  if (hook_) hook_(hook_before_);
}

std::string ThreadCount::note() const {
  if (num_threads_ <= 1 || hook_ || openmp_) return {};
  return "num_threads = " + std::to_string(num_threads_) +
         " reached nothing: this process has no OpenMP, and set_num_threads was not given.";
}

}  // namespace stepscope
