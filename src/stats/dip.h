// Hartigan's dip: how far a sample is from having a single mode.
//
// Step and run times often fall into two groups (two clock speeds, two NUMA nodes, a cache that fits or not); then a
// median hides more than it says. The dip is the largest distance between the sample's distribution function and the
// nearest function with one mode (Hartigan and Hartigan, "The Dip Test of Unimodality", 1985). No other shape with one
// mode reaches higher dips than the uniform one, so a skewed sample with a long tail raises no alarm; Sarle's
// coefficient and the fit of two normal distributions were rejected because they do (a sample of an exponential
// distribution has "two modes" by both).
#pragma once

#include <span>

namespace stepscope {

// Between 1 / (2 n) and 1/4; 0 for an empty sample. `sorted` ascends.
[[nodiscard]] double compute_dip(std::span<const double> sorted);

// Is a dip so large in at most 1 of 100 samples with one mode?
[[nodiscard]] bool is_dip_significant(double dip, std::size_t sample_count);

}  // namespace stepscope
