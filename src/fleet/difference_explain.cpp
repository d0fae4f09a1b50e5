// One line: the largest cause that goes the way of the verdict and is more than noise.
//
// The verdict is of medians, the tables are of means, since only those sum. Where every fifth step of one side stalls
// the two have different signs, and the table's largest part explains the opposite of the verdict. So the line looks at
// the medians of the parts.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "fleet/difference.h"

namespace stepscope {
namespace {

std::string milliseconds(DurationNs difference_ns) {
  const double value = static_cast<double>(difference_ns) / 1e6;
  const double size = std::abs(value);
  char text[48];
  std::snprintf(text, sizeof text, "%+.*f ms", size >= 100 ? 0 : size >= 10 ? 1 : 2, value);
  return text;
}

std::string spaced(std::string_view name) {
  std::string words(name);
  for (char& letter : words) letter = letter == '_' ? ' ' : letter;
  return words == "python" ? "Python" : words;
}

// Names of C++ kernels have hundreds of letters; one line has room for so many. Whole UTF-8 characters only.
std::string cut(std::string name) {
  constexpr std::size_t kMostBytes = 60;
  if (name.size() <= kMostBytes) return name;
  std::size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
  name.resize(end);
  return name + "...";
}

// "aten::mm: 3.1 % longer a call"
std::string row_words(const WorkDifference& row) {
  const WorkIdentity& identity = row.match == WorkMatch::kGone ? row.before : row.after;
  const std::string name = cut(identity.operator_name.empty() ? identity.kernel : identity.operator_name);
  if (name.empty()) return "";
  if (row.match == WorkMatch::kNew) return "new: " + name;
  if (row.match == WorkMatch::kGone) return "gone: " + name;
  char text[64];
  if (std::abs(row.by_calls_ns) > std::abs(row.by_time_ns)) {
    std::snprintf(text, sizeof text, "%.4g instead of %.4g calls a step", row.after_call_count, row.before_call_count);
    return name + ": " + text;
  }
  const double before = static_cast<double>(row.busy.before_ns) / row.before_call_count;
  const double after = static_cast<double>(row.busy.after_ns) / row.after_call_count;
  if (!(before > 0)) return name;
  const double ratio = after / before - 1;
  constexpr double kManyTimes = 0.5;  // more: "2.2 times as long" says it better than percent
  if (ratio >= kManyTimes) {
    std::snprintf(text, sizeof text, "%.2g times as long a call", ratio + 1);
  } else {
    std::snprintf(text, sizeof text, "%.2g %% %s a call", std::abs(ratio) * 100, ratio > 0 ? "longer" : "shorter");
  }
  return name + ": " + (row.match == WorkMatch::kRenamed ? "another kernel, " : "") + text;
}

const WorkDifference* largest_row(const RankDifference& rank, KernelClass kernel_class, bool is_slower) {
  for (const WorkDifference& row : rank.work) {  // largest first
    const KernelClass of = row.match == WorkMatch::kNew ? row.after.kernel_class : row.before.kernel_class;
    if (of == kernel_class && (row.busy.difference_ns() > 0) == is_slower) return &row;
  }
  return nullptr;
}

DurationNs change_of_median(const RankDifference& rank) { return rank.after.median_ns - rank.before.median_ns; }

std::string appeared(const RankDifference& rank) {
  for (const FindingDifference& finding : rank.findings) {
    if (finding.change == FindingChange::kAppeared && finding.after->saving) return finding.id;
  }
  return "";
}

}  // namespace

namespace {

struct Cause {
  std::string line;
  DurationNs difference_ns = 0;  // 0: none is known
};

Cause largest_cause(const RunDifference& difference) {
  const RankDifference& rank = difference.explaining();
  const bool is_slower = change_of_median(difference.typical_rank) >= 0;
  const DurationNs whole = std::abs(change_of_median(difference.typical_rank));
  const bool is_verdict = difference.typical_rank.step.verdict == CompareVerdict::kSlower ||
                          difference.typical_rank.step.verdict == CompareVerdict::kFaster;
  // Half of a step's change that is told is no noise, whatever its own mean scatters by.
  const auto fits = [&](const PartChange& part, DurationNs by_median_ns) {
    return by_median_ns != 0 && (by_median_ns > 0) == is_slower &&
           (part.is_told || (is_verdict && 2 * std::abs(by_median_ns) >= whole));
  };
  const ClassDifference* work = nullptr;
  for (const ClassDifference& row : rank.classes) {
    if (!fits(row.busy, row.by_median_ns)) continue;
    if (work == nullptr || std::abs(row.by_median_ns) > std::abs(work->by_median_ns)) work = &row;
  }
  const IdleDifference* idle = nullptr;
  for (const IdleDifference& row : rank.causes) {
    if (!fits(row.idle, row.by_median_ns)) continue;
    if (idle == nullptr || std::abs(row.by_median_ns) > std::abs(idle->by_median_ns)) idle = &row;
  }
  if (work != nullptr && idle != nullptr && std::abs(idle->by_median_ns) > std::abs(work->by_median_ns)) work = nullptr;
  Cause cause;
  if (difference.ranks.size() > 1 && rank.rank) cause.line = "rank " + std::to_string(*rank.rank) + ": ";
  if (work != nullptr) {
    cause.difference_ns = work->by_median_ns;
    cause.line +=
        std::string(kernel_class_name(work->kernel_class)) + " on the GPU " + milliseconds(work->by_median_ns);
    if (const WorkDifference* row = largest_row(rank, work->kernel_class, is_slower)) {
      if (const std::string words = row_words(*row); !words.empty()) cause.line += ", " + words;
    }
  } else if (idle != nullptr) {
    cause.difference_ns = idle->by_median_ns;
    cause.line += "the GPU waits " + milliseconds(idle->by_median_ns) + " for: " + spaced(host_label_name(idle->cause));
  } else {
    cause.line += "no part of the step changed by more than the noise";
  }
  if (const std::string id = appeared(rank); is_slower && !id.empty()) cause.line += " (new finding: " + id + ")";
  return cause;
}

}  // namespace

std::string explain_in_one_line(const RunDifference& difference) { return largest_cause(difference).line; }

std::string explain_slowdown(const RunDifference& difference) {
  const Cause cause = largest_cause(difference);
  if (cause.difference_ns == 0) return cause.line;
  const bool is_most = 2 * std::abs(cause.difference_ns) >= std::abs(change_of_median(difference.typical_rank));
  return (is_most ? "mostly: " : "among others: ") + cause.line;
}

}  // namespace stepscope
