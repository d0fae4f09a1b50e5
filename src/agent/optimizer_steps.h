// Which calls of optimizers end a step of the program.
//
// A loop with one optimizer calls its step() once a pass. With several (a GAN's two, one for each part of a model) a
// pass has several calls, and PyTorch's spans name the class only: `Optimizer.step#Adam.step`. So a call is told by
// class and place, the Python stack it was made from; one place means one optimizer, or several in a loop of their own.
//
//   D G D G D G      two places: one step a pass, which ends at G, the last before the first comes again
//   zD zD zD zG      the first comes again before G came: each D is a step, G belongs to the step it falls into
//   z z s s          no zero_grad (z) nor another call between: as many as stood together the last time are one step
//   z s z s          one place, alternating: each is a step. Only the objects would tell; --step is there.
//
// Where a pass ends is learnt when it comes round, so the first step or two may be longer or shorter; the rest are
// whole passes. Rejected: the optimizer's object by a global hook of torch.optim (code of ours in the program's
// optimizers, which torch.compile then traces).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stepscope::agent {

class OptimizerSteps {
 public:
  // The end of a span of an optimizer, its step() or another of its methods, in the order of ends. `place` tells where
  // from, 0 where that is not known. True: a step of the program ends here.
  bool note(std::string_view name, std::uint32_t place);

 private:
  using Call = std::uint64_t;  // class and place; 0: none

  bool closes_pass(Call call);
  void begin_with(Call call);

  Call first_ = 0;             // begins a pass
  Call closing_ = 0;           // ends it
  bool is_settled_ = false;    // a pass has come round, so `closing_` was its last call
  bool closing_seen_ = false;  // since `first_` was
  std::vector<Call> others_;   // since `first_` was
  Call last_ = 0;
  std::uint64_t run_count_ = 0;   // of the closing call, since anything else
  std::uint64_t run_length_ = 1;  // how many there were the last time: so many are one step
};

}  // namespace stepscope::agent
