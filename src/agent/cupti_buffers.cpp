// The pool. Its list of all buffers is searched from end to end: there are 256 at most under the default cap, and a
// buffer changes hands some ten times a second.
#include "agent/cupti_buffers.h"

#include <algorithm>
#include <cstdlib>

namespace stepscope::agent {
namespace {
constexpr std::size_t kAlignment = 4096;
}  // namespace

CuptiBuffers::~CuptiBuffers() {
  for (const CuptiBuffer& buffer : all_) std::free(buffer.bytes);
}

CuptiBuffer* CuptiBuffers::find(const std::uint8_t* bytes) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const CuptiBuffer& buffer) { return buffer.bytes == bytes; });
  return found == all_.end() ? nullptr : &*found;
}

CuptiBuffer CuptiBuffers::request() noexcept try {
  const std::lock_guard lock(mutex_);
  const bool may_grow = held_bytes_ + kBufferBytes <= most_bytes_;
  std::vector<std::uint8_t*>& list = !free_.empty() || may_grow ? free_ : free_spares_;
  if (list.empty()) {
    const std::size_t size = may_grow ? kBufferBytes : kSpareBytes;
    auto* const bytes = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, size));
    if (bytes == nullptr) return {};
    all_.push_back({bytes, size, 0, !may_grow});
    held_bytes_ += size;
    // So that giving one back never allocates.
    free_.reserve(all_.size());
    free_spares_.reserve(all_.size());
    full_.reserve(all_.size());
    list.push_back(bytes);
  }
  std::uint8_t* const bytes = list.back();
  list.pop_back();
  ++out_count_;
  return *find(bytes);
} catch (...) {
  return {};
}

bool CuptiBuffers::complete(std::uint8_t* bytes, std::size_t valid) noexcept {
  const std::lock_guard lock(mutex_);
  CuptiBuffer* const buffer = find(bytes);
  if (buffer == nullptr) return true;
  --out_count_;
  buffer->valid = valid;
  if (buffer->is_spare) return false;
  full_.push_back(*buffer);
  return true;
}

std::vector<CuptiBuffer> CuptiBuffers::take_full() {
  const std::lock_guard lock(mutex_);
  std::vector<CuptiBuffer> full(full_);
  full_.clear();
  return full;
}

void CuptiBuffers::recycle(std::uint8_t* bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const CuptiBuffer* const buffer = find(bytes);
  if (buffer != nullptr) (buffer->is_spare ? free_spares_ : free_).push_back(bytes);
}

std::size_t CuptiBuffers::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return held_bytes_;
}
std::size_t CuptiBuffers::out_count() const {
  const std::lock_guard lock(mutex_);
  return out_count_;
}
std::size_t CuptiBuffers::full_count() const {
  const std::lock_guard lock(mutex_);
  return full_.size();
}

}  // namespace stepscope::agent
