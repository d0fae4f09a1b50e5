// Two questions: which call closes a pass, and, where objects are not known, how many of it stand together.
#include "agent/optimizer_steps.h"

#include <algorithm>
#include <functional>

namespace stepscope::agent {
namespace {

constexpr std::string_view kStep = "Optimizer.step#";
// Of one pass, and remembered. More of them are optimizers that are made for one step and kept.
constexpr std::size_t kMostCalls = 10'000;

std::uint64_t line_of(std::string_view name, std::uint32_t place) {
  if (!name.starts_with(kStep)) return 0;
  const std::uint64_t hash = std::hash<std::string_view>{}(name) + place * std::uint64_t{0x9E3779B97F4A7C15};
  return hash == 0 ? 1 : hash;
}

}  // namespace

bool OptimizerSteps::note(std::string_view name, std::uint32_t place, std::uint64_t object) {
  const Call call{line_of(name, place), object};
  if (object == 0) return ends_run(call);
  if (call.line == 0) return false;
  let_succeed(call);
  return closes_pass(call);
}

void OptimizerSteps::forget(std::uint64_t object) {
  if (object == 0) return;
  for (Call* const call : {&first_, &closing_}) call->is_gone |= call->object == object;
  for (Call& call : others_) call.is_gone |= call.object == object;
}

bool OptimizerSteps::ends_run(const Call& call) {
  if (call != last_) {
    if (run_count_ > 0) run_length_ = run_count_;
    run_count_ = 0;
  }
  last_ = call;
  if (call.line == 0 || !closes_pass(call)) return false;
  ++run_count_;
  return run_count_ % run_length_ == 0;
}

bool OptimizerSteps::is_new(const Call& call) {
  if (known_.size() >= kMostCalls) known_.clear();
  return known_.insert(call.line + call.object * 0xD1B54A32D192ED03).second;
}

// Who never stepped from this line does so where, or in whose place, another call was due, or which can come no more.
void OptimizerSteps::let_succeed(const Call& call) {
  if (!is_new(call)) return;
  const auto is_akin = [&](const Call& old) { return old.line == call.line || old.object == call.object; };
  const bool is_alone = first_ == closing_;
  const bool first_is_due = is_settled_ && (is_alone || closing_seen_);
  const auto gone = std::find_if(others_.begin(), others_.end(),
                                 [&](const Call& old) { return old.is_gone && old.line == call.line; });
  if (is_akin(first_) && (first_is_due || first_.is_gone)) {
    first_ = call;
    if (is_alone) closing_ = call;
  } else if (is_akin(closing_) && !is_alone && (!closing_seen_ || closing_.is_gone)) {
    closing_ = call;
    closing_seen_ = false;
  } else if (gone != others_.end()) {
    *gone = call;
  }
}

void OptimizerSteps::begin_with(const Call& call) {
  first_ = closing_ = call;
  is_settled_ = closing_seen_ = false;
  run_length_ = 1;
  others_.clear();
}

bool OptimizerSteps::closes_pass(const Call& call) {
  // One of the others that comes again before the first does: the first is gone (a line of another epoch), or steps
  // less often.
  if (first_.line == 0 || others_.size() >= kMostCalls ||
      std::find(others_.begin(), others_.end(), call) != others_.end()) {
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
