// The slots of this program and of its libraries: written once, found once, and called through afterwards.
#include "agent/imported_function.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace stepscope::agent {
namespace {

constexpr pid_t kOurs = 4242;
pid_t ours() { return kOurs; }

// A library of the program's own would be better known by its name than by "" (the program itself, and all others):
// getppid is called by none of them but by us.
TEST(ImportedFunction, CallsGoWhereTheSlotPoints) {
  const pid_t before = getppid();
  EXPECT_NE(before, kOurs);
  void* const real = dlsym(RTLD_DEFAULT, "getppid");
  ASSERT_NE(real, nullptr);

  EXPECT_EQ(replace_imports("", "getppid", reinterpret_cast<const void*>(ours)), 1U);
  EXPECT_EQ(getppid(), kOurs);
  EXPECT_EQ(replace_imports("", "getppid", reinterpret_cast<const void*>(ours)), 1U);  // has it already

  EXPECT_EQ(replace_imports("", "getppid", real), 1U);
  EXPECT_EQ(getppid(), before);
}

TEST(ImportedFunction, NobodyImportsIt) {
  EXPECT_EQ(replace_imports("", "a_function_that_is_nowhere", reinterpret_cast<const void*>(ours)), 0U);
  EXPECT_EQ(replace_imports("libno_such_library", "getppid", reinterpret_cast<const void*>(ours)), 0U);
  EXPECT_NE(getppid(), kOurs);
}

// A name that begins with another's is another function.
TEST(ImportedFunction, NamesAreWholeNames) {
  EXPECT_EQ(replace_imports("", "getppi", reinterpret_cast<const void*>(ours)), 0U);
  EXPECT_NE(getppid(), kOurs);
}

}  // namespace
}  // namespace stepscope::agent
