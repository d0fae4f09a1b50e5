// Open addressing in 4 MiB of zero pages, of which only those that are hit become memory. A row is published by its
// hash, stored last; rows are never removed. A full table was preferred over one that grows: readers never wait.
#include "agent/python_stacks.h"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "agent/fork_hooks.h"
#include "agent/parts.h"

namespace stepscope::agent {
namespace {

constexpr std::size_t kRows = 262'144;  // kMostStacks fill three quarters

struct Row {
  std::atomic<std::uint64_t> hash;  // 0: free
  std::atomic<std::uint32_t> number;
};

struct Kept {
  std::uint32_t code = 0;
  std::int32_t instruction = -1;
};

struct Stacks {
  std::mutex mutex;
  Row* rows = nullptr;
  std::deque<std::vector<Kept>> stacks;  // number - 1
  std::deque<CodeText> codes;
  std::unordered_map<std::uint64_t, std::uint32_t> code_of;  // by address and identity
  std::uint64_t bytes = 0;
};

void lock_stacks();
void unlock_stacks();
Stacks& stacks() {
  static auto* const one = [] {
    auto* const made = new Stacks;
    void* const memory =
        mmap(nullptr, kRows * sizeof(Row), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) made->rows = static_cast<Row*>(memory);
    join_forks({lock_stacks, unlock_stacks, unlock_stacks});
    return made;
  }();
  return *one;
}
void lock_stacks() { stacks().mutex.lock(); }
void unlock_stacks() { stacks().mutex.unlock(); }

std::uint32_t find(const Row* rows, std::uint64_t hash) {
  for (std::size_t i = 0, at = hash % kRows; i < kRows; ++i, at = (at + 1) % kRows) {
    const std::uint64_t there = rows[at].hash.load(std::memory_order_acquire);
    if (there == hash) return rows[at].number.load(std::memory_order_relaxed);
    if (there == 0) return 0;
  }
  return 0;
}

void publish(Row* rows, std::uint64_t hash, std::uint32_t number) {
  std::size_t at = hash % kRows;
  while (rows[at].hash.load(std::memory_order_relaxed) != 0) at = (at + 1) % kRows;
  rows[at].number.store(number, std::memory_order_relaxed);
  rows[at].hash.store(hash, std::memory_order_release);
}

// Number of the code's text; < 0: it cannot be read.
template <class Reader>
std::int64_t code_number(Stacks& all, const PythonLayout& layout, const RawFrame& frame) {
  const std::uint64_t key = mix(frame.code, frame.identity);
  const auto known = all.code_of.find(key);
  if (known != all.code_of.end()) return known->second;
  CodeText text;
  if (!read_code<Reader>(layout, frame.code, text)) return -1;
  all.bytes += text.file.size() + text.function.size() + text.lines.size() + 160;  // with what the tables take
  all.codes.push_back(std::move(text));
  const auto number = static_cast<std::uint32_t>(all.codes.size() - 1);
  all.code_of.emplace(key, number);
  return number;
}

template <class Reader>
std::uint32_t add_stack(Stacks& all, const PythonLayout& layout, std::span<const RawFrame> frames, std::uint64_t hash) {
  const std::lock_guard lock(all.mutex);
  if (const std::uint32_t known = find(all.rows, hash); known != 0) return known;
  if (all.stacks.size() >= kMostStacks || all.bytes >= kMostStackBytes) {
    remark("Python stacks: no room for more different ones; further ones are missing");
    return 0;
  }
  std::vector<Kept> kept;
  kept.reserve(frames.size());
  for (const RawFrame& frame : frames) {
    const std::int64_t code = code_number<Reader>(all, layout, frame);
    if (code < 0) return 0;
    kept.push_back({static_cast<std::uint32_t>(code), frame.instruction});
  }
  all.bytes += kept.size() * sizeof(Kept) + 48;
  all.stacks.push_back(std::move(kept));
  const auto number = static_cast<std::uint32_t>(all.stacks.size());
  publish(all.rows, hash, number);
  return number;
}

}  // namespace

std::uint64_t hash_of(std::span<const RawFrame> frames) {
  std::uint64_t hash = frames.size();
  for (const RawFrame& frame : frames) {
    hash = mix(hash, frame.identity + (std::uint64_t{static_cast<std::uint32_t>(frame.instruction)} << 20));
  }
  return hash == 0 ? 1 : hash;
}

template <class Reader>
std::uint32_t stack_number(const PythonLayout& layout, std::span<const RawFrame> frames) noexcept try {
  Stacks& all = stacks();
  if (all.rows == nullptr || frames.empty()) return 0;
  const std::uint64_t hash = hash_of(frames);
  const std::uint32_t known = find(all.rows, hash);
  return known != 0 ? known : add_stack<Reader>(all, layout, frames, hash);
} catch (...) {
  return 0;
}
template std::uint32_t stack_number<DirectReader>(const PythonLayout&, std::span<const RawFrame>) noexcept;
template std::uint32_t stack_number<SafeReader>(const PythonLayout&, std::span<const RawFrame>) noexcept;

std::vector<StackFrame> frames_of(std::uint32_t number) {
  Stacks& all = stacks();
  const std::lock_guard lock(all.mutex);
  std::vector<StackFrame> frames;
  if (number == 0 || number > all.stacks.size()) return frames;
  for (const Kept& kept : all.stacks[number - 1]) {
    frames.push_back({&all.codes[kept.code], kept.code, kept.instruction});
  }
  return frames;
}

std::uint32_t stack_count() {
  Stacks& all = stacks();
  const std::lock_guard lock(all.mutex);
  return static_cast<std::uint32_t>(all.stacks.size());
}

}  // namespace stepscope::agent
