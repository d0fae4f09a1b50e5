// Names of the functions in one loaded program or library, its inner ones too.
//
// dladdr() knows only what a module exports, and a program exports nothing unless it was linked with -rdynamic: every
// frame of the user's own code would be a bare address. The symbol table (.symtab) that compilers leave in the file
// unless it is stripped has them all. libbacktrace and libdw were rejected as dependencies: lines would need them,
// names do not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

class ModuleSymbols {
 public:
  // Functions of the ELF file `path`; none if it is no such file, is damaged or stripped.
  [[nodiscard]] static ModuleSymbols read(const std::string& path);

  // The (mangled) function that `address`, counted from where the module was loaded, lies in; empty if none.
  [[nodiscard]] std::string_view find(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return functions_.size(); }

 private:
  struct Function {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t name = 0;  // offset in names_
  };
  std::vector<Function> functions_;  // by begin
  std::string names_;                // the file's string table, ends with a 0
};

}  // namespace stepscope
