// The walk itself, as a template over how memory is read: directly (frames of one's own thread, which stand still while
// the thread is in a hook) or by process_vm_readv (frames of others and layouts not proven yet, where a pointer may be
// anything and reading it must be an error instead of a crash).
//
// 4 loads a frame for the chain, 11 for what tells a code object from another that lay at the same address before:
// programs that compile code in a loop free and reuse such addresses all the time. Compared are the name's text (by the
// hash that CPython keeps in it), the file's string and its last 8 characters, the first line, and size and beginning
// of the line table.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>

#include "agent/python_layout.h"

namespace stepscope::agent {

// The innermost ones are kept. Deep recursion loses its outer end; a training step with a framework has 40 to 80.
constexpr std::size_t kMostPythonFrames = 128;

struct RawFrame {
  std::uint64_t code = 0;
  std::uint64_t identity = 0;     // of the code object, beyond its address
  std::int32_t instruction = -1;  // offset in bytes; < 0: not begun
};

struct DirectReader {
  static bool read(std::uint64_t address, void* to, std::size_t bytes) {
    std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
    return true;
  }
};
struct SafeReader {
  static bool read(std::uint64_t address, void* to, std::size_t bytes) {
    iovec local{to, bytes};
    iovec remote{reinterpret_cast<void*>(address), bytes};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
  }
};

// CPython's objects: type at 8, of strings: length at 16, hash at 24; of bytes: size at 16, text at 32.
constexpr std::uint32_t kTypeAt = 8, kSizeAt = 16, kStringHashAt = 24, kBytesAt = 32;

// The owner of frames that only mark where C entered the interpreter (3.12 gives them a code object).
constexpr std::uint8_t kOwnedByC = 3;

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a ^ 0x9E3779B97F4A7C15) * (b ^ 0xD1B54A32D192ED03);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

struct CodeParts {
  std::uint64_t code = 0, file = 0, file_end = 0, name_hash = 0;
  std::uint32_t first_line = 0;
  std::uint64_t table_size = 0, table_begin = 0;
};
// Sums of multiples, since parts that are only shifted and xor-ed cancel each other out (addresses come in steps).
inline std::uint64_t identity_of(const CodeParts& parts) {
  return mix(parts.code + parts.file * 0x9FB21C651E98DF25 + parts.file_end * 0xA24BAED4963EE407,
             parts.name_hash + parts.first_line * 0xE7037ED1A0B428DB + parts.table_begin * 0x8EBC6AF09C88C6E3 +
                 parts.table_size * 0x589965CC75374CC3);
}

template <class Reader>
bool read_identity(const PythonLayout& at, std::uint64_t code, std::uint64_t& identity) {
  std::uint64_t file = 0, name = 0, lines = 0, file_length = 0, file_end = 0, name_hash = 0;
  std::uint32_t first_line = 0;
  struct {
    std::uint64_t size, hash, begin;
  } table{};
  static_assert(sizeof table == kBytesAt + 8 - kSizeAt);
  if (!Reader::read(code + at.code_file, &file, 8) || !Reader::read(code + at.code_name, &name, 8) ||
      !Reader::read(code + at.code_lines, &lines, 8) || !Reader::read(code + at.code_first_line, &first_line, 4) ||
      !Reader::read(file + kSizeAt, &file_length, 8) ||
      !Reader::read(file + at.ascii_header + file_length - 8, &file_end, 8) ||  // in the object whatever its length
      !Reader::read(name + kStringHashAt, &name_hash, 8) || !Reader::read(lines + kSizeAt, &table, sizeof table)) {
    return false;
  }
  identity = identity_of({code, file, file_end, name_hash, first_line, table.size, table.begin});
  return true;
}

// 3.10 counts instructions of two bytes; later versions point at one.
inline std::int32_t instruction_of(const PythonLayout& at, std::uint64_t code, std::uint64_t stored) {
  return at.code_bytes == 0 ? static_cast<std::int32_t>(stored) * 2
                            : static_cast<std::int32_t>(stored - (code + at.code_bytes));
}

// Fills `frames` from the innermost on; how many. Frames that are no Python code (entries from C) are left out.
template <class Reader>
std::size_t walk_frames(const PythonLayout& at, const void* code_type, std::uint64_t thread_state,
                        std::array<RawFrame, kMostPythonFrames>& frames) {
  std::uint64_t frame = 0;
  if (thread_state == 0 || !Reader::read(thread_state + at.thread_frame, &frame, 8) || frame == 0) return 0;
  if (at.has_c_frame() && !Reader::read(frame + at.c_frame_current, &frame, 8)) return 0;
  std::size_t count = 0;
  // Twice as many looks as frames: a chain read while it changes may be a ring.
  for (std::size_t looks = 0; frame != 0 && count < kMostPythonFrames && looks < 2 * kMostPythonFrames; ++looks) {
    std::uint64_t code = 0, type = 0, instruction = 0, previous = 0;
    if (!Reader::read(frame + at.frame_code, &code, 8) ||
        !Reader::read(frame + at.frame_instruction, &instruction, 8) ||
        !Reader::read(frame + at.frame_previous, &previous, 8)) {
      break;
    }
    std::uint8_t owner = 0;
    if (at.frame_owner != 0 && !Reader::read(frame + at.frame_owner, &owner, 1)) break;
    frame = previous;
    if (owner >= kOwnedByC) continue;
    code &= ~std::uint64_t{3};  // tags of 3.14
    if (code == 0) continue;
    if (!Reader::read(code + kTypeAt, &type, 8)) break;
    if (type != reinterpret_cast<std::uint64_t>(code_type)) continue;
    RawFrame& raw = frames[count];
    raw.code = code;
    if (!read_identity<Reader>(at, code, raw.identity)) break;
    raw.instruction = instruction_of(at, code, instruction);
    ++count;
  }
  return count;
}

}  // namespace stepscope::agent
