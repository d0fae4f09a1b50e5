// Files as kernels write them, and as none does.
#include "timing/machine_noise.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace stepscope {
namespace {

class MachineNoise : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::string root_ = ::testing::TempDir() + "machine." + std::to_string(::getpid()) + "/";
};

TEST_F(MachineNoise, IsReadFromTheKernelsFiles) {
  write("proc/loadavg", "7.31 4.85 3.01 8/132 16426\n");
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  write("proc/stat", "cpu  100 20 30 400 5 6 7 32 9 0\ncpu0 1 1 1 1\n");
  const MachineState state = read_machine_state(root_);
  EXPECT_GE(state.cpu_count, 1);
  EXPECT_EQ(state.load_average, 7.31);
  EXPECT_EQ(state.governor, "powersave");
  EXPECT_EQ(state.stolen_ticks, 32);
  EXPECT_EQ(state.counted_ticks, 600);
}

TEST_F(MachineNoise, WhatIsMissingOrOddIsNotInvented) {
  const MachineState nothing = read_machine_state(root_);
  EXPECT_FALSE(nothing.load_average || nothing.governor || nothing.stolen_ticks);
  EXPECT_TRUE(describe_noise(nothing, nothing, 1).empty());
  write("proc/loadavg", "many\n");
  write("proc/stat", "cpu  100 20 30\n");
  const MachineState odd = read_machine_state(root_);
  EXPECT_FALSE(odd.load_average || odd.stolen_ticks || odd.counted_ticks);
}

MachineState quiet() {
  MachineState state;
  state.cpu_count = 4;
  state.load_average = 0.2;
  state.governor = "performance";
  state.stolen_ticks = 10;
  state.counted_ticks = 10'000;
  return state;
}

TEST_F(MachineNoise, AQuietMachineIsNoNews) {
  MachineState later = quiet();
  later.counted_ticks = 12'000;
  EXPECT_TRUE(describe_noise(quiet(), later, 1).empty());
  EXPECT_TRUE(describe_noise(quiet(), quiet(), 4).empty());
}

TEST_F(MachineNoise, LoadMattersWhenNoCoreIsFree) {
  MachineState state = quiet();
  state.load_average = 3.2;
  EXPECT_TRUE(describe_noise(state, state, 1).empty()) << "one of four is free";
  ASSERT_EQ(describe_noise(state, state, 1.9).size(), 1U) << "the command uses two";
  state.load_average = 3.6;
  const auto sentences = describe_noise(state, state, 1);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_NE(sentences[0].find("load average 3.6 on 4 cores"), std::string::npos);
  state.cpu_count = 1;
  state.load_average = 0.4;
  EXPECT_TRUE(describe_noise(state, state, 8).empty()) << "it cannot have more cores than there are";
}

TEST_F(MachineNoise, GovernorAndStolenTime) {
  MachineState before = quiet();
  before.governor = "schedutil";
  MachineState after = before;
  after.counted_ticks = 20'000;
  after.stolen_ticks = 210;
  const auto sentences = describe_noise(before, after, 1);
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_NE(sentences[0].find("`schedutil`"), std::string::npos);
  EXPECT_NE(sentences[1].find("2.0 %"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
