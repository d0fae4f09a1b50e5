// Notes: one for each kind and severity, the first place, examples of bounded length.
#include "trace/notes.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Notes, OneForEachKindAndSeverityWithTheFirstPlace) {
  Notes notes;
  notes.add(NoteKind::kDamagedEvent, NoteSeverity::kLost, 50, "later");
  notes.add(NoteKind::kDamagedEvent, NoteSeverity::kLost, 20, "first", 2);
  notes.add(NoteKind::kDamagedEvent, NoteSeverity::kRecovered, 70, "recovered");
  ASSERT_EQ(notes.all().size(), 2U);
  EXPECT_EQ(notes.all()[1].count, 3U);
  EXPECT_EQ(notes.all()[1].first_offset, 20U);
  EXPECT_EQ(notes.all()[1].example, "first");
  EXPECT_EQ(notes.count(NoteKind::kDamagedEvent), 4U);
}

TEST(Notes, ExamplesAreCutBetweenCharacters) {
  for (std::size_t before = 110; before <= 120; ++before) {
    Notes notes;
    notes.add(NoteKind::kFileCut, NoteSeverity::kLost, 0, std::string(before, 'x') + "熱🔥熱🔥");
    const std::string& example = notes.all()[0].example;
    EXPECT_LE(example.size(), 120U);
    EXPECT_GE(example.size(), 117U);
    const std::string tail = example.substr(before);
    EXPECT_TRUE(tail.empty() || tail == "熱" || tail == "熱🔥" || tail == "熱🔥熱") << before;
  }
  Notes notes;
  notes.add(NoteKind::kFileCut, NoteSeverity::kLost, 0, std::string(200, '\x80'));
  EXPECT_GE(notes.all()[0].example.size(), 117U) << "no characters at all";
}

}  // namespace
}  // namespace stepscope
