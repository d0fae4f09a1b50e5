// The distribution function of the sample jumps at each value: just before value i it is i, just behind it i + 1 (in
// units of 1 / n). A function with one mode is convex up to the mode and concave from there, so the nearest one follows
// the greatest convex minorant of the lower corners and then the least concave majorant of the upper ones. The modal
// interval is narrowed until both are nowhere further apart than what was left outside of it.
#include "stats/dip.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace stepscope {
namespace {

struct Curve {
  std::vector<std::size_t> knots;  // indexes of values, ascending
  double lift = 0;                 // 0: through the lower corners; 1: through the upper ones
};

// Lower hull (`sign` 1) or upper hull (-1) of the points (value, index) from `first` to `last`.
Curve trace_hull(std::span<const double> sorted, std::size_t first, std::size_t last, double sign) {
  Curve curve;
  auto& knots = curve.knots;
  for (std::size_t i = first; i <= last; ++i) {
    while (knots.size() >= 2) {
      const std::size_t a = knots[knots.size() - 2], b = knots.back();
      const double turn =
          (sorted[b] - sorted[a]) * static_cast<double>(i - b) - (sorted[i] - sorted[b]) * static_cast<double>(b - a);
      if (turn * sign > 0) break;
      knots.pop_back();
    }
    knots.push_back(i);
  }
  curve.lift = sign > 0 ? 0 : 1;
  return curve;
}

// Height of a curve at value `at`, given the knot at or before it.
double height(const Curve& curve, std::span<const double> sorted, std::size_t knot, std::size_t at) {
  const std::size_t a = curve.knots[knot];
  if (a == at || knot + 1 == curve.knots.size()) return static_cast<double>(a) + curve.lift;
  const std::size_t b = curve.knots[knot + 1];
  const double width = sorted[b] - sorted[a];
  const double part = width > 0 ? (sorted[at] - sorted[a]) / width : 1;
  return static_cast<double>(a) + part * static_cast<double>(b - a) + curve.lift;
}

struct Modal {
  std::size_t low = 0, high = 0;
  double apart = 0;  // greatest distance between the curves, at one of the ends
};

// The widest place between the curves, which is at a knot of one; the other end is the next knot of the other.
Modal find_widest(const Curve& minorant, const Curve& majorant, std::span<const double> sorted) {
  Modal widest{minorant.knots.front(), minorant.knots.back(), 0};
  std::size_t other = 0;
  for (const std::size_t at : minorant.knots) {
    while (other + 1 < majorant.knots.size() && majorant.knots[other + 1] <= at) ++other;
    const double apart = height(majorant, sorted, other, at) - static_cast<double>(at);
    const bool is_knot = majorant.knots[other] == at || other + 1 == majorant.knots.size();
    if (apart > widest.apart) widest = {at, majorant.knots[is_knot ? other : other + 1], apart};
  }
  other = 0;
  for (const std::size_t at : majorant.knots) {
    while (other + 1 < minorant.knots.size() && minorant.knots[other + 1] <= at) ++other;
    const double apart = static_cast<double>(at) + 1 - height(minorant, sorted, other, at);
    if (apart > widest.apart) widest = {minorant.knots[other], at, apart};
  }
  return widest;
}

// How far the sample strays from a curve between the values `first` and `last`, which are knots of it.
double find_stray(const Curve& curve, std::span<const double> sorted, std::size_t first, std::size_t last) {
  double stray = 0;
  std::size_t knot = 0;
  for (std::size_t at = first; at <= last; ++at) {
    while (knot + 1 < curve.knots.size() && curve.knots[knot + 1] <= at) ++knot;
    const double on_curve = height(curve, sorted, knot, at);
    const double far_corner = curve.lift > 0 ? static_cast<double>(at) : static_cast<double>(at) + 1;
    stray = std::max(stray, std::fabs(on_curve - far_corner));
  }
  return stray;
}

}  // namespace

double compute_dip(std::span<const double> sorted) {
  if (sorted.empty()) return 0;
  const auto n = static_cast<double>(sorted.size());
  double dip = 1;
  Modal modal{0, sorted.size() - 1, 0};
  while (sorted[modal.low] < sorted[modal.high]) {
    const Curve minorant = trace_hull(sorted, modal.low, modal.high, 1);
    const Curve majorant = trace_hull(sorted, modal.low, modal.high, -1);
    const Modal next = find_widest(minorant, majorant, sorted);
    if (next.apart <= dip) break;
    dip = std::max(
        {dip, find_stray(minorant, sorted, modal.low, next.low), find_stray(majorant, sorted, next.high, modal.high)});
    if (next.low == modal.low && next.high == modal.high) break;
    modal = next;
  }
  return dip / (2 * n);
}

// 99 % of uniform samples stay below; from 100,000 simulated samples a size (20,000 above 500): sqrt(n) * dip is 0.507
// at n = 10, 0.539 at 20, 0.571 at 50, 0.590 at 100, 0.618 at 1,000. The formula lies within 2 % of each.
bool is_dip_significant(double dip, std::size_t sample_count) {
  const double root = std::sqrt(static_cast<double>(sample_count));
  return root * dip > 0.64 - 0.42 / root;
}

}  // namespace stepscope
