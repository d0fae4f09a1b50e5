// Finding libcupti. dl_iterate_phdr names what is loaded; RTLD_NOLOAD takes a handle without loading a second copy.
#include "agent/cupti_table.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <string_view>
#include <vector>

namespace stepscope::agent {
namespace {

// Paths of the loaded objects whose file name begins with one of ours.
struct Loaded {
  std::string cupti;
  std::string runtime;
  std::string driver;
};

int note_object(dl_phdr_info* object, std::size_t, void* found) {
  if (object->dlpi_name == nullptr) return 0;
  const std::string_view path = object->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  auto& loaded = *static_cast<Loaded*>(found);
  if (file.starts_with("libcupti.so") || file.starts_with("libcupti-")) loaded.cupti = path;
  if (file.starts_with("libcudart.so") || file.starts_with("libcudart-")) loaded.runtime = path;
  if (file.starts_with("libcuda.so")) loaded.driver = path;
  return 0;
}

Loaded find_loaded() {
  Loaded loaded;
  dl_iterate_phdr(note_object, &loaded);
  return loaded;
}

void* open_cupti(std::string& path) {
  const Loaded loaded = find_loaded();
  if (!loaded.cupti.empty()) {
    path = loaded.cupti;
    if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) return handle;
  }
  std::vector<std::string> places;
  if (!loaded.runtime.empty()) {
    const std::string folder = loaded.runtime.substr(0, loaded.runtime.rfind('/') + 1);
    // Toolkit: lib64 and extras/CUPTI/lib64. Wheels: nvidia/cu13/lib holds both; nvidia/cuda_runtime/lib does not.
    for (const char* beside : {"", "../extras/CUPTI/lib64/", "../../cuda_cupti/lib/"})
      places.push_back(folder + beside);
  }
  places.emplace_back("");
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* const root = std::getenv(variable)) places.push_back(std::string(root) + "/extras/CUPTI/lib64/");
  }
  for (const char* place : {"/usr/local/cuda/extras/CUPTI/lib64/", "/usr/local/cuda/lib64/"})
    places.emplace_back(place);
  for (const std::string& place : places) {
    for (const char* file : {"libcupti.so.13", "libcupti.so.12"}) {
      path = place + file;
      if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    }
  }
  path.clear();
  return nullptr;
}

// Names of functions that are missing and needed.
class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}
  template <class Function>
  void take(Function& function, const char* name, bool is_needed = true) {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr && is_needed && missing_.empty()) missing_ = name;
  }
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* handle_;
  std::string missing_;
};

}  // namespace

bool has_cuda() {
  const Loaded loaded = find_loaded();
  return !loaded.cupti.empty() || !loaded.runtime.empty() || !loaded.driver.empty();
}

Result<CuptiTable> load_cupti() {
  CuptiTable table;
  void* const handle = open_cupti(table.path);
  if (handle == nullptr) {
    return Error{ErrorCode::kNotFound,
                 "no libcupti in the process, beside its CUDA runtime or on the loader's path: no GPU records "
                 "(install nvidia-cuda-cupti, or put the toolkit's extras/CUPTI/lib64 into LD_LIBRARY_PATH)",
                 {}};
  }
  Symbols symbols(handle);
  symbols.take(table.get_version, "cuptiGetVersion");
  symbols.take(table.get_result_string, "cuptiGetResultString");
  symbols.take(table.activity_enable, "cuptiActivityEnable");
  symbols.take(table.activity_disable, "cuptiActivityDisable");
  symbols.take(table.register_buffers, "cuptiActivityRegisterCallbacks");
  symbols.take(table.register_timestamp, "cuptiActivityRegisterTimestampCallback", false);
  symbols.take(table.get_timestamp, "cuptiGetTimestamp", false);
  symbols.take(table.get_next_record, "cuptiActivityGetNextRecord");
  symbols.take(table.get_dropped, "cuptiActivityGetNumDroppedRecords");
  symbols.take(table.flush_all, "cuptiActivityFlushAll");
  symbols.take(table.subscribe, "cuptiSubscribe");
  symbols.take(table.subscribe_named, "cuptiSubscribe_v2", false);
  symbols.take(table.unsubscribe, "cuptiUnsubscribe");
  symbols.take(table.enable_callback, "cuptiEnableCallback");
  symbols.take(table.get_callback_name, "cuptiGetCallbackName");
  symbols.take(table.get_graph_node, "cuptiGetGraphNodeId", false);
  if (!symbols.missing().empty()) {
    return Error{ErrorCode::kUnsupported, table.path + " has no " + symbols.missing() + ": no GPU records", {}};
  }
  return table;
}

}  // namespace stepscope::agent
