// Whatever is left of a file, the accounts of what was read add up: prefixes and random damage of the case files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

#include "analyze/facts.h"
#include "import/importers.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> case_texts() {
  std::vector<std::string> texts;
  for (const auto& entry : fs::directory_iterator(STEPSCOPE_TESTS_DIR "/data/cases")) {
    if (entry.path().extension() != ".json") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

void expect_accounts_add_up(const Trace& trace) {
  const Facts facts = compute_facts(trace, {});
  ASSERT_EQ(facts.busy.size(), facts.idle.size());
  for (std::size_t i = 0; i < facts.busy.size(); ++i) {
    const DeviceBusy& busy = facts.busy[i];
    ASSERT_EQ(busy.gpu_busy_ns + busy.idle_ns, facts.steps.recorded_ns());
    ASSERT_GE(busy.idle_ns, 0);
    ASSERT_LE(busy.gpu_busy_ns, busy.gpu_busy_raw_ns);
    ASSERT_LE(std::accumulate(busy.busy_by_step_ns.begin(), busy.busy_by_step_ns.end(), DurationNs{0}),
              busy.gpu_busy_ns);
    const IdleByCause& blame = facts.idle[i].blame_ns;
    ASSERT_EQ(std::accumulate(blame.begin(), blame.end(), DurationNs{0}), busy.idle_ns);
  }
  for (std::size_t k = 1; k < facts.steps.steps.size(); ++k) {
    ASSERT_LE(facts.steps.steps[k - 1].gpu.end_ns, facts.steps.steps[k].gpu.start_ns);
  }
  const Ledger& ledger = facts.ledger;
  ASSERT_EQ(ledger.linked_gpu_event_count + ledger.unlinked_gpu_event_count + ledger.leading_unlinked_gpu_event_count,
            ledger.gpu_event_count);
}

class DamagedFacts : public testing::Test {
 protected:
  void SetUp() override { path_ = fs::path(testing::TempDir()) / ("damaged_" + std::to_string(getpid()) + ".json"); }
  void TearDown() override { fs::remove(path_); }
  void read(std::string_view text) {
    std::ofstream(path_, std::ios::binary) << text;
    const auto traces = read_traces(path_.string());
    if (!traces) return;
    for (const Trace& trace : *traces) expect_accounts_add_up(trace);
  }
  fs::path path_;
};

TEST_F(DamagedFacts, PrefixesOfEveryCase) {
  for (const std::string& text : case_texts()) {
    const std::size_t stride = text.size() / 24 + 1;
    for (std::size_t size = 0; size < text.size(); size += stride) read(std::string_view(text).substr(0, size));
    if (HasFatalFailure()) return;
  }
}

// Digits are changed for digits, so that events stay readable and their times and numbers become wild.
TEST_F(DamagedFacts, WildNumbersInEveryCase) {
  std::mt19937 random(5);
  for (const std::string& text : case_texts()) {
    for (int round = 0; round < 20; ++round) {
      std::string damaged = text;
      for (int i = 0; i < 40 && !damaged.empty(); ++i) {
        char& c = damaged[random() % damaged.size()];
        if (c >= '0' && c <= '9') c = static_cast<char>('0' + random() % 10);
        if (c == '.') c = '0';
      }
      read(damaged);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace stepscope
