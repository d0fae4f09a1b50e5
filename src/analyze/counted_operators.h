// Which operators of a trace count towards its FLOPs, each piece of work once.
//
// The outermost operator whose FLOPs the program told (OpSpan), or with a formula, counts and covers all nested in it;
// a composite one (linear, einsum) counts only where nothing nested in it did, so that a table shows aten::addmm and
// not the aten::linear around it.
#pragma once

#include <vector>

#include "efficiency/operator_flops.h"
#include "trace/trace.h"

namespace stepscope {

struct CountedOperator {
  OpId op;
  OperatorCost cost;
  StringId types;  // `Input type` of the innermost operator with a formula: autocast changes types on the way in
};

struct CountedOperators {
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::vector<CountedOperator> list;  // in table order
  Column<OpId, std::uint32_t> of_op;  // index of the counted operator that this is or is nested in, else kNone
  Column<OpId, std::uint8_t> contains_counted;  // 1 for an operator around a counted one
};

[[nodiscard]] CountedOperators find_counted_operators(const Trace& trace);

}  // namespace stepscope
