// A frame is `function` as the compiler's demangler spells it, or `module(+0xoffset)` where no name is known; the
// innermost one is preceded by the source line that the span itself knows, `file.cpp(line): function`, which is the
// form of PyTorch's Python frames. Lines of the other frames would need debug information.
#include "session/call_stack_text.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace stepscope {
namespace {

std::string demangle(std::string_view mangled) {
  const std::string name(mangled);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                          &std::free);
  std::string out = plain ? plain.get() : name;
  std::replace(out.begin(), out.end(), ';', ',');  // joins frames
  return out;
}

std::string base_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

std::string offset_text(std::string_view module, std::uint64_t offset) {
  char digits[2 + 16 + 1] = {};
  std::snprintf(digits, sizeof digits, "%#llx", static_cast<unsigned long long>(offset));
  return base_name(module) + "(+" + digits + ")";
}

}  // namespace

const std::string& CallStackText::name_of(void* address) {
  const auto [at, is_new] = names_.try_emplace(address);
  if (!is_new) return at->second;
  // A return address is the instruction behind the call, perhaps the first of the next function.
  const char* const call = static_cast<const char*>(address) - 1;
  Dl_info info{};
  link_map* module = nullptr;
  if (dladdr1(call, &info, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) == 0 || module == nullptr) {
    return at->second = offset_text("?", reinterpret_cast<std::uint64_t>(call));
  }
  const std::string path = module->l_name != nullptr && *module->l_name != '\0' ? module->l_name : "/proc/self/exe";
  const auto [symbols, is_new_module] = modules_.try_emplace(path);
  if (is_new_module) symbols->second = ModuleSymbols::read(path);
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(call) - module->l_addr;
  std::string_view name = symbols->second.find(offset);
  if (name.empty() && info.dli_sname != nullptr) name = info.dli_sname;
  return at->second =
             name.empty() ? offset_text(info.dli_fname != nullptr ? info.dli_fname : "?", offset) : demangle(name);
}

std::string_view CallStackText::text(const RecordDetail& detail) {
  scratch_.clear();
  if (detail.file != nullptr) scratch_ = base_name(detail.file) + "(" + std::to_string(detail.line) + ")";
  for (std::size_t i = 0; i < detail.stack.size(); ++i) {
    if (!scratch_.empty()) scratch_ += i == 0 ? ": " : ";";
    scratch_ += name_of(detail.stack[i]);
  }
  return scratch_;
}

}  // namespace stepscope
