// Two questions: which call closes a pass, and how many of it stand together.
#include "agent/optimizer_steps.h"

#include <algorithm>
#include <functional>

namespace stepscope::agent {
namespace {

constexpr std::string_view kStep = "Optimizer.step#";

std::uint64_t call_of(std::string_view name, std::uint32_t place) {
  const std::uint64_t hash = std::hash<std::string_view>{}(name) + place * std::uint64_t{0x9E3779B97F4A7C15};
  return hash == 0 ? 1 : hash;
}

}  // namespace

bool OptimizerSteps::note(std::string_view name, std::uint32_t place) {
  const Call call = name.starts_with(kStep) ? call_of(name, place) : 0;
  if (call != last_) {
    if (run_count_ > 0) run_length_ = run_count_;
    run_count_ = 0;
  }
  last_ = call;
  if (call == 0 || !closes_pass(call)) return false;
  ++run_count_;
  return run_count_ % run_length_ == 0;
}

void OptimizerSteps::begin_with(Call call) {
  first_ = closing_ = call;
  is_settled_ = closing_seen_ = false;
  run_length_ = 1;
  others_.clear();
}

bool OptimizerSteps::closes_pass(Call call) {
  // One of the others that comes again before the first does: the first is gone (a line of another epoch), or steps
  // less often.
  if (first_ == 0 || std::find(others_.begin(), others_.end(), call) != others_.end()) {
    begin_with(call);
    return true;
  }
  if (call != first_) {
    others_.push_back(call);
    closing_seen_ |= call == closing_;
    return call == closing_;
  }
  if (!is_settled_) {
    if (!others_.empty()) closing_ = others_.back();
    is_settled_ = true;
  } else if (closing_ != first_ && !closing_seen_) {
    closing_ = first_;
  }
  others_.clear();
  closing_seen_ = false;
  return call == closing_;
}

}  // namespace stepscope::agent
