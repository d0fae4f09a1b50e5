// Who called, seen from inside the call.
#include "agent/native_stacks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <thread>

#include "agent/capture_test_support.h"
#include "agent/native_modules.h"

namespace stepscope::agent {
namespace {

__attribute__((noinline)) std::uint32_t first_place() {
  const std::uint32_t stack = native_stack_now();
  asm volatile("" ::: "memory");  // so that the call is no jump
  return stack;
}
__attribute__((noinline)) std::uint32_t second_place() {
  const std::uint32_t stack = native_stack_now();
  asm volatile("" : : : "memory");
  return stack + 0 * static_cast<std::uint32_t>(getpid());
}

struct Definitions : MemoryCapture {
  std::vector<WireFrameDefinition> frames;
  std::vector<WireStackDefinition> stacks;
  using MemoryCapture::on;
  void on(const WireFrameDefinition& frame) override { frames.push_back(frame); }
  void on(const WireStackDefinition& stack) override { stacks.push_back(stack); }
};

std::string own_path() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return std::string(path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
}

TEST(NativeStacks, OnePlaceIsOneStack) {
  std::vector<std::uint32_t> seen;
  for (int i = 0; i < 3; ++i) seen.push_back(first_place());
  EXPECT_NE(seen[0] & kNativeStackBit, 0U);
  EXPECT_EQ(seen, (std::vector<std::uint32_t>(3, seen[0])));
  EXPECT_NE(second_place(), seen[0]);
}

TEST(NativeStacks, AFrameIsAModuleAndAnAddressInIt) {
  Definitions file;
  const std::uint32_t stack = first_place();
  const WireStack written = write_native_stack(file, stack);
  ASSERT_FALSE(file.stacks.empty());
  EXPECT_EQ(file.stacks.back().id, written);
  EXPECT_EQ(file.stacks.front().caller, 0U) << "the outermost first";
  EXPECT_LE(file.frames.size(), kMostNativeFrames);
  const WireFrameDefinition& innermost = file.frames.back();
  EXPECT_EQ(innermost.line, 0U);
  EXPECT_EQ(file.records.strings.at(innermost.file), own_path());
  const std::string name = own_path().substr(own_path().rfind('/') + 1);
  EXPECT_TRUE(file.records.strings.at(innermost.function).starts_with(name + "+0x"));
  const std::size_t count = file.stacks.size();
  EXPECT_EQ(write_native_stack(file, stack), written);
  EXPECT_EQ(file.stacks.size(), count) << "once a file";
  EXPECT_EQ(write_native_stack(file, kNativeStackBit | 0x7FFFFFF), 0U) << "one that is none";
}

TEST(NativeStacks, ThreadsMayAskAtOnce) {
  std::vector<std::thread> threads;
  std::array<std::uint32_t, 8> seen{};
  for (std::uint32_t& each : seen) {
    threads.emplace_back([&each] {
      for (int i = 0; i < 200; ++i) each = first_place();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::uint32_t each : seen) EXPECT_EQ(each, seen[0]);
}

TEST(NativeModules, AreThoseThatAreLoaded) {
  const std::vector<NativeModule> modules = list_native_modules();
  const auto here = reinterpret_cast<std::uintptr_t>(&own_path);
  const auto own = std::find_if(modules.begin(), modules.end(),
                                [&](const NativeModule& each) { return here >= each.begin && here < each.end; });
  ASSERT_NE(own, modules.end());
  EXPECT_EQ(own->path, own_path());
  EXPECT_FALSE(own->build_id.empty());
}

TEST(NativeModules, CudaAndWeAreBetweenTheProgramAndItsCall) {
  const auto is = [](const char* path) { return is_between({.path = path, .build_id = ""}); };
  EXPECT_TRUE(is("/usr/lib/x86_64-linux-gnu/libcuda.so.580.1"));
  EXPECT_TRUE(is("/opt/venv/nvidia/cu13/lib/libcupti.so.13"));
  EXPECT_TRUE(is("/opt/venv/libcudart-abc123.so.12"));
  EXPECT_TRUE(is("/x/lib/stepscope/libstepscope_agent.so"));
  EXPECT_FALSE(is("/home/user/libcudamine.so"));
  EXPECT_FALSE(is("/home/user/plain"));
}

}  // namespace
}  // namespace stepscope::agent
