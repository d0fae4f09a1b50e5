// The library's end of the bridge against an agent that writes down what it is told.
#include "capture/agent_link.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "capture/recorder.h"
#include "capture/state_bits.h"
#include "capture/tick_clock.h"

namespace stepscope {
namespace {

struct Told {
  const bridge::Library* library = nullptr;
  std::vector<std::string> names;
  std::vector<bridge::Span> spans;
  std::vector<std::pair<std::string, double>> counters;
  std::vector<bridge::Allocation> allocations;
  std::vector<std::string> sentences;
  bool wants_spans = true;
  int join_count = 0, answer = 1;
};
Told told;

bridge::Agent make_agent() {
  bridge::Agent agent{};
  agent.size_bytes = sizeof agent;
  agent.version = bridge::kVersion;
  agent.say = [](const char* sentence) { told.sentences.emplace_back(sentence); };
  agent.join = [](const bridge::Library* library) {
    ++told.join_count;
    told.library = library;
    if (told.answer != 0) library->set_heard(1);
    return told.answer;
  };
  agent.leave = [](const bridge::Library*) { told.library = nullptr; };
  agent.open_span = [](const char* name, std::size_t bytes) -> std::uint64_t {
    if (!told.wants_spans) return 0;
    told.names.emplace_back(name, bytes);
    return told.names.size();
  };
  agent.close_span = [](const bridge::Span* span) { told.spans.push_back(*span); };
  agent.write_counter = [](const char* name, std::size_t bytes, std::uint64_t, double value) {
    told.counters.emplace_back(std::string(name, bytes), value);
  };
  agent.write_allocation = [](const bridge::Allocation* allocation) { told.allocations.push_back(*allocation); };
  return agent;
}

class AgentLink : public testing::Test {
 protected:
  void SetUp() override { told = {}; }
  void TearDown() override { join_agent(nullptr); }
  bridge::Agent agent = make_agent();
};

TEST_F(AgentLink, SpansOfAProgramWithoutASessionAreTold) {
  { const Span before("before"); }
  ASSERT_TRUE(join_agent(&agent));
  EXPECT_TRUE(is_recording());
  const std::uint64_t begin = read_ticks();
  {
    STEPSCOPE_SPAN("outer");
    OpSpan op("my::mm", {{2, 3}, {3, 4}});
    op.end();
    op.end();
  }
  record_counter("loss", 0.5);
  record_instant("here");
  record_allocation({.address = &told, .bytes = -64, .is_cuda = true, .device_number = 1});
  EXPECT_EQ(told.names, (std::vector<std::string>{"outer", "my::mm", "here"}));
  ASSERT_EQ(told.spans.size(), 3U);
  EXPECT_EQ(told.spans[0].handle, 2U);
  EXPECT_EQ(told.spans[0].is_operator, 1U);
  EXPECT_EQ(told.spans[1].handle, 1U);
  EXPECT_GE(told.spans[1].start_ticks, begin);
  EXPECT_LE(told.spans[1].start_ticks, told.spans[0].start_ticks);
  EXPECT_LE(told.spans[0].end_ticks, told.spans[1].end_ticks);
  EXPECT_EQ(told.counters.at(0), (std::pair<std::string, double>("loss", 0.5)));
  EXPECT_EQ(told.allocations.at(0).bytes, -64);
  EXPECT_EQ(told.allocations.at(0).device_number, 1);
}

TEST_F(AgentLink, NobodyIsToldOnceTheAgentWantsToHearNothing) {
  ASSERT_TRUE(join_agent(&agent));
  Span over_the_end("over the end");
  told.library->set_heard(0);
  EXPECT_FALSE(is_recording());
  { const Span after("after"); }
  over_the_end.end();  // the agent decides what that is worth
  EXPECT_EQ(told.spans.size(), 1U);
  told.library->set_heard(1);
  told.wants_spans = false;
  { const Span between_windows("between windows"); }
  EXPECT_EQ(told.spans.size(), 1U);
}

TEST_F(AgentLink, ASessionRecordsTheSameWhoeverElseListens) {
  ASSERT_TRUE(join_agent(&agent));
  Span before("before");
  ASSERT_TRUE(start_recorder({}));
  before.end();
  { const Span both("both"); }
  told.library->set_heard(0);
  { const Span recorded("recorded"); }
  told.library->set_heard(1);
  Span open("open");
  const Result<Recording> recording = stop_recorder();
  open.end();
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->threads.size(), 1U);
  ASSERT_EQ(recording->threads[0].records.size(), 2U);
  EXPECT_EQ(name_text(recording->threads[0].records[1].name), "recorded");
  EXPECT_EQ(recording->open_span_count, 1U);
  EXPECT_EQ(told.names, (std::vector<std::string>{"before", "both", "open"}));
  EXPECT_EQ(told.spans.size(), 3U);
  EXPECT_TRUE(is_recording()) << "the stop was the session's, not the agent's";
}

TEST_F(AgentLink, AsynchronousSpansEndOnceAndWhereverTheyLike) {
  ASSERT_TRUE(join_agent(&agent));
  const AsyncToken token = begin_async("load");
  EXPECT_TRUE(told.spans.empty());
  std::thread([&] { end_async(token); }).join();
  end_async(token);
  ASSERT_EQ(told.spans.size(), 1U);
  EXPECT_EQ(told.spans[0].is_async, 1U);
  EXPECT_EQ(told.spans[0].thread_id, gettid());
  // With a session as well, which knows it by its own number.
  ASSERT_TRUE(start_recorder({}));
  const AsyncToken both = begin_async("both");
  end_async(token);
  end_async(both);
  const Result<Recording> recording = stop_recorder();
  EXPECT_EQ(recording->threads.at(0).records.size(), 2U);
  EXPECT_EQ(told.spans.size(), 2U);
}

TEST_F(AgentLink, AnotherVersionIsRefusedInWords) {
  agent.version = bridge::kVersion + 1;
  EXPECT_FALSE(join_agent(&agent));
  agent.version = bridge::kVersion - 1;
  EXPECT_FALSE(join_agent(&agent));
  agent.version = bridge::kVersion;
  agent.size_bytes = sizeof agent - sizeof(void*);
  EXPECT_FALSE(join_agent(&agent));
  EXPECT_EQ(told.join_count, 0);
  ASSERT_EQ(told.sentences.size(), 3U);
  EXPECT_NE(told.sentences[0].find("older than the agent"), std::string::npos);
  EXPECT_NE(told.sentences[1].find("the agent is older"), std::string::npos);
  EXPECT_NE(told.sentences[2].find("the agent is older"), std::string::npos);
  // A later one of the same version has more at its end.
  agent.size_bytes = sizeof agent + sizeof(void*);
  EXPECT_TRUE(join_agent(&agent));
}

TEST_F(AgentLink, AnAgentThatCapturesNothingIsLeftAlone) {
  told.answer = 0;
  EXPECT_FALSE(join_agent(&agent));
  { const Span span("span"); }
  EXPECT_TRUE(told.names.empty());
}

TEST_F(AgentLink, WithoutAnAgentThereIsNone) { EXPECT_EQ(find_agent(), nullptr); }

TEST_F(AgentLink, AForkedChildHearsWhatTheAgentSaysOfIt) {
  ASSERT_TRUE(join_agent(&agent));
  const AsyncToken token = begin_async("of the parent");
  ASSERT_TRUE(start_recorder({}));
  const pid_t child = fork();
  if (child == 0) {
    end_async(token);
    bool is_right = told.spans.empty() && is_recording();
    { const Span span("span"); }
    is_right = is_right && told.spans.size() == 1 && start_recorder({}) && stop_recorder();
    told.library->set_heard(0);
    _exit(is_right && !is_recording() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(stop_recorder());
}

TEST(TickMapping, TimesOfAnotherMappingComeBackToTheTick) {
  const TickMapping mapping{1'000'000, 1'700'000'000'000'000'000, 366'000'000'000};  // 0.33 ns a tick
  for (const std::uint64_t ticks : {std::uint64_t{1'000'000}, std::uint64_t{5}, std::uint64_t{3} << 50}) {
    const auto back = static_cast<std::int64_t>(mapping.to_ticks(mapping.to_ns(ticks)) - ticks);
    EXPECT_LE(std::abs(back), 3) << ticks;  // one ns has 3 ticks
  }
}

}  // namespace
}  // namespace stepscope
