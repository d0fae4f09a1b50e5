// One line for a gate: the largest cause that is more than noise.
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

std::string appeared(const RankDifference& rank) {
  for (const FindingDifference& finding : rank.findings) {
    if (finding.change == FindingChange::kAppeared && finding.after->saving) return finding.id;
  }
  return "";
}

}  // namespace

std::string explain_in_one_line(const RunDifference& difference) {
  const RankDifference& rank = difference.explaining();
  const bool is_slower = difference.typical_rank.mean_step.difference_ns() >= 0;
  const auto fits = [&](const PartChange& part) { return part.is_told && (part.difference_ns() > 0) == is_slower; };
  const ClassDifference* work = nullptr;
  for (const ClassDifference& row : rank.classes) {
    if (work == nullptr && fits(row.busy)) work = &row;
  }
  const IdleDifference* idle = nullptr;
  for (const IdleDifference& row : rank.causes) {
    if (idle == nullptr && fits(row.idle)) idle = &row;
  }
  std::string line;
  if (difference.ranks.size() > 1 && rank.rank) line = "rank " + std::to_string(*rank.rank) + ": ";
  if (work != nullptr && idle != nullptr) {
    if (std::abs(idle->idle.difference_ns()) > std::abs(work->busy.difference_ns())) work = nullptr;
  }
  if (work != nullptr) {
    line +=
        std::string(kernel_class_name(work->kernel_class)) + " on the GPU " + milliseconds(work->busy.difference_ns());
    if (const WorkDifference* row = largest_row(rank, work->kernel_class, is_slower)) {
      if (const std::string words = row_words(*row); !words.empty()) line += ", " + words;
    }
  } else if (idle != nullptr) {
    line +=
        "the GPU waits " + milliseconds(idle->idle.difference_ns()) + " for: " + spaced(host_label_name(idle->cause));
  } else {
    line += "no part of the step changed by more than the noise";
  }
  if (const std::string id = appeared(rank); is_slower && !id.empty()) line += " (new finding: " + id + ")";
  return line;
}

}  // namespace stepscope
