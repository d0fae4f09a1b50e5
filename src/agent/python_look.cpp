// The order of reads: where the innermost frame is; all frames known from the last look; those that are new, one by one
// (each is found only in the one before it); code objects; strings; then everything about the chain once more.
#include "agent/python_look.h"

#include <algorithm>
#include <cstring>

namespace stepscope::agent {
namespace {

constexpr std::size_t kMostParts = 512;  // a call takes 1,024

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
  frame_memory_.resize(which.size());
  parts_.clear();
  for (std::size_t i = 0; i < which.size(); ++i) {
    parts_.push_back({which[i].address, frame_memory_[i].data(), frame_bytes_});
  }
  if (!read_all(parts_)) return false;
  for (std::size_t i = 0; i < which.size(); ++i) {
    into.push_back(frame_in(which[i].address, frame_memory_[i].data()));
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

std::size_t PythonLook::name_codes(std::array<RawFrame, kMostPythonFrames>& frames) {
  std::array<const Frame*, kMostPythonFrames> python;
  std::array<CodeParts, kMostPythonFrames> codes;
  std::size_t count = 0;
  for (const Frame& frame : chain_) {
    if (frame.code == 0 || frame.owner >= kOwnedByC || count == kMostPythonFrames) continue;
    codes[count].code = frame.code;
    python[count++] = &frame;
  }
  code_memory_.resize(count);
  parts_.clear();
  for (std::size_t i = 0; i < count; ++i) parts_.push_back({codes[i].code, code_memory_[i].data(), code_bytes_});
  if (!read_all(parts_)) return 0;

  std::array<std::uint64_t, kMostPythonFrames> file_length;
  std::array<std::array<std::uint64_t, 3>, kMostPythonFrames> table;
  std::size_t kept = 0;
  parts_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const char* const bytes = code_memory_[i].data();
    if (word_at(bytes, kTypeAt) != code_type_) continue;
    CodeParts& code = codes[kept];
    code.code = codes[i].code;
    python[kept] = python[i];
    code.file = word_at(bytes, layout_.code_file);
    code.first_line = static_cast<std::uint32_t>(word_at(bytes, layout_.code_first_line));
    parts_.push_back({code.file + kSizeAt, &file_length[kept], 8});
    parts_.push_back({word_at(bytes, layout_.code_name) + kStringHashAt, &code.name_hash, 8});
    parts_.push_back({word_at(bytes, layout_.code_lines) + kSizeAt, table[kept].data(), sizeof table[kept]});
    ++kept;
  }
  if (!read_all(parts_)) return 0;
  parts_.clear();
  for (std::size_t i = 0; i < kept; ++i) {
    parts_.push_back({codes[i].file + layout_.ascii_header + file_length[i] - 8, &codes[i].file_end, 8});
  }
  if (!read_all(parts_)) return 0;
  for (std::size_t i = 0; i < kept; ++i) {
    codes[i].table_size = table[i][0];
    codes[i].table_begin = table[i][2];
    frames[i].code = codes[i].code;
    frames[i].identity = identity_of(codes[i]);
    frames[i].instruction = instruction_of(layout_, codes[i].code, python[i]->instruction);
  }
  return kept;
}

std::size_t PythonLook::look(std::uint64_t thread_state, std::array<RawFrame, kMostPythonFrames>& frames) {
  process_id_ = getpid();
  const std::uint64_t first = first_frame(thread_state);
  if (first == 0 || !walk(first)) return 0;
  const std::size_t count = name_codes(frames);
  last_ = chain_;
  const bool is_still = read_frames(chain_, fresh_) && fresh_ == chain_ && first_frame(thread_state) == first;
  return is_still ? count : 0;
}

}  // namespace stepscope::agent
