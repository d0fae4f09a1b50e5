// Which calls of optimizers end a step of the program.
//
// A loop with one optimizer calls its step() once a pass. With several (a GAN's two, one for each part of a model) a
// pass has several calls. PyTorch's spans name the class only, `Optimizer.step#Adam.step`; the hooks of torch.optim
// (optimizer_calls.h) know the object too. So a call is told by class, place (the Python stack it was made from) and,
// where a hook told it, the object; without an object one place means one optimizer, or several in a loop of their own.
//
//   D G D G D G      two calls: one step a pass, which ends at G, the last before the first comes again
//   zD zD zD zG      the first comes again before G came: each D is a step, G belongs to the step it falls into
//   z s z s          one place, two objects: as D G. Objects unknown: each is a step; --step is there
//   z z s s          objects unknown, no zero_grad (z) nor another call between: as many as stood together the last
//                    time are one step. Known: as D G; the same object again is a step each time, z or not
//   D D D d d d      one place, first the one object, then a new one (made anew each epoch), or one object, first from
//                    one place, then from a new one: the new call takes the old one's part where that was due or its
//                    object is gone, and each is a step. Objects unknown: the first d is not
//
// Where a pass ends is learnt when it comes round, so the first step or two may be longer or shorter; the rest are
// whole passes. Objects come numbered in the order in which they were first seen, and no number comes twice: an address
// would, and with it two optimizers would be one or not by chance.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace stepscope::agent {

class OptimizerSteps {
 public:
  // The end of a span of an optimizer, its step() or another of its methods, in the order of ends. `place` tells where
  // from and `object` whose, 0 where that is not known. True: a step of the program ends here.
  bool note(std::string_view name, std::uint32_t place, std::uint64_t object = 0);
  // The optimizer `object` is no more.
  void forget(std::uint64_t object);

 private:
  struct Call {
    std::uint64_t line = 0;  // class and place; 0: none
    std::uint64_t object = 0;
    bool is_gone = false;
    bool operator==(const Call& other) const { return line == other.line && object == other.object; }
  };

  bool closes_pass(const Call& call);
  void begin_with(const Call& call);
  bool ends_run(const Call& call);
  void let_succeed(const Call& call);
  bool is_new(const Call& call);

  Call first_;                               // begins a pass
  Call closing_;                             // ends it
  bool is_settled_ = false;                  // a pass has come round, so `closing_` was its last call
  bool closing_seen_ = false;                // since `first_` was
  std::vector<Call> others_;                 // since `first_` was
  std::unordered_set<std::uint64_t> known_;  // calls with an object
  // Of calls whose object is not known:
  Call last_;
  std::uint64_t run_count_ = 0;   // of the closing call, since anything else
  std::uint64_t run_length_ = 1;  // how many there were the last time: so many are one step
};

}  // namespace stepscope::agent
