// Chunks through their writer and reader, whole and damaged in every way that a disk or a kill leaves behind.
#include "wire/chunk.h"

#include <gtest/gtest.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "wire/chunk_layout.h"

namespace stepscope::wire {
namespace {

std::string make_file(const std::vector<std::string>& payloads) {
  ChunkEncoder encoder;
  std::string file = file_header();
  for (const std::string& payload : payloads) file += encoder.encode(ChunkKind::kRecords, payload, 1);
  return file;
}

struct Seen {
  std::vector<std::string> payloads;
  std::vector<std::pair<ChunkDamage, std::uint64_t>> damage;  // with its offset
  std::string error;
  std::uint64_t lost_bytes = 0;
};

// Reads in pieces of `piece` bytes, as a pipe gives them.
Seen read_file(const std::string& file, std::size_t piece = 1 << 20) {
  Seen seen;
  std::size_t at = 0;
  ChunkReader reader(
      [&](char* into, std::size_t size) -> Result<std::size_t> {
        const std::size_t got = std::min({piece, size, file.size() - at});
        std::memcpy(into, file.data() + at, got);
        at += got;
        return got;
      },
      [&](ChunkDamage damage, std::uint64_t offset, std::uint64_t bytes, std::optional<std::uint32_t>) {
        seen.damage.emplace_back(damage, offset);
        seen.lost_bytes += bytes;
      });
  if (const Status opened = reader.open(); !opened) {
    seen.error = opened.error().message;
    return seen;
  }
  while (true) {
    const auto chunk = reader.next();
    if (!chunk) seen.error = chunk.error().message;
    if (!chunk || !*chunk) break;
    seen.payloads.emplace_back((*chunk)->payload);
  }
  if (seen.error.empty()) {
    EXPECT_EQ(reader.bytes_read(), file.size());
  }
  return seen;
}

const std::vector<std::string> kPayloads = {std::string(5000, 'a'), "b", std::string("q\0w\xF1SSCHK\n\x1A", 11),
                                            std::string(300, 'c')};

TEST(Chunks, ComeBack) {
  const std::string file = make_file(kPayloads);
  EXPECT_LT(file.size(), 1000U);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20}) {
    const Seen seen = read_file(file, piece);
    EXPECT_EQ(seen.payloads, kPayloads);
    EXPECT_TRUE(seen.damage.empty());
    EXPECT_EQ(seen.error, "");
  }
}

TEST(Chunks, EveryPrefixGivesTheWholeChunksInIt) {
  const std::string file = make_file(kPayloads);
  std::vector<std::size_t> ends;
  for (std::size_t n = 0; n <= kPayloads.size(); ++n)
    ends.push_back(make_file({kPayloads.begin(), kPayloads.begin() + static_cast<std::ptrdiff_t>(n)}).size());
  for (std::size_t size = kFileHeaderBytes; size < file.size(); ++size) {
    const Seen seen = read_file(file.substr(0, size));
    const auto whole = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin()) - 1;
    ASSERT_EQ(seen.payloads.size(), whole) << size;
    ASSERT_EQ(seen.damage.size(), ends[whole] == size ? 0U : 1U) << size;
  }
}

TEST(Chunks, EveryDamagedByteCostsAtMostItsChunk) {
  const std::string file = make_file(kPayloads);
  for (std::size_t at = kFileHeaderBytes; at < file.size(); ++at) {
    for (const char change : {'\x01', '\x80', '\xFF'}) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const Seen seen = read_file(damaged);
      ASSERT_EQ(seen.error, "");
      ASSERT_EQ(seen.payloads.size(), kPayloads.size() - 1) << at;
      ASSERT_EQ(seen.damage.size(), 1U) << at;
    }
  }
}

TEST(Chunks, DamagedFileHeaderIsSaidAndReadOn) {
  std::string file = make_file(kPayloads);
  file[3] = 'x';
  const Seen seen = read_file(file);
  EXPECT_EQ(seen.payloads, kPayloads);
  ASSERT_EQ(seen.damage.size(), 1U);
  EXPECT_EQ(seen.damage[0].first, ChunkDamage::kFileHeader);
}

TEST(Chunks, RubbishBetweenChunksIsSkipped) {
  const std::string one = make_file({"first"});
  const std::string both = make_file({"first", "second"});
  for (const std::string& rubbish :
       {std::string("x"), std::string("\xF1SSCHK\n\x1A", 8), std::string(500'000, '\xF1')}) {
    const Seen seen = read_file(one + rubbish + both.substr(one.size()), 4096);
    EXPECT_EQ(seen.payloads, (std::vector<std::string>{"first", "second"}));
    ASSERT_EQ(seen.damage.size(), 1U);
    EXPECT_EQ(seen.damage[0], (std::pair(ChunkDamage::kChunkHeader, std::uint64_t{one.size()})));
    EXPECT_EQ(seen.lost_bytes, rubbish.size());
  }
}

TEST(Chunks, AnotherMajorVersionIsRefusedWithItsNumber) {
  std::string file = make_file(kPayloads);
  file[8] = 2;
  file[10] = 7;
  put_fixed(file.data() + kFileCheckAt, std::uint64_t{XXH3_64bits(file.data(), kFileCheckAt)});
  const Seen seen = read_file(file);
  EXPECT_EQ(seen.error, "a capture of format 2.7; this stepscope reads 1.x");
  EXPECT_TRUE(seen.damage.empty());
}

TEST(Chunks, AnotherMinorVersionIsRead) {
  std::string file = make_file(kPayloads);
  file[10] = 7;
  put_fixed(file.data() + kFileCheckAt, std::uint64_t{XXH3_64bits(file.data(), kFileCheckAt)});
  EXPECT_EQ(read_file(file).payloads, kPayloads);
}

TEST(Chunks, WhatIsNoCaptureIsNotOpened) {
  EXPECT_FALSE(looks_like_capture("{\"traceEvents\": []}"));
  EXPECT_TRUE(looks_like_capture(make_file(kPayloads)));
  EXPECT_EQ(read_file("short").error, "not a capture file");
}

// A chunk of a kind, or in a compression, that a newer minor version writes.
TEST(Chunks, UnknownKindsAreSkipped) {
  for (const std::size_t at : {std::size_t{8}, std::size_t{10}}) {
    std::string file = make_file({"first", "second"});
    const std::size_t chunk = make_file({"first"}).size();
    file[chunk + at] = 9;
    put_fixed(file.data() + chunk + kChunkCheckAt,
              static_cast<std::uint32_t>(XXH3_64bits(file.data() + chunk, kChunkCheckAt)));
    const Seen seen = read_file(file);
    EXPECT_EQ(seen.payloads, std::vector<std::string>{"first"});
    EXPECT_EQ(seen.damage, (std::vector{std::pair(ChunkDamage::kUnknownKind, std::uint64_t{chunk})}));
  }
}

// Sizes beyond the caps are no chunk's, whatever the check says: nobody reserves memory for them.
TEST(Chunks, HugeSizesAreDamage) {
  for (const std::size_t at : {std::size_t{16}, std::size_t{20}}) {
    std::string file = make_file({"first", "second"});
    const std::size_t chunk = make_file({"first"}).size();
    put_fixed(file.data() + chunk + at, std::uint32_t{0xFFFF'FFF0});
    put_fixed(file.data() + chunk + kChunkCheckAt,
              static_cast<std::uint32_t>(XXH3_64bits(file.data() + chunk, kChunkCheckAt)));
    const Seen seen = read_file(file);
    EXPECT_EQ(seen.payloads, std::vector<std::string>{"first"});
    ASSERT_EQ(seen.damage.size(), 1U);
    EXPECT_EQ(seen.damage[0].first, ChunkDamage::kChunkHeader);
  }
}

TEST(Chunks, IncompressiblePayloadIsStored) {
  std::string noise(1000, '\0');
  std::uint32_t state = 1;
  for (char& c : noise) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  const std::string file = make_file({noise, ""});
  EXPECT_EQ(file.size(), kFileHeaderBytes + 2 * kChunkHeaderBytes + noise.size());
  EXPECT_EQ(read_file(file).payloads, (std::vector<std::string>{noise, ""}));
}

}  // namespace
}  // namespace stepscope::wire
