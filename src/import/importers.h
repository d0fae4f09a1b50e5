// Reading recorded traces of any known format into the columnar model.
//
// The content decides which importer reads a file, never its name: traces are renamed, compressed or
// decompressed on their way and keep an old suffix. gzip is a byte source under every importer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"

namespace stepscope {

class ByteSource;

struct ReadOptions {
  unsigned threads = 0;  // 0: as many as the process may use. The result does not depend on it.
  // Called from the calling thread, now and then, with bytes of the file as stored (compressed); the total is
  // missing for pipes.
  std::function<void(std::uint64_t bytes_read, std::optional<std::uint64_t> bytes_total)> progress{};
  // Asked from the calling thread before each piece of the file is read: true ends the reading. What comes back is then
  // worth nothing (an Error, or what was read so far).
  std::function<bool()> is_stopped{};
};

// Reads `path`, or standard input if it is "-". A file may hold several documents, each of which becomes a
// trace. Damage is noted in the traces; an Error means that nothing at all could be read. Its message tells
// apart: no such file, no permission, a directory, an empty file, no trace, no events, only metadata.
[[nodiscard]] Result<std::vector<Trace>> read_traces(const std::string& path, const ReadOptions& options = {});

// The same of a file that is open already, as open_bytes() left it: a pipe cannot be opened a second time. `name`
// stands in messages.
[[nodiscard]] Result<std::vector<Trace>> read_traces(std::unique_ptr<ByteSource> opened, const std::string& name,
                                                     const ReadOptions& options = {});

// Does a file that begins with these bytes (decompressed) hold trace events or a capture? Stricter than the importers
// themselves, which take any JSON that might: for commands that read something else and were given a trace.
[[nodiscard]] bool looks_like_trace(std::string_view prefix);

}  // namespace stepscope
