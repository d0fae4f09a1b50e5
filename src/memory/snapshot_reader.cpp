// Pickle or JSON? Its first bytes decide; then one of two readers fills the same tree.
#include "memory/snapshot_reader.h"

#include <algorithm>
#include <array>

#include "memory/pickle_machine.h"
#include "memory/snapshot_json.h"

namespace stepscope {

using namespace snapshot_reading;

namespace {

constexpr std::size_t kPrefixBytes = 64;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view without_blanks(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

// After a bracket JSON has blanks, a bracket or a quote; a pickle has an opcode, and ']' and '}' are no first bytes of
// JSON.
bool is_json(std::string_view prefix) {
  const std::string_view text = without_blanks(prefix);
  return text.starts_with('{') || text.starts_with('[');
}

bool is_pickle(std::string_view prefix) {
  if (prefix.size() >= 2 && prefix[0] == '\x80') return true;
  // Protocols 0 and 1: an empty list or dict first, or a mark with LIST or DICT.
  return prefix.starts_with(']') || prefix.starts_with('}') || prefix.starts_with("(l") || prefix.starts_with("(d");
}

// Pickles that no snapshot begins like, but that are to be refused by what they ask for: a mark, or GLOBAL with the two
// lines behind it that name a thing.
bool is_other_pickle(std::string_view prefix) {
  if (prefix.starts_with('(')) return true;
  if (!prefix.starts_with('c')) return false;
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  const std::size_t first = prefix.find('\n');
  const std::size_t second = first == std::string_view::npos ? first : prefix.find('\n', first + 1);
  if (second == std::string_view::npos) return false;
  return std::ranges::all_of(prefix.substr(0, first), is_name) &&
         std::ranges::all_of(prefix.substr(first + 1, second - first - 1), is_name);
}

// Does JSON text begin with a key that only snapshots begin with?
bool has_snapshot_key(std::string_view text) {
  const std::size_t begin = text.find('"');
  const std::size_t end = begin == std::string_view::npos ? begin : text.find('"', begin + 1);
  if (end == std::string_view::npos) return false;
  if (text.substr(0, begin).find_first_not_of("[{ \t\r\n") != std::string_view::npos) return false;
  const std::string_view key = text.substr(begin + 1, end - begin - 1);
  constexpr std::array<std::string_view, 12> kKeys = {"segments",
                                                      "device_traces",
                                                      "allocator_settings",
                                                      "external_annotations",
                                                      "host_segments",
                                                      "trace_alloc_max_entries",
                                                      "trace_alloc_overflowed",
                                                      "host_traces",
                                                      "device",
                                                      "address",
                                                      "total_size",
                                                      "segment_type"};
  return std::ranges::find(kKeys, key) != kKeys.end();
}

}  // namespace

bool looks_like_snapshot(std::string_view prefix) {
  if (is_json(prefix)) return has_snapshot_key(without_blanks(prefix));
  return is_pickle(prefix);
}

Result<MemorySnapshot> read_snapshot(const std::string& source, const ReadBytes& read) {
  MemorySnapshot snapshot;
  snapshot.info.source = source;
  SnapshotTree tree(snapshot);
  ByteWindow window(read);
  window.refill(window.begin(), kPrefixBytes);
  const auto in_file = [&](Error error) {
    error.file = source;
    return error;
  };
  if (window.error()) return in_file(*window.error());
  if (window.text().empty()) return in_file({.code = ErrorCode::kEmpty, .message = "the file is empty", .file = {}});

  // However much the first read gave: the same file is the same kind through a pipe.
  const std::string_view prefix = window.text().substr(0, kPrefixBytes);
  Result<Value> top = Value();
  if (is_json(prefix)) {
    snapshot.info.format = "json";
    top = read_json(window, tree, snapshot.notes);
  } else if (is_pickle(prefix) || is_other_pickle(prefix)) {
    snapshot.info.format = "pickle";
    PickleMachine machine(window, tree, snapshot.notes);
    top = machine.run();
    snapshot.info.pickle_protocol = machine.protocol();
  } else {
    return in_file(
        {.code = ErrorCode::kUnknownFormat, .message = "not a memory snapshot: neither a pickle nor JSON", .file = {}});
  }
  if (!top) return in_file(top.error());
  snapshot.info.byte_count = window.byte_count();
  const bool is_cut = snapshot.notes.unsound();
  if (const Status done = tree.finish(*top, snapshot.info.byte_count); !done) {
    if (!is_cut) return in_file(done.error());
    return in_file({.code = ErrorCode::kDamaged,
                    .message = "the file is cut before anything of a memory snapshot",
                    .file = {},
                    .byte_offset = snapshot.info.byte_count});
  }
  return snapshot;
}

}  // namespace stepscope
