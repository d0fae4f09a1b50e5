// What is the same on several ranks: kinds of process groups, collectives of one place in the program, points and
// edges.
//
// Groups of one kind have different names on different ranks (each tensor-parallel group its own), so a kind is what
// the group is called or how many it has, and which of its like it is on the rank. Keys are hashes of 64 bits: among
// 10 million edges two differ and look alike once in 400,000 runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fleet/rank_summary.h"

namespace stepscope {

// Words for a group's kind: "mesh_tp", "group of 8".
[[nodiscard]] std::string group_kind_words(const SummaryGroup& group);

struct RankKeys {
  std::vector<std::uint64_t> of_collective;  // step number, kind of group and which of them, sequence
  std::vector<std::uint64_t> of_point;       // of its replay
  // Ranks that run the same collectives in the same steps, at the same stage of a pipeline, have the same.
  std::uint64_t program = 0;
};
[[nodiscard]] RankKeys compute_rank_keys(const RankSummary& rank);

[[nodiscard]] constexpr std::uint64_t mix_keys(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2));
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace stepscope
