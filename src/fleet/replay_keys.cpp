// Ordinals (which of its like) count in the order of the rank's collectives and points, which is the program's.
#include "fleet/replay_keys.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace stepscope {
namespace {

using Kind = SummaryReplayPoint::Kind;

std::uint64_t key_of_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

// By group: its kind and which of that kind it is, in order of their first collectives.
std::vector<std::uint64_t> key_groups(const RankSummary& rank) {
  std::vector<std::uint64_t> keys(rank.groups.size(), 0);
  std::vector<TimeNs> first_ns(rank.groups.size(), std::numeric_limits<TimeNs>::max());
  for (const SummaryCollective& collective : rank.collectives) {
    if (collective.group < first_ns.size()) {
      first_ns[collective.group] = std::min(first_ns[collective.group], collective.start_ns);
    }
  }
  std::vector<std::size_t> order(rank.groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return first_ns[a] < first_ns[b]; });
  std::map<std::string, std::uint64_t> count;
  for (const std::size_t group : order) {
    const std::string words = group_kind_words(rank.groups[group]);
    keys[group] = mix_keys(key_of_text(words), count[words]++);
  }
  return keys;
}

std::uint64_t step_number(const RankSummary& rank, std::uint32_t step) {
  return step < rank.steps.size() ? static_cast<std::uint64_t>(rank.steps[step].number) : ~std::uint64_t{0};
}

void key_points(const RankSummary& rank, RankKeys& keys) {
  std::unordered_map<std::uint64_t, std::uint64_t> count;
  for (const SummaryReplayPoint& point : rank.replay.points) {
    const bool meets = point.kind == Kind::kReady || point.kind == Kind::kArrival || point.kind == Kind::kEnd;
    const std::uint64_t of = meets ? keys.of_collective[point.of] : step_number(rank, point.of);
    const std::uint64_t like = mix_keys(static_cast<std::uint64_t>(point.kind), of);
    keys.of_point.push_back(mix_keys(like, count[like]++));
  }
}

// What it is called; of sends and receives also the rank's place in the group, since the stages of a pipeline do
// different work. Sizes are left out: batches of different lengths would make every rank a program of its own.
std::uint64_t key_role(const RankSummary& rank, const SummaryCollective& collective) {
  if (collective.name >= rank.collective_names.size()) return 0;
  const std::string& name = rank.collective_names[collective.name];
  std::uint64_t key = key_of_text(name);
  const bool is_between_two = name.find("send") != std::string::npos || name.find("recv") != std::string::npos;
  if (is_between_two && rank.rank && collective.group < rank.groups.size()) {
    const std::vector<std::int64_t>& ranks = rank.groups[collective.group].ranks;
    const auto place = std::find(ranks.begin(), ranks.end(), *rank.rank) - ranks.begin();
    key = mix_keys(key, static_cast<std::uint64_t>(place));
  }
  return key;
}

}  // namespace

std::string group_kind_words(const SummaryGroup& group) {
  if (!group.description.empty()) return group.description;
  if (!group.ranks.empty()) return "group of " + std::to_string(group.ranks.size());
  return "unnamed group";
}

RankKeys compute_rank_keys(const RankSummary& rank) {
  RankKeys keys;
  const std::vector<std::uint64_t> groups = key_groups(rank);
  std::vector<std::uint64_t> program;
  for (const SummaryCollective& collective : rank.collectives) {
    const std::uint64_t group = collective.group < groups.size() ? groups[collective.group] : 0;
    keys.of_collective.push_back(mix_keys(mix_keys(step_number(rank, collective.step), group), collective.sequence));
  }
  key_points(rank, keys);
  for (const SummaryReplayPoint& point : rank.replay.points) {
    if (point.kind != Kind::kArrival) continue;
    program.push_back(mix_keys(keys.of_collective[point.of], key_role(rank, rank.collectives[point.of])));
  }
  std::sort(program.begin(), program.end());
  for (std::uint32_t step = 0; step < rank.replay.step_count; ++step) program.push_back(step_number(rank, step));
  for (const std::uint64_t each : program) keys.program = mix_keys(keys.program, each);
  return keys;
}

}  // namespace stepscope
