// Where CPython 3.10 to 3.14 keep the frames of a thread, and the few functions of its interface that prove it.
//
//   thread state -> frame -> frame -> ...        3.10: a linked list of frame objects
//                     |                          3.11, 3.12: thread state -> C frame -> interpreter frames
//                     +-> code object            3.13 on: thread state -> interpreter frames; CPython itself
//                         + instruction          publishes the offsets (_PyRuntime begins with them)
//
// Each layout is proven once in the process: the frames of a real stack, read raw, must be those that the public
// interface gives, with the same code objects, instructions, texts and line numbers. Until then, and when the proof
// fails, there are no stacks. Raw memory is read by process_vm_readv during the proof, so a wrong table is an error and
// not a crash. Free-threaded builds are refused: their frames are tagged differently.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope::agent {

struct PyObject;  // only ever a pointer

struct PythonApi {
  const char* (*version)() = nullptr;
  void* (*own_thread_state)() = nullptr;      // PyGILState_GetThisThreadState: no GIL needed
  void* (*current_thread_state)() = nullptr;  // of whoever holds the GIL
  int (*is_finalizing)() = nullptr;
  PyObject* (*first_frame)(void* thread_state) = nullptr;
  PyObject* (*frame_code)(PyObject*) = nullptr;
  PyObject* (*frame_back)(PyObject*) = nullptr;
  int (*frame_line)(PyObject*) = nullptr;
  PyObject* (*attribute)(PyObject*, const char*) = nullptr;
  long (*to_long)(PyObject*) = nullptr;
  const char* (*to_utf8)(PyObject*, std::int64_t* bytes) = nullptr;
  PyObject* (*has_error)() = nullptr;
  void (*clear_error)() = nullptr;
  void (*release)(PyObject*) = nullptr;
  const void* code_type = nullptr;
  const void* runtime = nullptr;  // _PyRuntime

  [[nodiscard]] bool is_complete() const;
};

// Of this process: of the program itself or of its libpython. Incomplete when there is none.
[[nodiscard]] PythonApi find_python();

// Offsets in bytes.
struct PythonLayout {
  int minor = 0;  // of 3.minor; 0: none
  std::uint32_t thread_frame = 0;
  std::uint32_t c_frame_current = 0;  // 3.11, 3.12: from what thread_frame points to
  std::uint32_t thread_number = 0;    // pthread_self of the thread
  std::uint32_t frame_previous = 0, frame_code = 0, frame_instruction = 0;
  std::uint32_t frame_owner = 0;  // 0: frames have none (3.10)
  std::uint32_t code_file = 0, code_name = 0, code_first_line = 0, code_lines = 0;
  std::uint32_t code_bytes = 0;    // 0: the instruction is a number (3.10)
  std::uint32_t ascii_header = 0;  // of a string: before the text of an ASCII one
  std::uint32_t other_header = 0;  // of others

  [[nodiscard]] bool has_c_frame() const { return minor == 11 || minor == 12; }
  [[nodiscard]] bool has_frame_objects() const { return minor == 10; }
};

// "3.12.3 (main, ...": {12, 3}; {0, 0} when it is no 3.x.
struct PythonVersion {
  int minor = 0;
  std::string text;  // "3.12.3"
};
[[nodiscard]] PythonVersion parse_python_version(std::string_view text);

// What is known of this version; `minor` 0 and a reason when nothing is.
struct LayoutGuess {
  PythonLayout layout;
  std::string problem;
};
[[nodiscard]] LayoutGuess guess_layout(int minor, const void* runtime);

enum class ProofResult : std::uint8_t { kProven, kRefuted, kLater };
// In a thread that holds the GIL. kLater: there is no Python frame here, or an exception is on its way.
[[nodiscard]] ProofResult prove_layout(const PythonApi& api, const PythonLayout& layout, std::string& problem);

}  // namespace stepscope::agent
