// The frame of a summary file: a header, then a record for each rank and each file that could not be read.
//
//   file header, 32 bytes                            record
//    0  8  magic 89 53 53 53 0D 0A 1A 0A              0  8  XXH3-64 of the rest of the record
//    8  4  version                                    8  4  kind: 0 rank, 1 unreadable file
//   12  4  records                                   12  4  packing: 0 none, 1 zstd
//   16  8  bytes of all records                      16  4  payload bytes
//   24  8  XXH3-64 of bytes 0 to 23                  20  4  stored bytes
//                                                    24     the stored bytes
//
// Records stand in order (rank, then payload), so a set of ranks has one file. Damage is an error and never skipped:
// with half of its ranks a run would seem to have another straggler. Each record is packed alone, so that a rank's
// bytes do not depend on the others: one stream over 1,024 ranks would be a third smaller and would have to be made
// anew at each merge.
#include "fleet/summary_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "fleet/canonical_run.h"
#include "fleet/summary_pack.h"
#include "fleet/summary_payload.h"

namespace stepscope {
namespace {

constexpr std::string_view kMagic = "\x89SSS\r\n\x1a\n";
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kRecordHeaderBytes = 24;
constexpr std::uint32_t kRankRecord = 0, kUnreadableRecord = 1;
// What reading may take of memory: a rank of a large run takes some 200 times its stored bytes.
constexpr std::uint64_t kBudgetBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kBudgetRatio = 4096;

template <class Number>
void put(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}
template <class Number>
Number get(std::string_view bytes, std::size_t at) {
  Number number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

std::string make_record(std::uint32_t kind, std::string_view payload) {
  const PackedPayload packed = pack_payload(payload);
  std::string record(sizeof(std::uint64_t), '\0');
  put(record, kind);
  put(record, static_cast<std::uint32_t>(packed.packing));
  put(record, static_cast<std::uint32_t>(payload.size()));
  put(record, static_cast<std::uint32_t>(packed.bytes.size()));
  record += packed.bytes;
  const std::uint64_t hash = XXH3_64bits(record.data() + sizeof hash, record.size() - sizeof hash);
  std::memcpy(record.data(), &hash, sizeof hash);
  return record;
}

// Reads the records one after the other; the first that is wrong ends it.
class FileReader {
 public:
  FileReader(std::string_view bytes, const std::string& file)
      : bytes_(bytes), file_(file), budget_{kBudgetBytes + kBudgetRatio * bytes.size()} {}

  Result<RunSummary> read() {
    const Result<std::uint32_t> records = read_header();
    if (!records) return records.error();
    for (std::uint32_t i = 0; i < *records; ++i) {
      const Status status = read_record();
      if (!status) return status.error();
    }
    if (at_ != bytes_.size()) return damaged("bytes behind the last rank");
    return std::move(run_);
  }

 private:
  [[nodiscard]] Error error(ErrorCode code, const std::string& what) const { return {code, what, file_, at_}; }
  [[nodiscard]] Error damaged(const std::string& what) const {
    return error(ErrorCode::kDamaged, "a damaged summary: " + what);
  }

  Result<std::uint32_t> read_header() {
    if (bytes_.empty()) return Error{ErrorCode::kEmpty, "file is empty", file_};
    if (!is_summary(bytes_)) return error(ErrorCode::kUnknownFormat, "not a summary (*.sss) of stepscope");
    if (bytes_.size() < kHeaderBytes) return damaged("it is cut inside its header");
    const auto version = get<std::uint32_t>(bytes_, 8);
    if (version > kSummaryVersion) {
      return error(ErrorCode::kUnsupported, "a summary of version " + std::to_string(version) +
                                                ", made by a newer stepscope; this one reads version " +
                                                std::to_string(kSummaryVersion));
    }
    if (get<std::uint64_t>(bytes_, 24) != XXH3_64bits(bytes_.data(), 24) || version == 0) {
      return damaged("its header fails its checksum");
    }
    version_ = version;
    const auto size = get<std::uint64_t>(bytes_, 16);
    if (size > bytes_.size() - kHeaderBytes)
      return damaged("it is cut: " + std::to_string(bytes_.size()) + " bytes of " +
                     std::to_string(size + kHeaderBytes));
    at_ = kHeaderBytes;
    return get<std::uint32_t>(bytes_, 12);
  }

  Status read_record() {
    if (bytes_.size() - at_ < kRecordHeaderBytes) return damaged("it is cut inside a rank");
    const std::string_view rest = bytes_.substr(at_);
    const auto kind = get<std::uint32_t>(rest, 8), packing = get<std::uint32_t>(rest, 12);
    const auto payload_bytes = get<std::uint32_t>(rest, 16), stored_bytes = get<std::uint32_t>(rest, 20);
    if (stored_bytes > rest.size() - kRecordHeaderBytes) return damaged("it is cut inside a rank");
    const std::string_view record = rest.substr(0, kRecordHeaderBytes + stored_bytes);
    if (get<std::uint64_t>(rest, 0) != XXH3_64bits(record.data() + 8, record.size() - 8)) {
      return damaged("a rank fails its checksum");
    }
    if (kind > kUnreadableRecord || packing > static_cast<std::uint32_t>(Packing::kZstd)) {
      return damaged("a record of a kind that does not exist");
    }
    if (!is_sound_size(static_cast<Packing>(packing), stored_bytes, payload_bytes) || !take(payload_bytes)) {
      return damaged("a rank of " + std::to_string(payload_bytes) + " bytes in " + std::to_string(stored_bytes));
    }
    std::string payload;
    if (!unpack_payload(static_cast<Packing>(packing), record.substr(kRecordHeaderBytes), payload_bytes, payload)) {
      return damaged("a rank that cannot be unpacked");
    }
    const Status status = kind == kRankRecord ? add_rank(std::move(payload)) : add_unreadable(payload);
    at_ += record.size();
    return status;
  }
  bool take(std::uint64_t bytes) {
    if (bytes > budget_.left_bytes) return false;
    budget_.left_bytes -= bytes;
    return true;
  }

  Status add_rank(std::string payload) {
    Result<RankSummary> rank = decode_rank(payload, budget_, version_);
    if (!rank) return damaged(rank.error().message);
    if (!run_.unreadable.empty()) return damaged("a rank behind the unreadable files");
    if (!run_.ranks.empty() && !is_before({run_.ranks.back().rank, last_payload_}, {rank->rank, payload})) {
      return damaged("ranks that are not in order");
    }
    run_.ranks.push_back(std::move(*rank));
    last_payload_ = std::move(payload);
    return Done{};
  }
  Status add_unreadable(std::string_view payload) {
    const Result<UnreadableRank> file = decode_unreadable(payload, budget_, version_);
    if (!file) return damaged(file.error().message);
    if (!run_.unreadable.empty() && !(run_.unreadable.back() < *file)) {
      return damaged("unreadable files that are not in order");
    }
    run_.unreadable.push_back(*file);
    return Done{};
  }

  std::string_view bytes_;
  const std::string& file_;
  DecodeBudget budget_;
  std::size_t at_ = 0;
  std::uint32_t version_ = kSummaryVersion;
  RunSummary run_;
  std::string last_payload_;
};

}  // namespace

std::string write_summary(const RunSummary& run) {
  std::string records;
  std::uint32_t count = 0;
  for (const EncodedRank& rank : encode_in_order(run.ranks)) {
    records += make_record(kRankRecord, rank.payload);
    ++count;
  }
  for (const UnreadableRank& file : unreadable_in_order(run.unreadable)) {
    records += make_record(kUnreadableRecord, encode_unreadable(file));
    ++count;
  }
  std::string bytes(kMagic);
  put(bytes, kSummaryVersion);
  put(bytes, count);
  put(bytes, static_cast<std::uint64_t>(records.size()));
  put(bytes, static_cast<std::uint64_t>(XXH3_64bits(bytes.data(), bytes.size())));
  return bytes + records;
}

Result<RunSummary> read_summary(std::string_view bytes, const std::string& file) {
  return FileReader(bytes, file).read();
}

bool is_summary(std::string_view first_bytes) { return first_bytes.starts_with(kMagic); }

}  // namespace stepscope
