// How files are shown, and stacks that no program writes.
#include "import/capture/definitions.h"

#include <gtest/gtest.h>

namespace stepscope::capture_format {
namespace {

// The name of a frame in `file` of a program started so.
std::string shown(const CaptureInfo& info, const std::string& file) {
  StringPool strings;
  Definitions definitions(strings);
  definitions.set_process(info);
  definitions.add(WireStringDefinition{1, file});
  definitions.add(WireStringDefinition{2, "f"});
  definitions.add(WireFrameDefinition{1, 1, 2, 5});
  definitions.add(WireStackDefinition{1, 0, 1});
  return std::string(strings[definitions.call_stack(definitions.stack(1))]);
}

TEST(Definitions, FilesAreShownWithoutTheLongestPrefixOfThePath) {
  CaptureInfo info;
  info.python_path = "/home/u/run\n/usr/lib/python3.12\n/home/u/run/packages/\n\nrelative";
  EXPECT_EQ(shown(info, "/home/u/run/train.py"), "train.py(5): f");
  EXPECT_EQ(shown(info, "/home/u/run/packages/torch/_ops.py"), "torch/_ops.py(5): f");
  EXPECT_EQ(shown(info, "/usr/lib/python3.12/threading.py"), "threading.py(5): f");
  EXPECT_EQ(shown(info, "/home/u/other.py"), "/home/u/other.py(5): f");
  EXPECT_EQ(shown(info, "<string>"), "<string>(5): f");
}

TEST(Definitions, WithoutThePathTheCommandLineTells) {
  CaptureInfo info;
  info.command_line = "/env/bin/python -u src/train.py --data x.py";
  info.working_directory = "/home/u/run";
  EXPECT_EQ(shown(info, "/home/u/run/src/train.py"), "train.py(5): f");
  EXPECT_EQ(shown(info, "/home/u/run/lib/data.py"), "lib/data.py(5): f");
  EXPECT_EQ(shown(info, "/env/lib/python3.11/site-packages/torch/_ops.py"), "torch/_ops.py(5): f");
  EXPECT_EQ(shown(info, "/usr/lib/python3.11/json/decoder.py"), "json/decoder.py(5): f");
  info.command_line = "python /opt/app/train.py";
  EXPECT_EQ(shown(info, "/opt/app/train.py"), "train.py(5): f");
}

TEST(Definitions, StacksThatNameThemselvesEnd) {
  StringPool strings;
  Definitions definitions(strings);
  definitions.add(WireFrameDefinition{1, 0, 0, 1});
  definitions.add(WireStackDefinition{1, 1, 1});
  definitions.add(WireStackDefinition{2, 1, 1});
  definitions.add(WireStackDefinition{1, 2, 1});
  definitions.add(WireStackDefinition{2, 1, 1});
  std::vector<StackNode> frames;
  definitions.frames(definitions.stack(2), frames);
  EXPECT_EQ(frames.size(), 4U);
  EXPECT_EQ(definitions.undefined_count(), 1U);
}

TEST(Definitions, EndlessRecursionIsCut) {
  StringPool strings;
  Definitions definitions(strings);
  definitions.add(WireFrameDefinition{1, 0, 0, 1});
  for (WireStack id = 1; id < 100'000; ++id) definitions.add(WireStackDefinition{id, id - 1, 1});
  std::vector<StackNode> frames;
  definitions.frames(definitions.stack(99'999), frames);
  EXPECT_EQ(frames.size(), 2000U);
}

}  // namespace
}  // namespace stepscope::capture_format
