#include "session/module_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "session/call_stack_text.h"

namespace stepscope {
namespace {

// Known to no dynamic symbol table.
__attribute__((noinline)) void* where_am_i() { return __builtin_return_address(0); }
__attribute__((noinline)) void* hidden_caller() {
  void* const here = where_am_i();
  asm volatile("" ::: "memory");  // no tail call, which would leave no frame
  return here;
}

std::string own_bytes() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ModuleSymbols read_bytes(const std::string& bytes) {
  const std::string path = testing::TempDir() + "module_symbols_" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary) << bytes;
  ModuleSymbols symbols = ModuleSymbols::read(path);
  std::filesystem::remove(path);
  return symbols;
}

TEST(ModuleSymbols, NamesAFunctionThatIsNotExported) {
  CallStackText text;
  RecordDetail detail;
  detail.stack = {hidden_caller()};
  EXPECT_NE(text.text(detail).find("hidden_caller()"), std::string_view::npos) << text.text(detail);
}

TEST(ModuleSymbols, PutsTheSourceLineBeforeTheInnermostFrame) {
  CallStackText text;
  RecordDetail detail;
  detail.file = "/home/me/src/train.cpp";
  detail.line = 12;
  EXPECT_EQ(text.text(detail), "train.cpp(12)");
  detail.stack = {hidden_caller(), reinterpret_cast<void*>(16)};
  const std::string both(text.text(detail));
  EXPECT_EQ(both.find("train.cpp(12): "), 0U) << both;
  EXPECT_NE(both.find("hidden_caller();"), std::string::npos) << both;
  EXPECT_EQ(both.substr(both.find(';') + 1), "?(+0xf)");
}

TEST(ModuleSymbols, FindsNothingInWhatIsNoProgram) {
  EXPECT_EQ(ModuleSymbols::read("/nowhere/at/all").size(), 0U);
  EXPECT_EQ(read_bytes("").size(), 0U);
  EXPECT_EQ(read_bytes("hello").size(), 0U);
  EXPECT_EQ(read_bytes(std::string(4096, 'x')).size(), 0U);
  EXPECT_TRUE(ModuleSymbols().find(5).empty());
}

TEST(ModuleSymbols, SurvivesDamage) {
  const std::string whole = own_bytes();
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  // Cut anywhere.
  for (const std::size_t size : {sizeof header - 1, sizeof header, whole.size() / 2, whole.size() - 1}) {
    (void)read_bytes(whole.substr(0, size)).find(header.e_entry);
  }
  // Each field of each section header set to the largest number.
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const std::size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, whole.data() + at, sizeof section);
    if (section.sh_type != SHT_SYMTAB) continue;
    for (std::size_t field = 0; field + 8 <= sizeof section; field += 8) {
      std::string damaged = whole;
      std::memset(damaged.data() + at + field, 0xFF, 8);
      (void)read_bytes(damaged).find(header.e_entry);
    }
    // Symbols whose name lies outside of the strings, and whose end overflows.
    std::string damaged = whole;
    std::memset(damaged.data() + section.sh_offset, 0xFF, section.sh_size);
    EXPECT_TRUE(read_bytes(damaged).find(header.e_entry).empty());
  }
}

}  // namespace
}  // namespace stepscope
