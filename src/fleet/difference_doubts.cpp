// A recording that does not say something raises no doubt about it.
#include "fleet/difference_doubts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "fleet/gate.h"

namespace stepscope {
namespace {

// FLOPs of one program repeat exactly; one in a hundred more is another batch or another model.
constexpr double kSameWorkRatio = 0.01;

std::string join(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

template <class Value>
std::set<std::string> words_of(const Windows& runs, Value&& value) {
  std::set<std::string> words;
  for (const RankSummary* run : runs) {
    if (std::string word = value(*run); !word.empty()) words.insert(std::move(word));
  }
  return words;
}

class Doubts {
 public:
  Doubts(const Windows& before, const Windows& after) : before_(before), after_(after) {}

  std::vector<std::string> run() {
    compare("other GPUs: A on ", [](const RankSummary& run) { return run.device_name; });
    compare("other versions of PyTorch: A ", [](const RankSummary& run) { return run.torch_version; });
    compare("other world sizes: A ",
            [](const RankSummary& run) { return run.world_size ? std::to_string(*run.world_size) : std::string(); });
    compare("other communication: A ", [](const RankSummary& run) { return run.backend; });
    add_flops();
    compare("steps are found in other ways: A by ", [](const RankSummary& run) { return run.step_source; });
    add_whole_windows();
    add_shapes();
    add_options();
    add_spread_steps();
    return std::move(doubts_);
  }

 private:
  template <class Value>
  void compare(const char* what, Value&& value) {
    const auto first = words_of(before_, value), second = words_of(after_, value);
    if (first.empty() || second.empty() || first == second) return;
    doubts_.push_back(what + join(first) + ", B " + join(second));
  }

  static std::optional<double> flops_of(const Windows& runs) {
    double sum = 0;
    for (const RankSummary* run : runs) {
      if (!run->flops_per_step || !(*run->flops_per_step > 0)) return std::nullopt;
      sum += *run->flops_per_step;
    }
    return sum / static_cast<double>(runs.size());
  }

  void add_flops() {
    const auto first = flops_of(before_), second = flops_of(after_);
    if (!first || !second || std::abs(*second / *first - 1) <= kSameWorkRatio) return;
    const bool is_more = *second >= *first;
    char text[96];
    std::snprintf(text, sizeof text, "other work: the operators of %s compute %.3g times the FLOPs of %s",
                  is_more ? "B" : "A", is_more ? *second / *first : *first / *second, is_more ? "A" : "B");
    doubts_.emplace_back(text);
  }

  void add_whole_windows() {
    const auto has_none = [](const RankSummary* run) { return run->step_source == "none"; };
    if (std::any_of(before_.begin(), before_.end(), has_none) || std::any_of(after_.begin(), after_.end(), has_none)) {
      doubts_.emplace_back("no steps are marked, so whole recordings are compared as one step each");
    }
  }

  void add_shapes() {
    const auto has = [](const RankSummary* run) { return run->has_shapes; };
    const auto count = [&](const Windows& runs) { return std::count_if(runs.begin(), runs.end(), has); };
    const bool first = count(before_) > 0, second = count(after_) > 0;
    if (first == second) return;
    doubts_.push_back(std::string("shapes are recorded in ") + (first ? "A" : "B") +
                      " only, which costs the host time; rows are matched without them");
  }

  // Of summaries of version 1 it is not known what else was recorded.
  void add_options() {
    const auto knows = [](const RankSummary* run) { return run->options.has_value(); };
    if (!std::all_of(before_.begin(), before_.end(), knows) || !std::all_of(after_.begin(), after_.end(), knows))
      return;
    constexpr std::pair<bool SummaryOptions::*, const char*> kOptions[] = {{&SummaryOptions::memory, "memory"},
                                                                           {&SummaryOptions::stacks, "stacks"},
                                                                           {&SummaryOptions::flops, "FLOPs"},
                                                                           {&SummaryOptions::modules, "modules"}};
    std::string only_before, only_after;
    for (const auto& [option, name] : kOptions) {
      const auto has = [option = option](const RankSummary* run) { return (*run->options).*option; };
      const bool first = std::any_of(before_.begin(), before_.end(), has);
      const bool second = std::any_of(after_.begin(), after_.end(), has);
      if (first == second) continue;
      std::string& words = first ? only_before : only_after;
      words += (words.empty() ? "" : ", ") + std::string(name);
    }
    for (const auto& [words, side] : {std::pair(&only_before, "A"), std::pair(&only_after, "B")}) {
      if (!words->empty())
        doubts_.push_back("recorded in " + std::string(side) + " only, at the host's cost: " + *words);
    }
  }

  void add_spread_steps() {
    for (const auto& [side, runs] : {std::pair("A", &before_), std::pair("B", &after_)}) {
      for (const RankSummary* run : *runs) {
        if (run->steps_not_kept_count <= 0 || lacks_late_steps(*run)) continue;
        doubts_.push_back(std::string(side) + " (" + run->source + "): " + std::to_string(run->steps.size()) +
                          " of its " + std::to_string(recorded_step_count(*run)) +
                          " steps are compared, spread over the run");
      }
    }
  }

  const Windows& before_;
  const Windows& after_;
  std::vector<std::string> doubts_;
};

void add_losses(const Windows& runs, const char* side, std::vector<std::string>& losses) {
  for (const RankSummary* run : runs) {
    const std::string who = std::string(side) + " (" + run->source + "): ";
    if (run->headline_withheld) losses.push_back(who + *run->headline_withheld);
    if (run->lost_count > 0) losses.push_back(who + std::to_string(run->lost_count) + " events were lost");
    if (lacks_late_steps(*run)) {
      losses.push_back(who + std::to_string(run->steps_not_kept_count) + " later steps are not in its summary");
    }
  }
}

}  // namespace

std::vector<std::string> find_doubts(const Windows& before, const Windows& after) {
  return Doubts(before, after).run();
}

std::vector<std::string> find_losses(const Windows& before, const Windows& after) {
  std::vector<std::string> losses;
  add_losses(before, "A", losses);
  add_losses(after, "B", losses);
  return losses;
}

}  // namespace stepscope
