// Summaries of many ranks drawn as text: a line is a rank, a column a millisecond.
//
//     rank 0  |ccccA---==cc|ccccA---==cc|
//     rank 1  |cccccccA==cc|cccccccA==cc|
//     A = allreduce of dp on 0 1, 100 MB
//
// `|` is a step boundary and takes no time; the first step is number 4. c computes (a matmul), C a kernel of another
// class (attention), d waits for the data loader, k for a checkpoint, . for no event. A capital letter A to Z other
// than C begins a collective, which lasts over the `-` and `=` after it; nothing else runs meanwhile. What the letters
// mean stands in lines `X = KIND of GROUP on RANKS, N MB`; the size may be left out, and so may `on RANKS`. A letter
// that means another group on another rank is told per rank: `A@0,1 = ...`. A second line of a rank, `rank 0 +|...|`,
// is another stream: collectives in it are exposed where the first line computes nothing.
//
// Clocks: all ranks start at the same time on hosts `host0`, `host1`, ... (one a rank), see MadeFleet::host and shift.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/rank_summary.h"

namespace stepscope {

class MadeFleet {
 public:
  static constexpr DurationNs kMs = 1'000'000;
  static constexpr TimeNs kBase = 1'790'000'000'000'000'000;

  explicit MadeFleet(std::string_view picture) {
    std::istringstream lines{std::string(picture)};
    std::vector<std::string> rank_lines;
    for (std::string line; std::getline(lines, line);) {
      const auto from = line.find_first_not_of(' ');
      if (from == std::string::npos) continue;
      line = line.substr(from);
      if (line.starts_with("rank ")) {
        rank_lines.push_back(line);
      } else {
        define(line);
      }
    }
    for (std::size_t i = 0; i < rank_lines.size(); ++i) {
      const bool has_second = i + 1 < rank_lines.size() && is_second(rank_lines[i + 1]);
      draw(rank_lines[i], has_second ? rank_lines[i + 1] : std::string());
      if (has_second) ++i;
    }
    for (RankSummary& rank : run.ranks) rank.world_size = static_cast<std::int64_t>(run.ranks.size());
  }

  RankSummary& rank(std::size_t at) { return run.ranks.at(at); }
  void host(std::size_t at, const std::string& name) { rank(at).host_name = name; }
  // Its host's clock is ahead by that much.
  void shift(std::size_t at, DurationNs by) {
    for (SummaryStep& step : rank(at).steps) step.start_ns += by;
    for (SummaryCollective& event : rank(at).collectives) {
      event.start_ns += by;
      event.end_ns += by;
    }
  }

  RunSummary run;

 private:
  struct Meaning {
    std::string kind, group;
    std::vector<std::int64_t> ranks;
    std::optional<std::int64_t> bytes;
  };

  static bool is_second(const std::string& line) { return line.find('+') < line.find('|'); }

  static std::vector<std::int64_t> numbers(std::string text) {
    for (char& c : text) c = std::isdigit(static_cast<unsigned char>(c)) ? c : ' ';
    std::istringstream in(text);
    std::vector<std::int64_t> out;
    for (std::int64_t n = 0; in >> n;) out.push_back(n);
    return out;
  }

  // "A@0,1 = allreduce of dp on 0 1, 100 MB"
  void define(const std::string& line) {
    const auto equals = line.find('=');
    Meaning meaning;
    std::string words = line.substr(equals + 1);
    if (const auto comma = words.find(','); comma != std::string::npos) {
      meaning.bytes = numbers(words.substr(comma)).at(0) * 1'000'000;
      words = words.substr(0, comma);
    }
    if (const auto on = words.find(" on "); on != std::string::npos) {
      meaning.ranks = numbers(words.substr(on));
      words = words.substr(0, on);
    }
    std::istringstream in(words);
    std::string of;
    in >> meaning.kind >> of >> meaning.group;
    const std::string head = line.substr(0, equals);
    if (head.size() > 1 && head[1] == '@') {
      for (const std::int64_t rank : numbers(head)) meanings_[{head[0], rank}] = meaning;
    } else {
      meanings_[{head[0], -1}] = meaning;
    }
  }

  const Meaning& meaning_of(char letter, std::int64_t rank) const {
    const auto own = meanings_.find({letter, rank});
    return own != meanings_.end() ? own->second : meanings_.at({letter, -1});
  }

  static std::uint32_t number_group(RankSummary& rank, const Meaning& meaning) {
    for (std::uint32_t i = 0; i < rank.groups.size(); ++i) {
      if (rank.groups[i].name == meaning.group && rank.groups[i].ranks == meaning.ranks) return i;
    }
    SummaryGroup group;
    group.name = meaning.group;
    group.ranks = meaning.ranks;
    if (!meaning.ranks.empty()) group.size = static_cast<std::int64_t>(meaning.ranks.size());
    rank.groups.push_back(std::move(group));
    return static_cast<std::uint32_t>(rank.groups.size() - 1);
  }

  static std::uint32_t number_name(RankSummary& rank, const std::string& name) {
    for (std::uint32_t i = 0; i < rank.collective_names.size(); ++i) {
      if (rank.collective_names[i] == name) return i;
    }
    rank.collective_names.push_back(name);
    return static_cast<std::uint32_t>(rank.collective_names.size() - 1);
  }

  void draw(const std::string& line, const std::string& second) {
    RankSummary rank;
    const std::int64_t number = numbers(line.substr(0, line.find('|'))).at(0);
    rank.rank = number;
    rank.source = "rank" + std::to_string(number) + ".json";
    rank.host_name = "host" + std::to_string(number);
    rank.backend = "nccl";
    rank.device_name = "NVIDIA H200";
    rank.has_clock = true;
    rank.step_source = "profiler_step";
    draw_steps(rank, line.substr(line.find('|')));
    draw_collectives(rank, line.substr(line.find('|')), "");
    if (!second.empty()) draw_collectives(rank, second.substr(second.find('|')), line.substr(line.find('|')));
    for (const SummaryWork& work : rank.work) rank.gpu_event_count += work.count;
    std::stable_sort(rank.collectives.begin(), rank.collectives.end(),
                     [](const SummaryCollective& a, const SummaryCollective& b) {
                       return std::pair(a.step, a.group) < std::pair(b.step, b.group);
                     });
    run.ranks.push_back(std::move(rank));
  }

  static bool computes(char c) { return c == 'c' || c == 'C'; }

  static void draw_steps(RankSummary& rank, const std::string& cells) {
    SummaryWork matmul{"aten::mm", "[[8, 8]]", "gemm", "", KernelClass::kMatmul, TensorCores::kUsed, 0, 0, {}};
    SummaryWork attention{"aten::sdpa", "", "flash", "", KernelClass::kAttention, TensorCores::kUsed, 0, 0, {}};
    TimeNs at = kBase;
    for (const char c : cells) {
      if (c == '|') {
        SummaryStep step;
        step.number = static_cast<std::int64_t>(rank.steps.size()) + 4;
        step.start_ns = at;
        rank.steps.push_back(step);
        matmul.busy_by_step_ns.push_back(0);
        attention.busy_by_step_ns.push_back(0);
        continue;
      }
      SummaryStep& step = rank.steps.back();
      step.duration_ns += kMs;
      at += kMs;
      if (c == 'c' || c == 'C') {
        SummaryWork& work = c == 'c' ? matmul : attention;
        ++work.count;
        work.gpu_sum_ns += kMs;
        work.busy_by_step_ns.back() += kMs;
      }
      if (c == 'd') step.idle_ns[static_cast<std::size_t>(HostLabel::kDataLoader)] += kMs;
      if (c == 'k') step.idle_ns[static_cast<std::size_t>(HostLabel::kCheckpoint)] += kMs;
      if (c == '.') step.idle_ns[static_cast<std::size_t>(HostLabel::kNoEvent)] += kMs;
      if (c != 'd' && c != 'k' && c != '.') step.gpu_busy_ns += kMs;
    }
    if (!rank.steps.empty() && rank.steps.back().duration_ns == 0) {
      rank.steps.pop_back();
      matmul.busy_by_step_ns.pop_back();
      attention.busy_by_step_ns.pop_back();
    }
    for (SummaryStep& step : rank.steps) step.host_span_ns = step.duration_ns;
    rank.work = {matmul, attention};
  }

  void draw_collectives(RankSummary& rank, const std::string& cells, const std::string& beside) const {
    std::int64_t step = -1, column = 0;
    std::map<std::uint32_t, std::uint32_t> sequence;
    SummaryCollective* open = nullptr;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const char c = cells[i];
      if (c == '|') {
        ++step;
        sequence.clear();
        open = nullptr;
        continue;
      }
      const bool begins = std::isupper(static_cast<unsigned char>(c)) && c != 'C';
      if (begins) {
        const Meaning& meaning = meaning_of(c, *rank.rank);
        SummaryCollective event;
        event.group = number_group(rank, meaning);
        event.name = number_name(rank, meaning.kind);
        event.step = static_cast<std::uint32_t>(step);
        event.sequence = sequence[event.group]++;
        event.start_ns = event.end_ns = kBase + column * kMs;
        event.bytes = event.bus_bytes = meaning.bytes;
        rank.collectives.push_back(event);
        open = &rank.collectives.back();
      }
      ++column;
      if (!begins && c != '-' && c != '=') open = nullptr;
      if (open == nullptr) continue;
      open->end_ns += kMs;
      if (i < beside.size() && computes(beside[i])) continue;
      open->exposed_ns += kMs;
      rank.steps[static_cast<std::size_t>(step)].exposed_communication_ns += kMs;
    }
  }

  std::map<std::pair<char, std::int64_t>, Meaning> meanings_;
};

}  // namespace stepscope
