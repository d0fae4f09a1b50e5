// Files that lie, loop, underflow or end: each gives a sentence with opcode and byte, or what is sound in it, and never
// costs more than a few times its size.
#include <array>
#include <filesystem>

#include "memory/snapshot_test_support.h"

namespace stepscope {
namespace {

struct Refused {
  std::string file;
  ErrorCode code;
  std::string message;
  std::optional<std::uint64_t> offset;
};

TEST(HostileSnapshots, AreRefusedWithOpcodeAndPlace) {
  constexpr auto kDamaged = ErrorCode::kDamaged;
  const std::vector<Refused> cases = {
      {"append_to_int", kDamaged, "opcode APPEND: the object to append to is no list", 6},
      {"bad_utf8", ErrorCode::kUnknownFormat, "a dict without segments and device_traces", {}},
      {"billion_laughs", ErrorCode::kUnknownFormat, "none of its items is a segment", {}},
      {"binunicode_len_4g", kDamaged, "the file is cut before anything of a memory snapshot", 11},
      {"empty", ErrorCode::kEmpty, "the file is empty", {}},
      {"frame_len_lies", ErrorCode::kUnknownFormat, "a dict without segments and device_traces", {}},
      {"global_reduce", kDamaged, "opcode GLOBAL asks for os.system", 2},
      {"long4_huge", kDamaged, "the file is cut before anything of a memory snapshot", 9},
      {"longbinput_huge_index", kDamaged, "opcode LONG_BINPUT: memo number 4294967295", 3},
      {"mark_underflow", kDamaged, "opcode APPENDS: there is no mark", 2},
      {"not_a_dict", ErrorCode::kUnknownFormat, "none of its items is a segment", {}},
      {"proto_7", kDamaged, "opcode PROTO: protocol 7 is not known", 0},
      {"self_ref_list", kDamaged, "opcode APPEND: a list that holds itself", 6},
      {"setitem_on_list", kDamaged, "opcode SETITEM: the object to set an item of is no dict", 7},
      {"stack_underflow", kDamaged, "opcode TUPLE2: the stack has too few items", 2},
  };
  for (const Refused& expected : cases) {
    const auto snapshot = read_snapshot_bytes(bytes_of_snapshot_file("hostile/" + expected.file + ".pickle"));
    ASSERT_FALSE(snapshot) << expected.file;
    EXPECT_EQ(snapshot.error().code, expected.code) << expected.file;
    EXPECT_NE(snapshot.error().message.find(expected.message), std::string::npos) << snapshot.error().to_string();
    EXPECT_EQ(snapshot.error().byte_offset, expected.offset) << expected.file;
  }
}

TEST(HostileSnapshots, EmptyOnesInOldAndOtherForms) {
  for (const std::string name : {"proto0_text.pickle", "proto2_bytes_dict.pickle", "json_snapshot.json"}) {
    const MemorySnapshot snapshot = snapshot_of_file("hostile/" + name);
    EXPECT_EQ(snapshot.devices.size(), 1U) << name;
    EXPECT_EQ(snapshot.entries.size(), 0U) << name;
    EXPECT_TRUE(snapshot.info.has_device_traces) << name;
    EXPECT_FALSE(snapshot.info.has_history) << name;
    EXPECT_TRUE(snapshot.notes.all().empty()) << name;
  }
}

TEST(HostileSnapshots, LineOf64BitsIsNoLine) {
  const MemorySnapshot snapshot = snapshot_of_file("hostile/line_u64max.pickle");
  ASSERT_EQ(snapshot.entries.size(), 1U);
  const auto frames = snapshot.frames_of(snapshot.entries.stack.raw()[0]);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_FALSE(snapshot.frames.line[frames[0]].has_value());
  EXPECT_EQ(snapshot.text(snapshot.frames.file[frames[0]]), "??");
}

TEST(HostileSnapshots, MissingKeysAreCounted) {
  const MemorySnapshot snapshot = snapshot_of_file("hostile/missing_keys.pickle");
  EXPECT_EQ(snapshot.entries.size(), 0U);
  EXPECT_EQ(snapshot.segments.size(), 1U);
  EXPECT_EQ(snapshot.blocks.size(), 0U);
  // The segment has no total_size, its block and the entry have nothing at all.
  EXPECT_EQ(snapshot.notes.count(NoteKind::kMissingField), 3U);
  EXPECT_TRUE(snapshot.notes.lost_anything());
}

TEST(HostileSnapshots, NegativeSizeIsNoSize) {
  const MemorySnapshot snapshot = snapshot_of_file("hostile/negative_sizes.pickle");
  ASSERT_EQ(snapshot.entries.size(), 1U);
  EXPECT_EQ(snapshot.entries.size_bytes.raw()[0], 0);
  EXPECT_EQ(snapshot.entries.address.raw()[0], 1ULL << 63);
  EXPECT_EQ(snapshot.streams[snapshot.entries.stream.raw()[0]], -1);
  ASSERT_EQ(snapshot.notes.all().size(), 1U);
  EXPECT_EQ(snapshot.notes.all()[0].kind, NoteKind::kBadSize);
  EXPECT_EQ(snapshot.notes.all()[0].severity, NoteSeverity::kLost);
  EXPECT_EQ(snapshot.notes.all()[0].first_offset, 125U);
}

TEST(HostileSnapshots, WithoutStopNothingIsLost) {
  const MemorySnapshot snapshot = snapshot_of_file("hostile/no_stop.pickle");
  EXPECT_EQ(snapshot.entries.size(), 85U);
  EXPECT_EQ(snapshot.segments.size(), 6U);
  ASSERT_EQ(snapshot.notes.all().size(), 1U);
  EXPECT_EQ(snapshot.notes.all()[0].kind, NoteKind::kFileCut);
  EXPECT_EQ(snapshot.notes.all()[0].severity, NoteSeverity::kRecovered);
}

TEST(HostileSnapshots, CutFileGivesWhatWasWhole) {
  const MemorySnapshot snapshot = snapshot_of_file("hostile/truncated.pickle");
  EXPECT_TRUE(snapshot.notes.unsound());
  EXPECT_EQ(snapshot.segments.size(), 6U);
  EXPECT_EQ(snapshot.entries.size(), 21U);
  const MemorySnapshot whole = snapshot_of_file("hostile/no_stop.pickle");
  for (const SnapshotEntryId entry : snapshot.entries.ids().ids()) {
    EXPECT_EQ(snapshot.entries.address[entry], whole.entries.address[entry]);
    EXPECT_EQ(snapshot.entries.size_bytes[entry], whole.entries.size_bytes[entry]);
  }
}

TEST(HostileSnapshots, ListOfSegmentsAddsUpOldAddresses) {
  const MemorySnapshot snapshot = snapshot_of_file("hostile/segments_list_only.pickle");
  EXPECT_FALSE(snapshot.info.has_device_traces);
  ASSERT_EQ(snapshot.blocks.size(), 2U);
  EXPECT_EQ(snapshot.blocks.address.raw(), (std::vector<std::uint64_t>{139000000000000, 139000000000512}));
  EXPECT_FALSE(snapshot.blocks.requested_bytes.raw()[0].has_value());
  EXPECT_TRUE(snapshot.notes.all().empty());
}

TEST(HostileSnapshots, EveryOpcodeThatNamesCodeIsRefused) {
  const std::string dict("\x80\x04}\x94(\x8c\x08segments\x94]\x94\x8c\x01x");
  const std::array<std::pair<std::string, std::string>, 13> cases = {{
      {"cposix\nsystem\n", "GLOBAL asks for posix.system"},
      {"\x8c\x02os\x8c\x06system\x93", "STACK_GLOBAL asks for os.system"},
      {"NNR", "REDUCE"},
      {"Nb", "BUILD"},
      {"(Niposix\nsystem\n", "INST asks for posix.system"},
      {"(No", "OBJ"},
      {"NN\x81", "NEWOBJ"},
      {"NNN\x92", "NEWOBJ_EX"},
      {"\x82\x07", "EXT1 asks for extension 7"},
      {std::string("\x83\x07\x01", 3), "EXT2 asks for extension 263"},
      {std::string("\x84\x07\x01\x00\x00", 5), "EXT4 asks for extension 263"},
      {"Psome\x1b[31mthing\n", "PERSID asks for the object some?[31mthing"},
      {"NQ", "BINPERSID"},
  }};
  for (const auto& [bytes, message] : cases) {
    const auto snapshot = read_snapshot_bytes(dict + bytes + "u.");
    ASSERT_FALSE(snapshot) << message;
    EXPECT_EQ(snapshot.error().code, ErrorCode::kDamaged);
    EXPECT_NE(snapshot.error().message.find("wants to run code: opcode " + message), std::string::npos)
        << snapshot.error().message;
  }
}

TEST(HostileSnapshots, CodeInTheFirstOpcodeIsNamed) {
  for (const std::string bytes :
       {"cos\nsystem\n(S'true'\ntR.", "(cos\nsystem\nS'true'\no.", "(S'true'\nios\nsystem\n."}) {
    const auto snapshot = read_snapshot_bytes(bytes);
    ASSERT_FALSE(snapshot) << bytes;
    EXPECT_NE(snapshot.error().message.find("asks for os.system"), std::string::npos) << snapshot.error().message;
  }
  // The second line ends behind the first 64 bytes: no pickle, whether the bytes come at once or one by one.
  for (const std::size_t piece : {1, 1000}) {
    const auto long_line = read_snapshot_bytes("ci\n" + std::string(100, 'L') + "\n.", piece);
    ASSERT_FALSE(long_line);
    EXPECT_EQ(long_line.error().code, ErrorCode::kUnknownFormat);
  }
  const auto text = read_snapshot_bytes("carefully written text\nof two lines\n");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kUnknownFormat);
}

TEST(HostileSnapshots, NoByteIsReadBehindTheEnd) {
  // Every opcode, at the very end of the input, with every shorter operand.
  for (int op = 0; op < 256; ++op) {
    for (std::size_t operand = 0; operand < 10; ++operand) {
      const std::string bytes = "\x80\x04]" + std::string(1, static_cast<char>(op)) + std::string(operand, '\x01');
      (void)read_snapshot_bytes(bytes, 1);
    }
  }
}

// Lists and dicts begun and not put anywhere, marks, references, numbers: a million of each is one of each.
TEST(HostileSnapshots, DepthAndRepetitionAreHarmless) {
  constexpr std::size_t kMany = 1 << 20;
  for (const std::string unit :
       {"]", "}", "(", "N", "K\x01", "]\x94", "]\x94h\x01", "2", "\x85", "(l", "(d", "0]", "]2a"}) {
    std::string bytes = "\x80\x04]\x94";
    for (std::size_t i = 0; i < kMany; ++i) bytes += unit;
    const auto snapshot = read_snapshot_bytes(bytes + ".");
    EXPECT_TRUE(!snapshot || snapshot->segments.empty()) << unit;
  }
  std::string json;
  for (std::size_t i = 0; i < kMany; ++i) json += R"({"segments":[)";
  const auto deep = read_snapshot_bytes(json);
  EXPECT_TRUE(!deep || deep->notes.unsound());
}

// device_traces that name one long list again and again would be rows without end.
TEST(HostileSnapshots, RowsNamedOverAndOverAreRefused) {
  std::string bytes("\x80\x04}(\x8c\x0d\x64\x65vice_traces](](");
  for (int i = 0; i < 1000; ++i) {
    bytes += "}(\x8c\x06\x61\x63tion\x8c\x05\x61lloc\x8c\x04sizeK\x01\x8c\x04\x61\x64\x64rK\x01u";
  }
  // The list of entries is object 0 of the memo, and an outer list holds it a thousand times.
  const std::string once = "e\x94";
  std::string again;
  for (int i = 0; i < 1000; ++i) again += std::string("h\0", 2);
  const auto snapshot = read_snapshot_bytes(bytes + once + again + "eu.");
  ASSERT_FALSE(snapshot);
  EXPECT_NE(snapshot.error().message.find("over and over"), std::string::npos) << snapshot.error().message;
}

TEST(HostileSnapshots, JsonDamageHasItsPlace) {
  const std::string text = R"({"segments": [], "device_traces": [[{"action": "alloc" "size": 1}]]})";
  const auto snapshot = read_snapshot_bytes(text);
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, ErrorCode::kDamaged);
  ASSERT_TRUE(snapshot.error().byte_offset);
  EXPECT_NEAR(static_cast<double>(*snapshot.error().byte_offset), static_cast<double>(text.find("\"size")), 8);
}

TEST(HostileSnapshots, ReadErrorsComeThrough) {
  const std::string bytes = bytes_of_snapshot_file("C01_basic_proto4.pickle");
  bool is_first = true;
  const auto snapshot = read_snapshot("pipe", [&](char* into, std::size_t) -> Result<std::size_t> {
    if (!is_first) return Error{.code = ErrorCode::kIo, .message = "the pipe broke", .file = {}};
    is_first = false;
    std::memcpy(into, bytes.data(), 600);
    return std::size_t{600};
  });
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, ErrorCode::kIo);
}

TEST(HostileSnapshots, TraceOrTextIsToldFromSnapshot) {
  EXPECT_FALSE(looks_like_snapshot(R"({"schemaVersion": 1, "traceEvents": [)"));
  EXPECT_FALSE(looks_like_snapshot(R"([{"ph": "X", "name": "a")"));
  EXPECT_FALSE(looks_like_snapshot("hello"));
  EXPECT_FALSE(looks_like_snapshot(""));
  EXPECT_TRUE(looks_like_snapshot(R"({"segments": [)"));
  EXPECT_TRUE(looks_like_snapshot("  [\n  {\n \"device\": 0,"));
  EXPECT_TRUE(looks_like_snapshot(bytes_of_snapshot_file("C01_basic_proto4.pickle").substr(0, 64)));
  EXPECT_TRUE(looks_like_snapshot(bytes_of_snapshot_file("hostile/proto0_text.pickle").substr(0, 64)));
  const auto text = read_snapshot_bytes("hello");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kUnknownFormat);
}

// Any prefix is survived, and every piece size gives the same.
TEST(HostileSnapshots, EveryPrefixAndEveryPiece) {
  for (const std::string name :
       {"C01_basic_proto4.pickle", "C14_unknown_action.pickle", "hostile/proto0_text.pickle"}) {
    const std::string bytes = bytes_of_snapshot_file(name);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto cut = read_snapshot_bytes(bytes.substr(0, size));
      EXPECT_TRUE(!cut || cut->notes.count(NoteKind::kFileCut) == 1) << name << " " << size;
    }
    for (const std::size_t piece : {1, 2, 3, 7, 64}) {
      const auto snapshot = read_snapshot_bytes(bytes, piece);
      ASSERT_TRUE(snapshot);
      EXPECT_EQ(snapshot->notes.count(NoteKind::kFileCut), 0U);
    }
  }
}

}  // namespace
}  // namespace stepscope
