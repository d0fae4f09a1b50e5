// Memory that CUPTI fills with records: handed out by its request callback, back by its completion callback, read by
// the worker.
//
// Three rules from the field: never give CUPTI a null buffer (it crashes before CUDA 12.9), never free one it has not
// returned, never call CUPTI while holding a lock that these callbacks take. So the pool's mutex covers only its lists,
// and past the cap CUPTI still gets a buffer, a small spare one, whose records are counted and dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace stepscope::agent {

// 2,400 kernel records: a tenth of a second of a fast training loop, so that records reach the file soon.
inline constexpr std::size_t kBufferBytes = std::size_t{512} << 10;
inline constexpr std::size_t kSpareBytes = std::size_t{32} << 10;

struct CuptiBuffer {
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0;
  std::size_t valid = 0;
  bool is_spare = false;
};

class CuptiBuffers {
 public:
  explicit CuptiBuffers(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  // Frees all; the agent's pool never gets here, since CUPTI may hold some to the end.
  ~CuptiBuffers();
  CuptiBuffers(const CuptiBuffers&) = delete;
  CuptiBuffers& operator=(const CuptiBuffers&) = delete;

  // CUPTI's threads. Never null unless the machine has no memory at all.
  [[nodiscard]] CuptiBuffer request() noexcept;
  // A full one for the worker. False: a spare, whose records the caller counts and then returns with recycle().
  bool complete(std::uint8_t* bytes, std::size_t valid) noexcept;
  // Worker: what is full, oldest first.
  [[nodiscard]] std::vector<CuptiBuffer> take_full();
  void recycle(std::uint8_t* bytes) noexcept;

  [[nodiscard]] std::size_t held_bytes() const;
  [[nodiscard]] std::size_t out_count() const;  // with CUPTI
  [[nodiscard]] std::size_t full_count() const;

 private:
  CuptiBuffer* find(const std::uint8_t* bytes);

  mutable std::mutex mutex_;
  std::vector<CuptiBuffer> all_;
  std::vector<std::uint8_t*> free_, free_spares_;
  std::vector<CuptiBuffer> full_;
  std::size_t most_bytes_;
  std::size_t held_bytes_ = 0;
  std::size_t out_count_ = 0;
};

}  // namespace stepscope::agent
