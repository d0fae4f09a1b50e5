// A look at the frames of another thread while it runs.
//
// The thread is not stopped and takes no notice: no signal (which would interrupt its system calls), no GIL (which
// would make it hand over, and which nobody gets while C code holds it). Its memory is read by process_vm_readv, so
// what changes meanwhile gives an error or a mixture, never a crash; a look counts only when a second one right after
// it reads the same. docs/decisions/python-sampling.md weighs the ways.
//
// A read costs some 0.4 us for each place read, whatever the number of system calls (the kernel pins pages for each),
// so few places are read: frames that lie close together as one range (CPython 3.11 on keeps them on a stack of their
// own), and code objects only of frames that changed since the last look.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "agent/python_layout.h"
#include "agent/python_walk.h"

namespace stepscope::agent {

class PythonLook {
 public:
  PythonLook(const PythonLayout& layout, const void* code_type);
  // Frames of the thread with this state, innermost first; how many. 0: none, or it ran on while it was looked at.
  std::size_t look(std::uint64_t thread_state, std::array<RawFrame, kMostPythonFrames>& frames);

 private:
  static constexpr std::size_t kFrameBytes = 112;  // more than any layout's fields reach
  static constexpr std::size_t kCodeBytes = 160;
  struct Frame {
    std::uint64_t address = 0;
    std::uint64_t code = 0, instruction = 0, previous = 0;
    std::uint8_t owner = 0;
    // Of its code object, once read.
    bool is_python = false;
    std::uint64_t identity = 0;
    bool operator==(const Frame& other) const {
      return address == other.address && code == other.code && instruction == other.instruction &&
             previous == other.previous && owner == other.owner;
    }
  };
  struct Part {
    std::uint64_t from;
    void* to;
    std::size_t bytes;
  };

  // True: all of them were read.
  [[nodiscard]] bool read_all(const std::vector<Part>& parts) const;
  [[nodiscard]] std::uint64_t first_frame(std::uint64_t thread_state) const;
  [[nodiscard]] Frame frame_in(std::uint64_t address, const char* bytes) const;
  bool read_frames(const std::vector<Frame>& which, std::vector<Frame>& into);
  bool walk(std::uint64_t first);
  // Of the innermost `count` frames of the chain; the others keep what the last look found.
  bool name_codes(std::size_t count);

  const PythonLayout& layout_;
  std::uint64_t code_type_;
  int process_id_ = 0;  // asked once a look: getpid is a system call too
  std::size_t frame_bytes_ = 0;
  std::size_t code_bytes_ = 0;
  std::vector<Frame> last_;   // of the last look, outermost last
  std::vector<Frame> fresh_;  // the same frames, read anew
  std::vector<Frame> chain_;
  std::vector<Part> parts_;
  std::vector<char> frame_memory_;
  std::vector<std::uint64_t> addresses_;
  std::vector<std::array<char, kCodeBytes>> code_memory_;
};

}  // namespace stepscope::agent
