// Steps that Stepscope stopped in the runs of one side of a comparison: they count in no difference and in no gate.
//
// The same answer as for one run (fleet/stopped_steps.h), so that a report and a comparison of the same files agree. A
// side holds several runs, and windows of one run; each is looked at on its own, since a stop lies in one of them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fleet/recordings.h"

namespace stepscope {

class CountedRecordings {
 public:
  CountedRecordings() = default;
  // Of one side, copies of one recording left out before: a copy has its stops in no run. They have to outlive this.
  explicit CountedRecordings(const std::vector<const RankSummary*>& recordings);

  // The recording without the steps that count on no rank: itself where there are none. As long as this lives.
  [[nodiscard]] const RankSummary* of(const RankSummary* recording) const;
  // And back.
  [[nodiscard]] const RankSummary* recorded(const RankSummary* counted) const;

  [[nodiscard]] bool has_left_out() const { return !counted_.empty(); }
  // Sentences; empty where it is not so.
  [[nodiscard]] std::string describe_left_out() const;  // "2 steps in which Stepscope itself stopped a rank are ..."
  [[nodiscard]] std::string describe_stopped() const;   // none could be left out of a run, since all were stopped

 private:
  void count_run(const Bundle& bundle);

  std::map<const RankSummary*, std::shared_ptr<const RankSummary>> counted_;
  std::map<const RankSummary*, const RankSummary*> recorded_;
  std::size_t left_out_count_ = 0;  // numbers of steps, summed over runs
  std::string stopped_source_;      // of the first run that was stopped in every step
};

}  // namespace stepscope
