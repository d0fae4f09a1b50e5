// Matching. A collective is the same on every rank when it is the k-th of its process group in the step of the same
// number: all ranks of a group must issue the same collectives in the same order, or the program hangs. PyTorch records
// no sequence numbers on kernels, so this is all there is.
//
// Process groups: a name alone does not do, since files number groups by themselves where torch was told to build them
// locally ("1" is ranks 0-3 here and 4-7 there), and neither does the list of ranks, since two groups may hold the same
// ranks. So: the ranks; and the name too where a rank has several groups of these ranks. Files without lists have only
// the name, and clocks.cpp refutes a match that cannot be.
//
// Sends and receives: between two ranks the k-th send of the one is the k-th receive of the other; that the kinds of
// one rank interleave differently from the other's (one forward, one backward) then does not matter. In larger groups
// the peer is not recorded, so they are left unmatched, and what they waited is judged by their bytes (lateness.cpp).
//
// Where ranks recorded different numbers in a step, matching would shift: the ranks that differ from the majority are
// left out of that step, or all where there is none.
#include "fleet/meetings.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace stepscope {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// "send", "irecv", "recv_anysource", "SendRecv", "coalesced" (batch_isend_irecv), but no all-to-all, which is
// one collective of all although it is made of sends.
bool is_point_to_point(std::string_view kind) {
  if (contains(kind, "all")) return false;
  return contains(kind, "send") || contains(kind, "Send") || contains(kind, "recv") || contains(kind, "Recv") ||
         contains(kind, "coalesced");
}

bool has_root(std::string_view kind) {
  if (contains(kind, "all") || contains(kind, "All") || contains(kind, "reduce_scatter") ||
      contains(kind, "ReduceScatter"))
    return false;
  return contains(kind, "broadcast") || contains(kind, "Broadcast") || contains(kind, "reduce") ||
         contains(kind, "Reduce") || contains(kind, "gather") || contains(kind, "scatter");
}

// Which way data go between two ranks, so that a send meets the other's receive; both ways at once are one collective.
enum class Direction : std::uint8_t { kAll, kUp, kDown, kUnknown };

Direction direction_of(std::string_view kind, const std::vector<std::int64_t>& ranks,
                       std::optional<std::int64_t> rank) {
  if (!is_point_to_point(kind)) return Direction::kAll;
  const bool sends = contains(kind, "send") || contains(kind, "Send");
  const bool receives = contains(kind, "recv") || contains(kind, "Recv");
  if (ranks.size() != 2 || !rank) return Direction::kUnknown;
  if (sends == receives) return Direction::kAll;
  const bool is_lower = *rank == std::min(ranks[0], ranks[1]);
  return is_lower == sends ? Direction::kUp : Direction::kDown;
}

// Groups of all rows under one numbering.
class GroupIndex {
 public:
  GroupIndex(const std::vector<const RankSummary*>& rows, FleetFacts& facts) : rows_(rows), facts_(facts) {
    find_ambiguous_sets();
    number_groups();
  }
  std::vector<std::vector<std::uint32_t>> take() { return std::move(numbers_); }

 private:
  using Ranks = std::vector<std::int64_t>;

  // Sets of ranks that some rank has several groups of.
  void find_ambiguous_sets() {
    for (const RankSummary* row : rows_) {
      if (row == nullptr) continue;
      std::set<Ranks> seen;
      for (const SummaryGroup& group : row->groups) {
        if (!group.ranks.empty() && !seen.insert(group.ranks).second) ambiguous_.insert(group.ranks);
      }
    }
  }

  // Ranks may know different parts of it.
  static void describe(const SummaryGroup& group, FleetGroup& known) {
    if (known.description.empty()) known.description = group.description;
    if (!known.size) known.size = group.size;
  }

  std::uint32_t number_of(const SummaryGroup& group) {
    const bool by_name = group.ranks.empty() || ambiguous_.contains(group.ranks);
    const auto [at, is_new] = known_.try_emplace({group.ranks, by_name ? group.name : std::string()},
                                                 static_cast<std::uint32_t>(facts_.groups.size()));
    if (is_new) {
      facts_.groups.push_back({group.name, group.description, group.ranks, group.size, {}, 0, 0, true, false});
    } else {
      describe(group, facts_.groups[at->second]);
    }
    return at->second;
  }

  void number_groups() {
    numbers_.resize(rows_.size());
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (rows_[row] == nullptr) continue;
      for (const SummaryGroup& group : rows_[row]->groups) {
        const std::uint32_t number = number_of(group);
        numbers_[row].push_back(number);
        ++facts_.groups[number].present_count;
      }
    }
    std::set<std::int64_t> present;
    for (const FleetRank& row : facts_.ranks) present.insert(row.rank.value_or(-1));
    for (FleetGroup& group : facts_.groups) {
      for (const std::int64_t rank : group.ranks) {
        if (facts_.without_rank_count > 0 || group.missing.size() == kMaxMissingNamed) break;
        if (!present.contains(rank)) group.missing.push_back(rank);
      }
      std::size_t size = group.ranks.size();
      if (size == 0)
        size = static_cast<std::size_t>(std::max<std::int64_t>(0, group.size.value_or(facts_.world_size.value_or(0))));
      group.is_whole = group.present_count >= size;
    }
  }

  const std::vector<const RankSummary*>& rows_;
  FleetFacts& facts_;
  std::set<Ranks> ambiguous_;
  std::map<std::pair<Ranks, std::string>, std::uint32_t> known_;
  std::vector<std::vector<std::uint32_t>> numbers_;
};

// Collectives of one group and direction in one step.
struct SlotKey {
  std::int64_t step_number = 0;
  std::uint32_t group = 0;
  Direction direction = Direction::kAll;
  auto operator<=>(const SlotKey&) const = default;
};
struct SlotKeyHash {
  std::size_t operator()(const SlotKey& key) const {
    return (static_cast<std::size_t>(key.step_number) * 0x9E3779B97F4A7C15U) ^
           (static_cast<std::size_t>(key.group) * 0xC2B2AE3D27D4EB4FU) ^ static_cast<std::size_t>(key.direction);
  }
};
struct SlotCount {
  std::uint32_t row = 0;
  std::uint32_t count = 0;
};
struct Slot {
  SlotKey key;
  std::vector<SlotCount> counts;  // ascending by row
  std::uint32_t count = 0;        // of each row that takes part
  std::uint32_t first_meeting = 0;
};

class Matcher {
 public:
  Matcher(Meetings& meetings, FleetFacts& facts) : out_(meetings), facts_(facts) {}

  void run() {
    for (std::uint32_t row = 0; row < out_.rows.size(); ++row) count_row(row);
    order_slots();
    for (Slot& slot : slots_) agree(slot);
    make_meetings();
    for (std::uint32_t row = 0; row < out_.rows.size(); ++row) attend(row);
  }

 private:
  // Calls visit(index, key) for each collective of a row that may be met by others, in order.
  template <class Visit>
  void each_of(std::uint32_t row, const Visit& visit) {
    const RankSummary* rank = out_.rows[row];
    if (rank == nullptr) return;
    for (std::uint32_t i = 0; i < rank->collectives.size(); ++i) {
      const SummaryCollective& event = rank->collectives[i];
      if (event.group >= rank->groups.size()) continue;
      const std::uint32_t group = out_.group_of[row][event.group];
      if (facts_.groups[group].present_count < 2) continue;
      const Direction direction = direction_of(kind_of(*rank, event), facts_.groups[group].ranks, rank->rank);
      visit(i, SlotKey{step_number_of(*rank, event), group, direction});
    }
  }

  static std::string_view kind_of(const RankSummary& rank, const SummaryCollective& event) {
    return event.name < rank.collective_names.size() ? std::string_view(rank.collective_names[event.name])
                                                     : std::string_view();
  }

  Slot& slot_of(const SlotKey& key) {
    const auto [at, is_new] = slot_at_.try_emplace(key, slots_.size());
    if (is_new) slots_.push_back({key, {}, 0, 0});
    return slots_[at->second];
  }

  void count_row(std::uint32_t row) {
    each_of(row, [&](std::uint32_t, const SlotKey& key) {
      if (key.direction == Direction::kUnknown) {
        ++facts_.unmatched_count;
        return;
      }
      Slot& slot = slot_of(key);
      if (slot.counts.empty() || slot.counts.back().row != row) slot.counts.push_back({row, 0});
      ++slot.counts.back().count;
    });
  }

  void order_slots() {
    std::sort(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) { return a.key < b.key; });
    for (std::size_t i = 0; i < slots_.size(); ++i) slot_at_[slots_[i].key] = i;
  }

  // The number that more than half of the rows recorded.
  void agree(Slot& slot) {
    if (slot.counts.size() < 2) return;  // others recorded other steps: nothing to compare
    std::map<std::uint32_t, std::size_t> votes;
    for (const SlotCount& count : slot.counts) ++votes[count.count];
    for (const auto& [count, rows] : votes) {
      if (rows >= 2 && 2 * rows > slot.counts.size()) slot.count = count;
    }
    if (slot.count == 0) ++facts_.left_out_step_count;
    for (const SlotCount& count : slot.counts) {
      if (count.count != slot.count) facts_.unmatched_count += count.count;
    }
  }

  void make_meetings() {
    for (Slot& slot : slots_) {
      slot.first_meeting = static_cast<std::uint32_t>(out_.all.size());
      std::uint32_t members = 0;
      for (const SlotCount& count : slot.counts) members += count.count == slot.count ? 1 : 0;
      for (std::uint32_t i = 0; i < slot.count; ++i) {
        FleetMeeting meeting;
        meeting.step_number = slot.key.step_number;
        meeting.group = slot.key.group;
        meeting.first_attendance = attendance_count_;
        attendance_count_ += members;
        out_.all.push_back(meeting);
      }
      facts_.groups[slot.key.group].meeting_count += slot.count;
    }
    out_.attendances.resize(attendance_count_);
  }

  std::uint32_t number_kind(std::string_view kind) {
    const auto at = std::find(out_.kinds.begin(), out_.kinds.end(), kind);
    if (at == out_.kinds.end()) out_.kinds.emplace_back(kind);
    return static_cast<std::uint32_t>(std::find(out_.kinds.begin(), out_.kinds.end(), kind) - out_.kinds.begin());
  }

  void attend(std::uint32_t row) {
    std::unordered_map<SlotKey, std::uint32_t, SlotKeyHash> next;  // k of the next in its slot
    if (out_.rows[row] == nullptr) return;
    const RankSummary& rank = *out_.rows[row];
    out_.meeting_of[row].assign(rank.collectives.size(), kNoMeeting);
    each_of(row, [&](std::uint32_t index, const SlotKey& key) {
      if (key.direction == Direction::kUnknown) return;
      const Slot& slot = slots_[slot_at_.at(key)];
      const auto own = std::lower_bound(slot.counts.begin(), slot.counts.end(), row,
                                        [](const SlotCount& count, std::uint32_t r) { return count.row < r; });
      if (slot.count == 0 || own->count != slot.count) return;
      const std::uint32_t at = slot.first_meeting + next[key]++;
      FleetMeeting& meeting = out_.all[at];
      if (meeting.attendance_count == 0) {
        const std::string_view kind = kind_of(rank, rank.collectives[index]);
        meeting.kind = number_kind(kind);
        meeting.ends_together = !is_point_to_point(kind) && !has_root(kind);
      }
      out_.attendances[meeting.first_attendance + meeting.attendance_count++] = {row, index};
      out_.meeting_of[row][index] = at;
    });
  }

  Meetings& out_;
  FleetFacts& facts_;
  std::vector<Slot> slots_;
  std::unordered_map<SlotKey, std::size_t, SlotKeyHash> slot_at_;
  std::uint32_t attendance_count_ = 0;
};

}  // namespace

std::int64_t step_number_of(const RankSummary& rank, const SummaryCollective& event) {
  return event.step < rank.steps.size() ? rank.steps[event.step].number : static_cast<std::int64_t>(event.step);
}

Meetings match_collectives(const RunSummary& run, FleetFacts& facts) {
  Meetings out;
  for (const FleetRank& row : facts.ranks) {
    out.rows.push_back(row.headline_withheld ? nullptr : &run.ranks[row.summary]);
  }
  out.meeting_of.resize(out.rows.size());
  out.group_of = GroupIndex(out.rows, facts).take();
  Matcher(out, facts).run();
  facts.matched_count = static_cast<std::int64_t>(out.all.size());
  return out;
}

}  // namespace stepscope
