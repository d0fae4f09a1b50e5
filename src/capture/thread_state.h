// What the recorder keeps of each thread in thread-local storage: its place in its buffer, its names.
//
// Plain data, made by the loader and never destroyed, so that reading it is one instruction and spans in destructors of
// other thread-local objects still find it. "initial-exec" for the same reason: a shared library would else call a
// function for each access (5 ns of a span's 60).
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope {

struct Chunk;
class ThreadLog;
struct NameCache;

// No value of detail::recorder_state, whose bit 0 is set while something records.
inline constexpr std::uint64_t kNoRecording = 2;

struct ThreadState {
  std::uint64_t recorder_state = kNoRecording;  // the recording that `log` belongs to
  std::uint64_t log_number = 0;                 // of `log`; 0: none
  ThreadLog* log = nullptr;
  Chunk* chunk = nullptr;
  std::byte* at = nullptr;  // next byte to write in `chunk`
  std::byte* limit = nullptr;
  NameCache* names = nullptr;
  std::uint32_t detail_count = 0;  // in `log`
  std::uint32_t thread_name = 0;   // given by set_thread_name; 0: none
  std::int32_t thread_id = 0;      // gettid; 0: not asked yet
  bool is_adopted = false;         // its end will be noticed
  bool is_over = false;            // its end was noticed: nothing new is made for it
};

extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

// Gives the thread a log of the recording `state`; false: that one is over, or the thread.
bool attach_thread(ThreadState& thread, std::uint64_t state);

// Makes sure that the thread's end frees what is kept for it; called before anything is. False: it ends already.
bool adopt_thread();

}  // namespace stepscope
