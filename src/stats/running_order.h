// A sample that grows value by value and is asked for its quantiles after each: exact, as quantile() of all of them.
//
// One sorted vector moves half of itself for each value: timing 1,000,000 blocks spent 56.5 s of its own on that, 6.4
// us a block over the default 10 s. Here the order lies in pieces of at most kMostInPiece values, each sorted and no
// greater than the next: a value moves a few kilobytes, a rank is found by adding up sizes. A tree was rejected: a node
// for each double, and the standard one knows no ranks. Estimates (P2, t-digest) were rejected: they decide when a
// measurement ends, and that has to be what the measurement then says of itself. Measured: docs/performance.md,
// "Timer".
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace stepscope {

class RunningOrder {
 public:
  void add(double value);
  [[nodiscard]] std::size_t size() const { return size_; }
  // With linear interpolation, as quantiles.h; q in [0, 1]. Missing as long as it is empty.
  [[nodiscard]] std::optional<double> quantile(double q) const;

 private:
  [[nodiscard]] double ranked(std::size_t rank) const;  // from 0, below size()

  std::vector<std::vector<double>> pieces_;  // none empty
  std::size_t size_ = 0;
};

}  // namespace stepscope
