// A capture file being written: takes records, cuts them into compressed, checksummed chunks, appends them to the file.
//
// Used by one thread (the agent's worker). A chunk goes out when it holds kChunkBytes of payload or when flush() asks,
// so that a killed process loses at most the last chunk. No exceptions; after an error every call does nothing and
// status() says why.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "stepscope/result.h"
#include "wire/visitor.h"

namespace stepscope {

struct CaptureFileOptions {
  std::uint64_t max_file_bytes = std::uint64_t{8} << 30;  // past it, records are dropped and counted
};

class CaptureFile : public WireVisitor {
 public:
  // Creates `path` (never overwrites an existing file: kInvalidArgument) and writes the header.
  [[nodiscard]] static Result<std::unique_ptr<CaptureFile>> create(const std::string& path, const CaptureInfo& info,
                                                                   const CaptureFileOptions& options);
  // Number of `text` in this file; writes its definition at the first use.
  virtual WireString intern(std::string_view text) = 0;
  // Ends the chunk and hands it to the operating system.
  virtual Status flush() = 0;
  // Writes the end record, flushes, closes.
  virtual Status close(TimeNs now_ns) = 0;

  [[nodiscard]] virtual Status status() const = 0;
  [[nodiscard]] virtual std::uint64_t file_bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t record_count() const = 0;
  [[nodiscard]] virtual std::uint64_t dropped_record_count() const = 0;  // past max_file_bytes or after an error
};

}  // namespace stepscope
