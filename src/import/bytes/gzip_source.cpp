// Streaming decompression with ISA-L's igzip: 2.8 GB/s of text where zlib does 0.9 and libdeflate, which cannot
// stream, 2.05.
//
// Two traps that naive igzip loops fall into: a truncated file makes them spin for ever (the decoder asks for
// input that never comes), and only the first member is read (`cat a.gz b.gz` and pigz write several).
#include "import/bytes/gzip_source.h"

#include <isa-l.h>

#include <algorithm>
#include <vector>

namespace stepscope {
namespace {

constexpr std::size_t kInputBytes = 256 << 10;

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> stored, std::string path)
      : stored_(std::move(stored)), path_(std::move(path)), input_(kInputBytes) {
    start_member();
  }

  Result<std::size_t> read(char* into, std::size_t size) override {
    state_.next_out = reinterpret_cast<std::uint8_t*>(into);
    state_.avail_out = static_cast<std::uint32_t>(std::min<std::size_t>(size, 1U << 30));
    const std::uint32_t wanted = state_.avail_out;
    while (!ended_ && state_.avail_out == wanted) {
      Status done = in_member_ ? step() : find_member();
      if (!done) return done.error();
    }
    const std::size_t got = wanted - state_.avail_out;
    text_bytes_ += got;
    return got;
  }

  std::uint64_t stored_bytes_read() const override { return stored_->stored_bytes_read(); }
  std::optional<std::uint64_t> stored_bytes_total() const override { return stored_->stored_bytes_total(); }
  void add_notes(Notes& notes) const override {
    if (!damage_.empty()) notes.add(NoteKind::kGzipDamaged, NoteSeverity::kLost, text_bytes_, damage_);
    if (!trailing_.empty()) notes.add(NoteKind::kTrailingText, NoteSeverity::kInfo, text_bytes_, trailing_);
  }

 private:
  void start_member() {
    std::uint8_t* const next_in = state_.next_in;
    const std::uint32_t avail_in = state_.avail_in;
    std::uint8_t* const next_out = state_.next_out;
    const std::uint32_t avail_out = state_.avail_out;
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
    state_.next_in = next_in;
    state_.avail_in = avail_in;
    state_.next_out = next_out;
    state_.avail_out = avail_out;
    in_member_ = false;
  }

  // Adds input behind what is left of it; false at the end of the file.
  Result<bool> refill() {
    std::copy_n(state_.next_in, state_.avail_in, input_.data());
    Result<std::size_t> got =
        read_fully(*stored_, reinterpret_cast<char*>(input_.data()) + state_.avail_in, input_.size() - state_.avail_in);
    if (!got) return got.error();
    state_.next_in = input_.data();
    state_.avail_in += static_cast<std::uint32_t>(*got);
    return *got > 0;
  }

  // Between members: is there another one? Zero bytes after the last are padding, as tar writes it.
  Status find_member() {
    if (state_.avail_in < 2) {
      if (Result<bool> more = refill(); !more) return more.error();
    }
    const bool magic = state_.avail_in >= 2 && state_.next_in[0] == 0x1f && state_.next_in[1] == 0x8b;
    if (!magic && state_.avail_in > 0 && state_.next_in[0] != 0) trailing_ = "bytes after the last gzip member";
    in_member_ = magic;
    ended_ = !magic;
    return Done{};
  }

  // Input is added only when the decoder stands still: it may hold output from input it has taken long ago.
  Status step() {
    const std::uint32_t before_in = state_.avail_in;
    const std::uint32_t before_out = state_.avail_out;
    const int code = isal_inflate(&state_);
    if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT && code != ISAL_OUT_OVERFLOW) {
      damage_ = code == ISAL_INCORRECT_CHECKSUM ? "the gzip checksum does not match" : "the gzip stream is damaged";
      ended_ = true;
      return Done{};
    }
    if (state_.block_state == ISAL_BLOCK_FINISH) {
      start_member();
      return Done{};
    }
    if (before_in != state_.avail_in || before_out != state_.avail_out) return Done{};
    Result<bool> more = refill();
    if (!more) return more.error();
    if (!*more) {
      damage_ = "the gzip stream is cut";
      ended_ = true;
    }
    return Done{};
  }

  std::unique_ptr<ByteSource> stored_;
  std::string path_;
  std::vector<std::uint8_t> input_;
  inflate_state state_{};
  std::uint64_t text_bytes_ = 0;
  std::string damage_;
  std::string trailing_;
  bool in_member_ = false;
  bool ended_ = false;
};

}  // namespace

bool is_gzip(std::string_view prefix) {
  return prefix.size() >= 3 && prefix[0] == '\x1f' && prefix[1] == '\x8b' && prefix[2] == '\x08';
}

std::unique_ptr<ByteSource> decompress_gzip(std::unique_ptr<ByteSource> stored, std::string path) {
  return std::make_unique<GzipSource>(std::move(stored), std::move(path));
}

}  // namespace stepscope
