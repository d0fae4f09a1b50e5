// The mangled names are spelled out: demangling and searching the symbol table (200,000 names) would cost 50 ms.
#include "agent/torch_library.h"

#include <dlfcn.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "agent/loaded_library.h"

namespace stepscope::agent {
namespace {

template <class Function>
void fill(Function*& place, void* library, const char* symbol) {
  place = reinterpret_cast<Function*>(dlsym(library, symbol));
}

std::string read_version(const std::string& library_path) {
  // .../torch/lib/libtorch_cpu.so -> .../torch/version.py
  if (const std::size_t lib = library_path.rfind("/lib/"); lib != std::string::npos) {
    std::ifstream file(library_path.substr(0, lib) + "/version.py");
    std::string version = version_in(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!version.empty()) return version;
  }
  std::array<char, PATH_MAX> real;
  return realpath(library_path.c_str(), real.data()) == nullptr ? std::string{} : version_of_file(real.data());
}

}  // namespace

std::string version_in(std::string_view text) {
  constexpr std::string_view kKey = "\n__version__ = ";
  std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) return {};
  at = text.find_first_of("'\"\n", at + kKey.size());
  if (at == std::string_view::npos || text[at] == '\n') return {};
  const std::size_t end = text.find_first_of("'\"\n", at + 1);
  if (end == std::string_view::npos || text[end] != text[at]) return {};
  return std::string(text.substr(at + 1, end - at - 1));
}

std::string version_of_file(std::string_view path) {
  constexpr std::string_view kEnding = ".so.";
  const std::size_t at = path.rfind(kEnding);
  if (at == std::string_view::npos) return {};
  const std::string_view digits = path.substr(at + kEnding.size());
  const bool is_version =
      digits.find('.') != std::string_view::npos && digits.find_first_not_of("0123456789.") == std::string_view::npos;
  return is_version ? std::string(digits) : std::string{};
}

TorchLibrary find_torch() {
  const LoadedLibrary library = find_loaded_library("libtorch_cpu.so");
  if (library.handle == nullptr) return {};
  TorchLibrary torch;
  torch.path = library.path;
  torch.version = read_version(library.path);
  void* const at = library.handle;
  fill(torch.add, at, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
  fill(torch.remove, at, "_ZN2at14removeCallbackEm");
  fill(torch.name, at, "_ZNK2at14RecordFunction4nameEv");
  fill(torch.construct, at, "_ZN2at14RecordFunctionC1ENS_11RecordScopeE");
  fill(torch.before, at,
       "_ZN2at14RecordFunction6beforeESt7variantIJSt17basic_string_viewIcSt11char_traitsIcEESt17reference_wrapperIKN3c"
       "1014FunctionSchemaEEEEl");
  fill(torch.destroy, at, "_ZN2at14RecordFunctionD1Ev");
  fill(torch.is_enabled, at, "_ZN2at23isRecordFunctionEnabledEv");
  fill(torch.enable, at, "_ZN2at20enableRecordFunctionEb");
  fill(torch.thread_number, at, "_ZN2at14RecordFunction15currentThreadIdEv");
  torch.guarded_list = dlsym(at, "_ZN2at14RecordFunctionC1EONS_13StepCallbacksE");
  fill(torch.empty_strided, at, "aoti_torch_empty_strided");
  fill(torch.copy, at, "aoti_torch_copy_");
  fill(torch.as_strided, at, "aoti_torch_as_strided");
  fill(torch.destroy_tensor, at, "aoti_torch_delete_tensor_object");
  torch.undefined_tensor = dlsym(at, "_ZN3c1019UndefinedTensorImpl10_singletonE");  // libc10's, which it needs
  return torch;
}

}  // namespace stepscope::agent
