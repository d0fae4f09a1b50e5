// The tables of a trace as Arrow tables: every column of src/trace/*.h under its own name.
//
// Ids are row numbers of the table that they name (thread, op, call, ...), null where empty; kinds are words.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/arrow_table.h"
#include "trace/trace.h"

namespace stepscope {

class ArrowTrace {
 public:
  explicit ArrowTrace(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {}

  // "ops", "spans", "frames", "calls", "gpu_events", ...
  [[nodiscard]] static std::vector<std::string_view> names();
  // kNotFound names the tables that there are. Thread-safe.
  [[nodiscard]] Result<std::shared_ptr<const ArrowTable>> table(std::string_view name) const;
  // All strings of the trace, each word once; made at the first use.
  struct Strings {
    std::shared_ptr<const ArrowColumn> words;
    // By StringId; empty: a string's word has its number. It has not where two broken pieces of text became the same
    // valid one, since receivers refuse a dictionary that says a word twice.
    std::vector<std::uint32_t> word_of;
  };
  [[nodiscard]] const Strings& strings() const;

 private:
  std::shared_ptr<const Trace> trace_;
  mutable std::once_flag strings_made_;
  mutable Strings strings_;
};

}  // namespace stepscope
