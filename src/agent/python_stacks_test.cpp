// Frames and code objects drawn in memory after the layout of 3.12.
#include "agent/python_stacks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

namespace stepscope::agent {
namespace {

const PythonLayout& layout() {
  static const PythonLayout one = guess_layout(12, nullptr).layout;
  return one;
}
constexpr int kCodeType = 0;

template <std::size_t kBytes>
struct Memory {
  alignas(16) std::array<char, kBytes> bytes{};
  template <class T>
  void put(std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(bytes.data()); }
};

struct String : Memory<128> {
  void set(std::string_view text) {
    put<std::uint64_t>(kSizeAt, text.size());
    put<std::uint64_t>(kStringHashAt, std::hash<std::string_view>{}(text));
    put<std::uint32_t>(32, 1 << 2 | 1 << 5 | 1 << 6);
    std::copy(text.begin(), text.end(), bytes.begin() + layout().ascii_header);
  }
};
struct Code : Memory<256> {
  String file, name;
  Memory<64> lines;
  Code(std::string_view file_text, std::string_view name_text, std::uint32_t first_line) {
    set(file_text, name_text, first_line);
  }
  void set(std::string_view file_text, std::string_view name_text, std::uint32_t first_line) {
    file.set(file_text);
    name.set(name_text);
    lines.put<std::uint64_t>(kSizeAt, 2);
    lines.put<std::uint16_t>(kBytesAt, 0x1187);  // 8 units on the first line
    put(kTypeAt, reinterpret_cast<std::uint64_t>(&kCodeType));
    put(layout().code_file, file.address());
    put(layout().code_name, name.address());
    put(layout().code_lines, lines.address());
    put(layout().code_first_line, first_line);
  }
};
struct Frame : Memory<128> {
  Frame(const Code& code, std::int32_t instruction, const Frame* previous) {
    put(layout().frame_code, code.address());
    put(layout().frame_instruction, code.address() + layout().code_bytes + static_cast<std::uint32_t>(instruction));
    put(layout().frame_previous, previous == nullptr ? 0 : previous->address());
  }
};
struct Thread : Memory<128> {
  Memory<16> c_frame;
  explicit Thread(const Frame& first) {
    c_frame.put(layout().c_frame_current, first.address());
    put(layout().thread_frame, c_frame.address());
  }
};

template <class Reader = DirectReader>
std::uint32_t number_of(const Frame& first) {
  const Thread thread(first);
  std::array<RawFrame, kMostPythonFrames> frames;
  const std::size_t count = walk_frames<Reader>(layout(), &kCodeType, thread.address(), frames);
  return stack_number<Reader>(layout(), {frames.data(), count});
}

TEST(PythonStacks, KnowsAStackAgain) {
  const Code main_code("train.py", "<module>", 1), step_code("train.py", "step", 10);
  const Frame outer(main_code, 4, nullptr), inner(step_code, 6, &outer), other(step_code, 8, &outer);
  const std::uint32_t number = number_of(inner);
  EXPECT_NE(number, 0U);
  EXPECT_EQ(number_of(inner), number);
  EXPECT_EQ(number_of<SafeReader>(inner), number);
  EXPECT_NE(number_of(other), number);
  const auto frames = frames_of(number);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].code->function, "step");
  EXPECT_EQ(frames[1].code->function, "<module>");
  EXPECT_EQ(line_of(12, *frames[0].code, frames[0].instruction), 10U);
}

TEST(PythonStacks, NoticesOtherCodeAtTheSameAddress) {
  Code code("a.py", "first", 5);
  const Frame frame(code, 2, nullptr);
  std::vector<std::uint32_t> numbers = {number_of(frame)};
  for (const auto& [file, name, line] : {std::tuple{"a.py", "second", 5}, {"a.py", "first", 6}, {"b.py", "first", 5}}) {
    code.set(file, name, static_cast<std::uint32_t>(line));
    numbers.push_back(number_of(frame));
    const auto frames = frames_of(numbers.back());
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].code->file, file);
    EXPECT_EQ(frames[0].code->function, name);
    EXPECT_EQ(frames[0].code->first_line, line);
  }
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

TEST(PythonStacks, LeavesOutWhatIsNoPython) {
  const Code code("a.py", "f", 1);
  Code shim("shim", "shim", 1);
  shim.put(kTypeAt, std::uint64_t{1});
  const Frame outer(code, 2, nullptr), entry(shim, 0, &outer), inner(code, 4, &entry);
  EXPECT_EQ(frames_of(number_of(inner)).size(), 2U);
}

TEST(PythonStacks, ReadsSafelyWhatMayBeAnything) {
  const Code code("a.py", "wild", 1);
  Frame inner(code, 4, nullptr);
  inner.put(layout().frame_previous, std::uint64_t{0xDEAD0000});
  std::array<RawFrame, kMostPythonFrames> frames;
  const Thread thread(inner);
  EXPECT_EQ(walk_frames<SafeReader>(layout(), &kCodeType, thread.address(), frames), 1U);
  EXPECT_EQ(walk_frames<SafeReader>(layout(), &kCodeType, 64, frames), 0U);
  inner.put(layout().frame_previous, inner.address());  // a ring
  EXPECT_EQ(walk_frames<SafeReader>(layout(), &kCodeType, thread.address(), frames), kMostPythonFrames);
}

TEST(PythonStacks, GivesThreadsTheSameNumbers) {
  const Code code("a.py", "shared", 1);
  const Frame frame(code, 2, nullptr);
  std::vector<std::uint32_t> numbers(8);
  std::vector<std::thread> threads;
  for (std::uint32_t& number : numbers) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) number = number_of(frame);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::uint32_t number : numbers) EXPECT_EQ(number, numbers[0]);
}

}  // namespace
}  // namespace stepscope::agent
