// What is written is read back; what is not understood is named.
#include "capture/agent_options.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stepscope {
namespace {

TEST(AgentOptions, AreReadBackAsTheyWereWritten) {
  AgentOptions options;
  options.directory = "/tmp/a;b%c=d";
  options.schedule = "skip=10,wait=5,warmup=2,active=3";
  options.every = 100;
  options.shapes = true;
  options.stacks = false;
  options.max_file_bytes = 12345;
  const Result<AgentOptions> read = parse_agent_options(format_agent_options(options));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read.value().directory, options.directory);
  EXPECT_EQ(read.value().schedule, options.schedule);
  EXPECT_EQ(read.value().every, 100U);
  EXPECT_TRUE(read.value().shapes);
  EXPECT_FALSE(read.value().stacks);
  EXPECT_EQ(read.value().max_file_bytes, 12345U);
}

// Every key, with a value that is not its default: what is not written or not read shows here.
TEST(AgentOptions, EveryKeyTravels) {
  AgentOptions options;
  options.directory = "/d";
  options.schedule = "active=1";
  options.every = 7;
  options.step_name = "a step; 100%3B";
  options.shapes = options.graphs = options.memory = options.allocations = options.follow_children =
      options.start_paused = true;
  options.stacks = options.gpu = false;
  options.max_memory_bytes = 1;
  options.max_file_bytes = ~std::uint64_t{0};
  options.control_socket = "/tmp/x/%p.sock";
  const std::string text = format_agent_options(options);
  const Result<AgentOptions> read = parse_agent_options(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(format_agent_options(read.value()), text);
  EXPECT_EQ(read.value().step_name, options.step_name);
  EXPECT_EQ(read.value().control_socket, options.control_socket);
  EXPECT_EQ(std::count(text.begin(), text.end(), '='), 15 + 1) << text;  // one in the schedule
}

// A small generator, so that the same texts come on every machine.
TEST(AgentOptions, AnyTextTravelsInAValue) {
  std::uint64_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    AgentOptions options;
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      options.step_name += ";%=3B25a\n\x01\xFF"[(state >> 33) % 11];
    }
    const Result<AgentOptions> read = parse_agent_options(format_agent_options(options));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read.value().step_name, options.step_name);
  }
}

TEST(AgentOptions, NothingGivesTheDefaults) {
  const Result<AgentOptions> read = parse_agent_options("");
  ASSERT_TRUE(read);
  EXPECT_EQ(format_agent_options(read.value()), format_agent_options({}));
}

TEST(AgentOptions, NamesWhatItDoesNotKnow) {
  for (const char* text : {"speed=9", "shapes", "shapes=2", "shapes=yes", "every=-1", "every=", "every=1x"}) {
    const Result<AgentOptions> read = parse_agent_options(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find(std::string(text).substr(0, 5)), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace stepscope
