// A session over a full disk fails once a cycle, for weeks perhaps, so the lists end at a hundred; the callbacks hear
// all.
#include "session/problems.h"

#include <algorithm>

namespace stepscope {
namespace {

constexpr std::size_t kMostKept = 100;

// A callback is the user's, and the library lets no exception out of step().
template <class Callback, class Argument>
void call(const Callback& callback, const Argument& argument) {
  if (!callback) return;
  try {
    callback(argument);
  } catch (...) {  // NOLINT(bugprone-empty-catch): there is nobody left to tell
  }
}

}  // namespace

void Problems::add(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (errors_.size() < kMostKept) errors_.push_back(error);
  }
  call(on_error_, error);
}

void Problems::warn(const std::string& sentence) {
  {
    const std::lock_guard lock(mutex_);
    if (std::find(warnings_.begin(), warnings_.end(), sentence) != warnings_.end()) return;
    if (warnings_.size() < kMostKept) warnings_.push_back(sentence);
  }
  call(on_warning_, sentence);
}

std::vector<Error> Problems::errors() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

std::vector<std::string> Problems::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

Status Problems::status() const {
  const std::lock_guard lock(mutex_);
  if (errors_.empty()) return Done{};
  return errors_.front();
}

}  // namespace stepscope
