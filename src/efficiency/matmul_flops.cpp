// Matrix products from the sizes of their operands: two operations for each multiply-add.
#include <algorithm>
#include <array>

#include "efficiency/operator_formulas.h"

namespace stepscope {
namespace {

double size_at(const Sizes& sizes, std::size_t index) { return static_cast<double>(sizes[index]); }

}  // namespace

// [M, K] x [K, N]
std::optional<double> matrix_product(const CallArguments& call, std::size_t left) {
  const Sizes* a = call.tensor(left, 2);
  const Sizes* b = call.tensor(left + 1, 2);
  if (a == nullptr || b == nullptr || (*a)[1] != (*b)[0]) return std::nullopt;
  return kFlopsPerMultiplyAdd * product(*a) * size_at(*b, 1);
}

// [B, M, K] x [B, K, N]
std::optional<double> batched_product(const CallArguments& call, std::size_t left) {
  const Sizes* a = call.tensor(left, 3);
  const Sizes* b = call.tensor(left + 1, 3);
  if (a == nullptr || b == nullptr || (*a)[0] != (*b)[0] || (*a)[2] != (*b)[1]) return std::nullopt;
  return kFlopsPerMultiplyAdd * product(*a) * size_at(*b, 2);
}

// linear(input [..., K], weight [N, K])
std::optional<double> linear_product(const CallArguments& call) {
  const Sizes* input = call.tensor(0);
  const Sizes* weight = call.tensor(1);
  if (input == nullptr || weight == nullptr || weight->size() > 2 || input->back() != weight->back()) {
    return std::nullopt;
  }
  return kFlopsPerMultiplyAdd * product(*input) * (weight->size() == 2 ? size_at(*weight, 0) : 1);
}

// matmul: vectors act as rows and columns, leading dimensions broadcast.
std::optional<double> general_product(const CallArguments& call) {
  const Sizes* a = call.tensor(0);
  const Sizes* b = call.tensor(1);
  if (a == nullptr || b == nullptr) return std::nullopt;
  const std::size_t inner_at = b->size() == 1 ? 0 : b->size() - 2;
  if (a->back() != (*b)[inner_at]) return std::nullopt;
  const double rows = a->size() == 1 ? 1 : size_at(*a, a->size() - 2);
  const double columns = b->size() == 1 ? 1 : size_at(*b, b->size() - 1);
  const std::size_t batch_a = a->size() > 2 ? a->size() - 2 : 0;
  const std::size_t batch_b = b->size() > 2 ? b->size() - 2 : 0;
  double batch = 1;
  for (std::size_t back = 1; back <= std::max(batch_a, batch_b); ++back) {
    const double in_a = back <= batch_a ? size_at(*a, batch_a - back) : 1;
    const double in_b = back <= batch_b ? size_at(*b, batch_b - back) : 1;
    if (in_a != in_b && in_a != 1 && in_b != 1) return std::nullopt;
    batch *= std::max(in_a, in_b);
  }
  return kFlopsPerMultiplyAdd * batch * rows * size_at(*a, a->size() - 1) * columns;
}

// einsum("bij,bjk->bik", [a, b]): two operations for each combination of all letters. Ellipses and more than two
// operands are left to the products nested in the call.
std::optional<double> einsum_product(const CallArguments& call) {
  const std::string_view equation = call.text(0);
  const std::vector<Sizes>* operands = call.tensor_list(1);
  if (operands == nullptr || operands->size() != 2) return std::nullopt;
  std::array<std::int64_t, 128> size_of_letter{};
  size_of_letter.fill(-1);
  std::size_t operand = 0;
  std::size_t at = 0;
  for (const char c : equation.substr(0, equation.find("->"))) {
    if (c == ' ') continue;
    if (c == ',') {
      if (at != (*operands)[operand].size() || ++operand == 2) return std::nullopt;
      at = 0;
      continue;
    }
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter || at >= (*operands)[operand].size()) return std::nullopt;
    std::int64_t& known = size_of_letter[static_cast<unsigned char>(c)];
    const std::int64_t here = (*operands)[operand][at++];
    if (known >= 0 && known != here && known != 1 && here != 1) return std::nullopt;
    known = std::max(known, here);
  }
  if (operand != 1 || at != (*operands)[1].size()) return std::nullopt;
  double combinations = 1;
  for (const std::int64_t size : size_of_letter) {
    if (size >= 0) combinations *= static_cast<double>(size);
  }
  return kFlopsPerMultiplyAdd * combinations;
}

// add, mul: one operation for each element of the result, which the operands broadcast to.
std::optional<double> elementwise_result(const CallArguments& call) {
  if (call.size() == 0) return std::nullopt;
  static const Sizes kNoDimensions;
  const Sizes& a = call.tensor(0) != nullptr ? *call.tensor(0) : kNoDimensions;
  const Sizes& b = call.tensor(1) != nullptr ? *call.tensor(1) : kNoDimensions;
  double elements = 1;
  for (std::size_t back = 1; back <= std::max(a.size(), b.size()); ++back) {
    const std::int64_t in_a = back <= a.size() ? a[a.size() - back] : 1;
    const std::int64_t in_b = back <= b.size() ? b[b.size() - back] : 1;
    if (in_a != in_b && in_a != 1 && in_b != 1) return std::nullopt;
    elements *= static_cast<double>(in_a == 1 ? in_b : in_a);
  }
  return elements;
}

}  // namespace stepscope
