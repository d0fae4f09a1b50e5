// The rules of stack_frames.h, each as stacks at times and the frames they give.
#include "import/capture/stack_frames.h"

#include <gtest/gtest.h>

#include <map>

namespace stepscope::capture_format {
namespace {

constexpr TimeNs kUs = 1000;

// Stacks as letters, outermost first: "abc". Points and frames in us.
class Drawing {
 public:
  Drawing() : definitions_(strings_) {}

  Drawing& at(TimeNs start_us, TimeNs end_us, const std::string& frames) {
    WireStack caller = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const auto [at, is_new] = known_.try_emplace(frames.substr(0, i + 1), static_cast<WireStack>(known_.size() + 1));
      if (is_new) {
        const auto letter = static_cast<WireString>(frames[i]);
        definitions_.add(WireStringDefinition{letter, frames.substr(i, 1)});
        definitions_.add(WireFrameDefinition{letter, 0, letter, 1});
        definitions_.add(WireStackDefinition{at->second, caller, letter});
      }
      caller = at->second;
    }
    points_.push_back({start_us * kUs, end_us * kUs, definitions_.stack(caller)});
    return *this;
  }
  Drawing& at(TimeNs us, const std::string& frames) { return at(us, us, frames); }
  Drawing& window(TimeNs start_us, TimeNs end_us) {
    windows_.push_back({start_us * kUs, end_us * kUs});
    return *this;
  }

  // "a 0-5, b 1-2", by start, outer first.
  std::string frames() {
    Frames frames;
    add_stack_frames(definitions_, points_, windows_, ThreadId(0), frames);
    std::multimap<std::pair<TimeNs, TimeNs>, std::string> sorted;
    for (const FrameId id : frames.ids().ids()) {
      EXPECT_LT(frames.start_ns[id], frames.end_ns[id]);
      sorted.emplace(std::pair(frames.start_ns[id], -frames.end_ns[id]),
                     std::string(strings_[frames.name[id]].substr(5)) + " " +
                         std::to_string(frames.start_ns[id] / kUs) + "-" + std::to_string(frames.end_ns[id] / kUs));
    }
    std::string text;
    for (const auto& [times, frame] : sorted) text += (text.empty() ? "" : ", ") + frame;
    return text;
  }

 private:
  StringPool strings_;
  Definitions definitions_;
  std::map<std::string, WireStack> known_;
  std::vector<StackPoint> points_;
  std::vector<Interval> windows_;
};

TEST(StackFrames, LookAtAThreadEachMillisecond) {
  EXPECT_EQ(Drawing().at(0, "ab").at(1000, "ac").at(2000, "ac").at(3000, "a").frames(),
            "a 0-3000, b 0-1000, c 1000-3000");
}

TEST(StackFrames, EventsHoldTheirFramesWhateverTheirLength) {
  EXPECT_EQ(Drawing().at(0, 50'000, "ab").frames(), "a 0-50000, b 0-50000");
  // A call deeper inside, then the rest of the operator.
  EXPECT_EQ(Drawing().at(0, 50'000, "ab").at(20'000, 20'100, "abc").frames(), "a 0-50000, b 0-50000, c 20000-20100");
}

TEST(StackFrames, LongGapsKeepOnlyOuterFramesOfBothSides) {
  EXPECT_EQ(Drawing().at(0, 10, "abc").at(9000, 9010, "abd").frames(), "a 0-9010, b 0-9010, c 0-10, d 9000-9010");
  // The same line twice: it may have returned in between.
  EXPECT_EQ(Drawing().at(0, 10, "ab").at(9000, 9010, "ab").frames(), "a 0-9010, b 0-10, b 9000-9010");
  EXPECT_EQ(Drawing().at(0, 10, "abc").at(9000, 9010, "ab").frames(), "a 0-9010, b 0-10, c 0-10, b 9000-9010");
}

TEST(StackFrames, NothingHoldsAcrossWindows) {
  EXPECT_EQ(Drawing().window(0, 100).window(200, 400).at(50, 60, "ab").at(250, 260, "ab").frames(),
            "a 50-60, b 50-60, a 250-260, b 250-260");
}

TEST(StackFrames, EndsThatOverlapInPartGiveFramesThatNest) {
  // An operator that ends after the one around it: damaged, and no reason to stumble.
  EXPECT_EQ(Drawing().at(0, 100, "a").at(50, 200, "ab").frames(), "a 0-200, b 50-200");
  EXPECT_EQ(Drawing().frames(), "");
  EXPECT_EQ(Drawing().at(5, "ab").frames(), "");
}

TEST(StackFrames, PointsComeInAnyOrder) {
  EXPECT_EQ(Drawing().at(1000, "ac").at(0, "ab").at(500, 600, "abd").frames(),
            Drawing().at(0, "ab").at(500, 600, "abd").at(1000, "ac").frames());
}

}  // namespace
}  // namespace stepscope::capture_format
