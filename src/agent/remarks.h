// Sentences for whoever reads the capture, collected from any thread and written by the worker.
//
// Few and short: each sentence is kept once, and past kMostRemarks none is added, so that a part that fails a million
// times costs nothing. remark() and complain() are declared in parts.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/time.h"

namespace stepscope::agent {

inline constexpr std::size_t kMostRemarks = 100;

struct Remark {
  TimeNs time_ns = 0;
  std::string text;
};
// Those from number `first` on, in the order in which they were made.
[[nodiscard]] std::vector<Remark> remarks_from(std::size_t first);
// One line that holds the first complaint and how many follow; empty: there is none.
[[nodiscard]] std::string complaint_line();
// A forked child starts with none (its mutex may be held by a thread that it does not have).
void reset_remarks();

}  // namespace stepscope::agent
