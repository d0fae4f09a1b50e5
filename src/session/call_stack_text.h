// A call stack as text: the return addresses that a record holds, as names, innermost first, joined by `;`.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "capture/recorder.h"
#include "session/module_symbols.h"

namespace stepscope {

class CallStackText {
 public:
  // Empty when the record has neither a stack nor a source line. Good until the next call.
  [[nodiscard]] std::string_view text(const RecordDetail& detail);

 private:
  const std::string& name_of(void* address);

  std::unordered_map<void*, std::string> names_;  // an address comes back with every step
  std::unordered_map<std::string, ModuleSymbols> modules_;
  std::string scratch_;
};

}  // namespace stepscope
