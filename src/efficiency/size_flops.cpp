// Formulas from sizes that a caller names, for work that no trace recorded. What a formula is stands in
// operator_formulas.h, which operators of traces use too; here sizes are checked.
#include <array>
#include <utility>

#include "efficiency/operator_formulas.h"

namespace stepscope {
namespace {

Error invalid(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message), {}}; }

using NamedSize = std::pair<const char*, std::int64_t>;

Status check_sizes(std::initializer_list<NamedSize> sizes) {
  for (const auto& [name, size] : sizes) {
    if (size < 0) return invalid(std::string(name) + " must not be negative, and is " + std::to_string(size));
  }
  return Done{};
}

double as_double(std::int64_t size) { return static_cast<double>(size); }

}  // namespace

Result<double> matmul_flops(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t batch) {
  if (auto status = check_sizes({{"m", m}, {"k", k}, {"n", n}, {"batch", batch}}); !status) return status.error();
  return kFlopsPerMultiplyAdd * as_double(batch) * as_double(m) * as_double(k) * as_double(n);
}

Result<double> convolution_flops(const ConvolutionSizes& sizes) {
  const auto status = check_sizes({{"batch", sizes.batch},
                                   {"in_channels", sizes.in_channels},
                                   {"out_channels", sizes.out_channels},
                                   {"groups", sizes.groups}});
  if (!status) return status.error();
  const std::size_t dimensions = sizes.kernel.size();
  if (dimensions < 1 || dimensions > 3) return invalid("kernel must have 1, 2 or 3 sizes");
  if (sizes.output.size() != dimensions) return invalid("output must have as many sizes as kernel");
  if (sizes.groups < 1) return invalid("groups must be 1 or more");
  if (sizes.in_channels % sizes.groups != 0) return invalid("in_channels must be a multiple of groups");
  if (sizes.out_channels % sizes.groups != 0) return invalid("out_channels must be a multiple of groups");
  double positions = 1, weights = as_double(sizes.in_channels / sizes.groups) * as_double(sizes.out_channels);
  for (std::size_t i = 0; i < dimensions; ++i) {
    const auto checked = check_sizes({{"kernel", sizes.kernel[i]}, {"output", sizes.output[i]}});
    if (!checked) return checked.error();
    weights *= as_double(sizes.kernel[i]);
    positions *= as_double(sizes.output[i]);
  }
  return kFlopsPerMultiplyAdd * as_double(sizes.batch) * positions * weights;
}

Result<double> attention_flops(const AttentionSizes& sizes) {
  const std::int64_t value_size = sizes.value_size == -1 ? sizes.head_size : sizes.value_size;
  const auto status = check_sizes({{"batch", sizes.batch},
                                   {"heads", sizes.heads},
                                   {"query_length", sizes.query_length},
                                   {"key_length", sizes.key_length},
                                   {"head_size", sizes.head_size},
                                   {"value_size", value_size}});
  if (!status) return status.error();
  return attention_forward(as_double(sizes.batch) * as_double(sizes.heads), as_double(sizes.query_length),
                           as_double(sizes.key_length), as_double(sizes.head_size), as_double(value_size));
}

Result<double> attention_backward_flops(const AttentionSizes& sizes) {
  auto forward = attention_flops(sizes);
  if (!forward) return forward;
  return kAttentionBackwardFactor * *forward;
}

}  // namespace stepscope
