// A pass groups the rows that are left by a key; within a group the costliest meets the costliest.
#include "fleet/difference_match.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace stepscope {
namespace {

// A tenth: a step more or less in a recording of few changes no count a step by more.
constexpr double kLikeCountRatio = 0.1;

bool has_like_count(const WorkSeries& before, const WorkSeries& after) {
  return std::abs(before.call_count - after.call_count) <=
         kLikeCountRatio * std::max(before.call_count, after.call_count);
}

// Classes whose name says what is computed.
bool says_what_it_does(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::kMatmul:
    case KernelClass::kAttention:
    case KernelClass::kConvolution:
    case KernelClass::kNormalisation:
    case KernelClass::kReduction:
    case KernelClass::kEmbedding:
    case KernelClass::kOptimizer:
    case KernelClass::kCommunication:
      return true;
    default:
      return false;
  }
}

// What has to be equal in a pass: an identity with the rest left out.
struct Pass {
  WorkMatch match;
  bool by_operator, by_shapes, by_kernel, by_place, needs_like_count;
};
constexpr Pass kPasses[] = {
    {WorkMatch::kSame, true, true, true, true, false},      {WorkMatch::kRenamed, true, true, false, true, true},
    {WorkMatch::kRenamed, true, true, false, true, false},  {WorkMatch::kMoved, true, true, true, false, true},
    {WorkMatch::kReshaped, true, false, true, true, true},  {WorkMatch::kReshaped, true, false, false, true, true},
    {WorkMatch::kReplaced, false, false, false, true, true}};

std::optional<WorkIdentity> key_of(const WorkIdentity& identity, const Pass& pass) {
  if (pass.match == WorkMatch::kSame) return identity;
  if (identity.kernel.empty()) return std::nullopt;
  // Without a name of the operator, only a like number of calls makes two kernels one.
  if (pass.by_operator && identity.operator_name.empty() && !pass.by_kernel && !pass.needs_like_count) {
    return std::nullopt;
  }
  if (!pass.by_operator && !says_what_it_does(identity.kernel_class)) return std::nullopt;
  WorkIdentity key = identity;
  if (!pass.by_operator) key.operator_name.clear();
  if (!pass.by_shapes) key.shapes.clear();
  if (!pass.by_kernel) key.kernel.clear();
  if (!pass.by_place) key.place.clear();
  return key;
}

struct Group {
  std::vector<std::size_t> before, after;
};

class Matcher {
 public:
  Matcher(const std::vector<WorkSeries>& before, const std::vector<WorkSeries>& after)
      : before_(before), after_(after), before_mean_(means(before)), after_mean_(means(after)) {
    for (std::size_t i = 0; i < before.size(); ++i) before_left_.push_back(i);
    for (std::size_t i = 0; i < after.size(); ++i) after_left_.push_back(i);
  }

  std::vector<WorkPair> run() {
    for (const Pass& pass : kPasses) apply(pass);
    join_rests();
    for (const std::size_t i : before_left_) pairs_.push_back({WorkMatch::kGone, i, std::nullopt});
    for (const std::size_t i : after_left_) pairs_.push_back({WorkMatch::kNew, std::nullopt, i});
    return std::move(pairs_);
  }

 private:
  static std::vector<double> means(const std::vector<WorkSeries>& rows) {
    std::vector<double> out;
    out.reserve(rows.size());
    for (const WorkSeries& row : rows) out.push_back(mean_of_runs(row.busy_ns));
    return out;
  }

  void apply(const Pass& pass) {
    std::map<WorkIdentity, Group> groups;
    for (const std::size_t i : before_left_) {
      if (const auto key = key_of(before_[i].identity, pass)) groups[*key].before.push_back(i);
    }
    for (const std::size_t i : after_left_) {
      if (const auto key = key_of(after_[i].identity, pass)) groups[*key].after.push_back(i);
    }
    std::vector<bool> before_taken(before_.size()), after_taken(after_.size());
    for (auto& [key, group] : groups) pair_up(group, pass, before_taken, after_taken);
    std::erase_if(before_left_, [&](std::size_t i) { return before_taken[i]; });
    std::erase_if(after_left_, [&](std::size_t i) { return after_taken[i]; });
  }

  static void sort_by_cost(std::vector<std::size_t>& rows, const std::vector<WorkSeries>& series,
                           const std::vector<double>& mean) {
    std::sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
      if (mean[a] != mean[b]) return mean[a] > mean[b];
      return series[a].identity < series[b].identity;
    });
  }

  // The k-th costliest of one side meets the k-th of the other; with a like count asked for, among those of like count.
  void pair_up(Group& group, const Pass& pass, std::vector<bool>& before_taken, std::vector<bool>& after_taken) {
    if (group.before.empty() || group.after.empty()) return;
    sort_by_cost(group.before, before_, before_mean_);
    sort_by_cost(group.after, after_, after_mean_);
    std::vector<std::size_t> before = group.before, after = group.after;
    std::size_t least = std::min(before.size(), after.size());
    if (!pass.needs_like_count) {
      for (std::size_t k = 0; k < least; ++k) take(pass.match, before[k], after[k], before_taken, after_taken);
      return;
    }
    // Both sides in order of calls, cost among equals: a merge, so that swapping the sides changes nothing.
    const auto by_calls = [](const std::vector<WorkSeries>& rows) {
      return [&rows](std::size_t a, std::size_t b) { return rows[a].call_count > rows[b].call_count; };
    };
    std::stable_sort(before.begin(), before.end(), by_calls(before_));
    std::stable_sort(after.begin(), after.end(), by_calls(after_));
    for (std::size_t i = 0, k = 0; i < before.size() && k < after.size();) {
      const WorkSeries &first = before_[before[i]], &second = after_[after[k]];
      if (has_like_count(first, second)) {
        take(pass.match, before[i++], after[k++], before_taken, after_taken);
      } else if (first.call_count > second.call_count) {
        ++i;
      } else {
        ++k;
      }
    }
  }

  void take(WorkMatch match, std::size_t before, std::size_t after, std::vector<bool>& before_taken,
            std::vector<bool>& after_taken) {
    before_taken[before] = true;
    after_taken[after] = true;
    const bool is_rest = before_[before].identity.kernel.empty();
    pairs_.push_back({is_rest ? WorkMatch::kRest : match, before, after});
  }

  // A rest without a partner stands for rows that the other side kept, or for nothing: it is neither new nor gone.
  void join_rests() {
    const auto is_rest = [](const std::vector<WorkSeries>& rows) {
      return [&rows](std::size_t i) { return rows[i].identity.kernel.empty(); };
    };
    for (const std::size_t i : before_left_) {
      if (is_rest(before_)(i)) pairs_.push_back({WorkMatch::kRest, i, std::nullopt});
    }
    for (const std::size_t i : after_left_) {
      if (is_rest(after_)(i)) pairs_.push_back({WorkMatch::kRest, std::nullopt, i});
    }
    std::erase_if(before_left_, is_rest(before_));
    std::erase_if(after_left_, is_rest(after_));
  }

  const std::vector<WorkSeries>& before_;
  const std::vector<WorkSeries>& after_;
  std::vector<double> before_mean_, after_mean_;
  std::vector<std::size_t> before_left_, after_left_;
  std::vector<WorkPair> pairs_;
};

}  // namespace

std::vector<WorkPair> match_work(const std::vector<WorkSeries>& before, const std::vector<WorkSeries>& after) {
  return Matcher(before, after).run();
}

}  // namespace stepscope
