// The list behind a mutex that is held for a comparison and a copy. Never destroyed: threads may still speak at exit.
#include "agent/remarks.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string_view>

#include "agent/keep.h"
#include "agent/parts.h"

namespace stepscope::agent {
namespace {

struct Remarks {
  std::mutex mutex;
  std::vector<Remark> all;
  std::string first_complaint;
  std::size_t complaint_count = 0;
};

std::atomic<Remarks*>& place() {
  static auto* const one = new std::atomic<Remarks*>(new Remarks);
  return *one;
}
// What a forked child asks for is made at load: it would wait for ever for a thread of the parent that is just making
// it.
[[maybe_unused]] const std::atomic<Remarks*>& at_load = place();

void add(std::string_view sentence, bool is_complaint) noexcept try {
  Remarks& remarks = *place().load();
  const std::lock_guard lock(remarks.mutex);
  const bool is_known =
      std::any_of(remarks.all.begin(), remarks.all.end(), [&](const Remark& known) { return known.text == sentence; });
  if (is_known || remarks.all.size() >= kMostRemarks) return;
  remarks.all.push_back({now_ns(), std::string(sentence)});
  if (!is_complaint) return;
  if (remarks.complaint_count++ == 0) remarks.first_complaint = sentence;
} catch (...) {
  // No memory for a sentence: nothing that the program should hear of.
}

}  // namespace

void remark(std::string_view sentence) noexcept { add(sentence, false); }
void complain(std::string_view sentence) noexcept { add(sentence, true); }

std::vector<Remark> remarks_from(std::size_t first) {
  Remarks& remarks = *place().load();
  const std::lock_guard lock(remarks.mutex);
  if (first >= remarks.all.size()) return {};
  return {remarks.all.begin() + static_cast<std::ptrdiff_t>(first), remarks.all.end()};
}

std::string complaint_line() {
  Remarks& remarks = *place().load();
  const std::lock_guard lock(remarks.mutex);
  if (remarks.complaint_count == 0) return {};
  std::string line = "stepscope: " + remarks.first_complaint;
  if (remarks.complaint_count > 1) {
    line += " (and " + std::to_string(remarks.complaint_count - 1) + " more, see the capture's remarks)";
  }
  return line;
}

void reset_remarks() { keep_forever(place().exchange(new Remarks)); }

}  // namespace stepscope::agent
