// The order of reads: where the innermost frame is; all frames known from the last look; those that are new, one by one
// (each is found only in the one before it); code objects; strings; then everything about the chain once more.
#include "agent/python_look.h"

#include <algorithm>
#include <cstring>

namespace stepscope::agent {
namespace {

constexpr std::size_t kMostParts = 512;  // a call takes 1,024
constexpr std::uint64_t kLeastPage = 4096;

std::uint64_t word_at(const char* bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes + at, sizeof word);
  return word;
}

}  // namespace

PythonLook::PythonLook(const PythonLayout& layout, const void* code_type)
    : layout_(layout), code_type_(reinterpret_cast<std::uint64_t>(code_type)) {
  frame_bytes_ = std::max({layout.frame_previous, layout.frame_code, layout.frame_instruction, layout.frame_owner}) + 8;
  code_bytes_ = std::max({layout.code_file, layout.code_name, layout.code_lines, layout.code_first_line}) + 8;
}

bool PythonLook::read_all(const std::vector<Part>& parts) const {
  std::array<iovec, kMostParts> local, remote;
  for (std::size_t done = 0; done < parts.size();) {
    const std::size_t count = std::min(parts.size() - done, kMostParts);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Part& part = parts[done + i];
      local[i] = {part.to, part.bytes};
      remote[i] = {reinterpret_cast<void*>(part.from), part.bytes};
      bytes += part.bytes;
    }
    if (process_vm_readv(process_id_, local.data(), count, remote.data(), count, 0) != static_cast<ssize_t>(bytes)) {
      return false;
    }
    done += count;
  }
  return true;
}

std::uint64_t PythonLook::first_frame(std::uint64_t thread_state) const {
  std::uint64_t frame = 0;
  if (thread_state == 0 || !SafeReader::read(thread_state + layout_.thread_frame, &frame, 8) || frame == 0) return 0;
  if (layout_.has_c_frame() && !SafeReader::read(frame + layout_.c_frame_current, &frame, 8)) return 0;
  return frame;
}

PythonLook::Frame PythonLook::frame_in(std::uint64_t address, const char* bytes) const {
  Frame frame;
  frame.address = address;
  frame.code = word_at(bytes, layout_.frame_code) & ~std::uint64_t{3};
  frame.instruction = word_at(bytes, layout_.frame_instruction);
  if (layout_.has_frame_objects()) frame.instruction &= 0xFFFFFFFF;
  frame.previous = word_at(bytes, layout_.frame_previous);
  if (layout_.frame_owner != 0) frame.owner = static_cast<std::uint8_t>(bytes[layout_.frame_owner]);
  return frame;
}

bool PythonLook::read_frames(const std::vector<Frame>& which, std::vector<Frame>& into) {
  into.clear();
  if (which.empty()) return true;
  addresses_.clear();
  for (const Frame& frame : which) addresses_.push_back(frame.address);
  std::sort(addresses_.begin(), addresses_.end());
  // Ranges: between two addresses less than a page apart lie no pages but theirs.
  std::vector<Part> ranges;
  std::size_t bytes = 0;
  for (std::size_t i = 0, next = 0; i < addresses_.size(); i = next) {
    for (next = i + 1; next < addresses_.size() && addresses_[next] - addresses_[next - 1] < kLeastPage; ++next) {
    }
    ranges.push_back({addresses_[i], nullptr, addresses_[next - 1] - addresses_[i] + frame_bytes_});
    bytes += ranges.back().bytes;
  }
  frame_memory_.resize(bytes);
  bytes = 0;
  for (Part& range : ranges) {
    range.to = frame_memory_.data() + bytes;
    bytes += range.bytes;
  }
  if (!read_all(ranges)) return false;
  for (const Frame& frame : which) {
    const auto range = std::prev(std::upper_bound(ranges.begin(), ranges.end(), frame.address,
                                                  [](std::uint64_t at, const Part& part) { return at < part.from; }));
    const char* const memory = static_cast<const char*>(range->to) + (frame.address - range->from);
    into.push_back(frame_in(frame.address, memory));
  }
  return true;
}

bool PythonLook::walk(std::uint64_t first) {
  if (!read_frames(last_, fresh_)) fresh_.clear();
  chain_.clear();
  std::size_t known = 0;
  for (std::uint64_t at = first; at != 0; at = chain_.back().previous) {
    if (chain_.size() == 2 * kMostPythonFrames) break;
    const auto found = std::find_if(fresh_.begin() + static_cast<std::ptrdiff_t>(known), fresh_.end(),
                                    [&](const Frame& frame) { return frame.address == at; });
    if (found != fresh_.end()) {
      known = static_cast<std::size_t>(found - fresh_.begin()) + 1;
      chain_.push_back(*found);
      continue;
    }
    std::array<char, kFrameBytes> bytes;
    if (!SafeReader::read(at, bytes.data(), frame_bytes_)) return false;
    chain_.push_back(frame_in(at, bytes.data()));
  }
  return !chain_.empty();
}

bool PythonLook::name_codes(std::size_t count) {
  std::array<Frame*, 2 * kMostPythonFrames> named;
  std::size_t named_count = 0;
  parts_.clear();
  code_memory_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    Frame& frame = chain_[i];
    frame.is_python = false;
    if (frame.code == 0 || frame.owner >= kOwnedByC) continue;
    parts_.push_back({frame.code, code_memory_[named_count].data(), code_bytes_});
    named[named_count++] = &frame;
  }
  if (!read_all(parts_)) return false;

  std::array<CodeParts, 2 * kMostPythonFrames> codes;
  std::array<std::uint64_t, 2 * kMostPythonFrames> file_length;
  std::array<std::array<std::uint64_t, 3>, 2 * kMostPythonFrames> table;
  parts_.clear();
  for (std::size_t i = 0; i < named_count; ++i) {
    const char* const bytes = code_memory_[i].data();
    if (word_at(bytes, kTypeAt) != code_type_) continue;
    named[i]->is_python = true;
    CodeParts& code = codes[i];
    code.code = named[i]->code;
    code.file = word_at(bytes, layout_.code_file);
    code.first_line = static_cast<std::uint32_t>(word_at(bytes, layout_.code_first_line));
    parts_.push_back({code.file + kSizeAt, &file_length[i], 8});
    parts_.push_back({word_at(bytes, layout_.code_name) + kStringHashAt, &code.name_hash, 8});
    parts_.push_back({word_at(bytes, layout_.code_lines) + kSizeAt, table[i].data(), sizeof table[i]});
  }
  if (!read_all(parts_)) return false;
  parts_.clear();
  for (std::size_t i = 0; i < named_count; ++i) {
    if (!named[i]->is_python) continue;
    parts_.push_back({codes[i].file + layout_.ascii_header + file_length[i] - 8, &codes[i].file_end, 8});
  }
  if (!read_all(parts_)) return false;
  for (std::size_t i = 0; i < named_count; ++i) {
    codes[i].table_size = table[i][0];
    codes[i].table_begin = table[i][2];
    named[i]->identity = identity_of(codes[i]);
  }
  return true;
}

std::size_t PythonLook::look(std::uint64_t thread_state, std::array<RawFrame, kMostPythonFrames>& frames) {
  process_id_ = getpid();
  const std::uint64_t first = first_frame(thread_state);
  if (first == 0 || !walk(first)) return 0;
  // What did not move since the last look: the same frames at the same instructions, from the outermost on.
  std::size_t same = 0;
  while (same < std::min(chain_.size(), last_.size()) &&
         chain_[chain_.size() - 1 - same] == last_[last_.size() - 1 - same]) {
    Frame& frame = chain_[chain_.size() - 1 - same];
    frame = last_[last_.size() - 1 - same];
    ++same;
  }
  const bool is_still = same == chain_.size() && same == last_.size();
  if (!is_still) {
    last_.clear();
    if (!name_codes(chain_.size() - same)) return 0;
    if (!read_frames(chain_, fresh_) || fresh_ != chain_ || first_frame(thread_state) != first) return 0;
    last_ = chain_;
  }
  std::size_t count = 0;
  for (const Frame& frame : chain_) {
    if (!frame.is_python || count == kMostPythonFrames) continue;
    frames[count++] = {frame.code, frame.identity, instruction_of(layout_, frame.code, frame.instruction)};
  }
  return count;
}

}  // namespace stepscope::agent
