// Functions and lines of addresses, and files that are damaged, hostile or other ones than ran.
#include "import/capture/native_names.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "import/capture/elf_file.h"
#include "import/capture/made_elf.h"
#include "import/capture/source_lines.h"

namespace stepscope::native {
namespace {

class NativeNames : public testing::Test {
 protected:
  NativeNames()
      : path_(std::filesystem::temp_directory_path() / ("stepscope_native_names_" + std::to_string(getpid()))) {}
  ~NativeNames() override { std::filesystem::remove(path_); }

  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  // "FILE:LINE FUNCTION" of each address.
  std::vector<std::string> names(const std::vector<std::uint64_t>& addresses, std::string_view id = kMadeBuildId) {
    std::vector<NativeFrame> frames;
    for (const std::uint64_t address : addresses) frames.push_back({path_, std::string(id), address});
    std::vector<std::string> texts;
    for (const NativeName& name : find_native_names(frames, changed)) {
      texts.push_back(name.file + ":" + std::to_string(name.line) + " " + name.function);
    }
    return texts;
  }

  std::string path_;
  std::vector<std::string> changed;
};

const std::vector<std::uint64_t> kAddresses = {0x1019, 0x1003, 0x1012, 0x1024, 0x900, 0x1003};

TEST_F(NativeNames, HaveFunctionAndLine) {
  MadeElf elf;
  write(elf.bytes());
  EXPECT_EQ(names(kAddresses),
            (std::vector<std::string>{"/work/user/plain.cu:38 main", "/work/user/plain.cu:31 loop::make_buffers(int)",
                                      "/work/user/plain.cu:37 main", ":0 hand_written", ":0 ",
                                      "/work/user/plain.cu:31 loop::make_buffers(int)"}));
  for (const int version : {2, 3, 4}) {
    elf.dwarf = version;
    write(elf.bytes());
    EXPECT_EQ(names({0x1003, 0x1012}),
              (std::vector<std::string>{"plain.cu:31 loop::make_buffers(int)", "plain.cu:37 main"}))
        << version;
  }
  EXPECT_TRUE(changed.empty());
}

TEST_F(NativeNames, AHeaderOfCudaThatIsInlinedIsNoLineOfTheProgram) {
  write(MadeElf().bytes());
  EXPECT_EQ(names({0x100B}), (std::vector<std::string>{":0 loop::make_buffers(int)"}));
}

TEST_F(NativeNames, WithoutOneOfTheTablesThereIsTheOther) {
  MadeElf elf;
  elf.has_lines = false;
  write(elf.bytes());
  EXPECT_EQ(names({0x1012}), (std::vector<std::string>{":0 main"}));
  elf.has_symbols = false;
  elf.has_lines = true;
  write(elf.bytes());
  EXPECT_EQ(names({0x1012}), (std::vector<std::string>{"/work/user/plain.cu:37 "}));
  elf.line_flags = SHF_COMPRESSED;
  write(elf.bytes());
  EXPECT_EQ(names({0x1012}), (std::vector<std::string>{":0 "}));
}

TEST_F(NativeNames, AnotherFileThanRanNamesNothing) {
  write(MadeElf().bytes());
  EXPECT_EQ(names({0x1012}, "c0ffee01"), (std::vector<std::string>{":0 "}));
  EXPECT_EQ(changed, (std::vector<std::string>{path_}));
  EXPECT_EQ(names({0x1012}, ""), (std::vector<std::string>{":0 "})) << "one of which nothing is known";
  std::filesystem::remove(path_);
  changed.clear();
  EXPECT_EQ(names({0x1012}), (std::vector<std::string>{":0 "}));
  EXPECT_TRUE(changed.empty()) << "it is not there";
}

TEST_F(NativeNames, AFileWithoutABuildIdIsKnownBySizeAndTime) {
  MadeElf elf;
  elf.has_id = false;
  write(elf.bytes());
  struct stat facts {};
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  const std::int64_t time_ns = std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
  const std::string id = "stat:" + std::to_string(facts.st_size) + ":" + std::to_string(time_ns);
  EXPECT_EQ(names({0x1012}, id), (std::vector<std::string>{"/work/user/plain.cu:37 main"}));
  EXPECT_EQ(names({0x1012}, id + "1"), (std::vector<std::string>{":0 "}));
}

TEST_F(NativeNames, WhatIsNoFileIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(ElfFile::open(path_).has_value()) << "and it returns";
  for (const char* const path : {"/dev/zero", "/", "plain", "", "/proc/self/mem"}) {
    EXPECT_FALSE(ElfFile::open(path).has_value()) << path;
  }
}

TEST_F(NativeNames, DamagedFilesAreSurvived) {
  for (const int version : {5, 4}) {
    MadeElf elf;
    elf.dwarf = version;
    const std::string whole = elf.bytes();
    for (std::size_t size = 0; size < whole.size(); size += 29) {
      write(whole.substr(0, size));
      (void)names(kAddresses);
    }
    std::mt19937 random(7);  // the same files each time
    for (int round = 0; round < 300; ++round) {
      std::string bytes = whole;
      for (int change = 0; change < 1 + round % 4; ++change)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      write(bytes);
      (void)names(kAddresses);
    }
  }
}

TEST_F(NativeNames, HugeNumbersInATableAllocateNothing) {
  std::string bytes = MadeElf().bytes();
  for (std::size_t at = 0; at + 8 <= bytes.size(); ++at) {
    std::string changed_bytes = bytes;
    for (std::size_t i = 0; i < 8; ++i) changed_bytes[at + i] = '\xFF';
    if (at % 11 != 0) continue;  // each place is covered by the bytes before it
    write(changed_bytes);
    (void)names({0x1003});
  }
}

TEST(NativeFrame, IsKnownByItsText) {
  const auto frame = parse_native_frame("/work/plain", "plain+0x1a2b c0ffee", 0);
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->path, "/work/plain");
  EXPECT_EQ(frame->address, 0x1A2BU);
  EXPECT_EQ(frame->build_id, "c0ffee");
  EXPECT_EQ(plain_address(*frame), "plain+0x1a2b");
  EXPECT_EQ(parse_native_frame("/work/plain", "plain+0x1a2b", 0)->build_id, "");
  EXPECT_FALSE(parse_native_frame("/work/plain", "plain+0x1a2b c0ffee", 3).has_value()) << "a line of Python";
  for (const char* const function :
       {"plain", "plain+0x", "plain+0xg", "plain+0x1g", "plan+0x1", "plain+0x11112222333344445", ""}) {
    EXPECT_FALSE(parse_native_frame("/work/plain", function, 0).has_value()) << function;
  }
  EXPECT_FALSE(parse_native_frame("", "+0x12", 0).has_value());
}

TEST(NativeFunction, HasAPlainName) {
  EXPECT_EQ(plain_function_name("cudaError cudaMalloc<float>(float**, unsigned long)"), "cudaMalloc");
  EXPECT_EQ(plain_function_name("cudaMalloc"), "cudaMalloc");
  EXPECT_EQ(plain_function_name("void* loop::make_buffers<int>(int)"), "make_buffers");
  EXPECT_EQ(plain_function_name("(anonymous namespace)::f(int)"), "");
  EXPECT_EQ(plain_function_name(""), "");
}

TEST(LibrarySource, IsThatOfCompilersAndCuda) {
  EXPECT_TRUE(is_library_source("/usr/include/c++/12/bits/vector.tcc"));
  EXPECT_TRUE(is_library_source("/opt/cuda-13/targets/x86_64-linux/include/cuda_runtime.h"));
  EXPECT_FALSE(is_library_source("/home/user/train/plain.cu"));
  EXPECT_FALSE(is_library_source(""));
}

}  // namespace
}  // namespace stepscope::native
