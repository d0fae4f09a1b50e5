// Finds the formula of an operator by its exact name. Names are looked up once for each distinct call of a trace
// (some hundreds), so a walk over short tables is fast enough.
#include "efficiency/operator_flops.h"

#include <array>

#include "efficiency/operator_formulas.h"

namespace stepscope {
namespace {

using Formula = std::optional<double> (*)(const CallArguments&);

struct NamedFormula {
  std::string_view name;
  FlopsRole role;
  Formula formula;
};

std::optional<double> product_of_first(const CallArguments& call) { return matrix_product(call, 0); }
std::optional<double> product_of_second(const CallArguments& call) { return matrix_product(call, 1); }
std::optional<double> batched_of_first(const CallArguments& call) { return batched_product(call, 0); }
std::optional<double> batched_of_second(const CallArguments& call) { return batched_product(call, 1); }

constexpr std::array kProducts = {
    NamedFormula{"aten::mm", FlopsRole::kWhole, product_of_first},
    NamedFormula{"aten::_int_mm", FlopsRole::kWhole, product_of_first},
    NamedFormula{"aten::_scaled_mm", FlopsRole::kWhole, product_of_first},
    NamedFormula{"aten::addmm", FlopsRole::kWhole, product_of_second},
    NamedFormula{"aten::_addmm_activation", FlopsRole::kWhole, product_of_second},
    NamedFormula{"aten::bmm", FlopsRole::kWhole, batched_of_first},
    NamedFormula{"aten::baddbmm", FlopsRole::kWhole, batched_of_second},
    NamedFormula{"aten::addbmm", FlopsRole::kWhole, batched_of_second},
    NamedFormula{"aten::linear", FlopsRole::kComposite, linear_product},
    NamedFormula{"aten::matmul", FlopsRole::kComposite, general_product},
    NamedFormula{"aten::einsum", FlopsRole::kComposite, einsum_product},
};

// PyTorch's with_flops, by name (torch/csrc/profiler/util.cpp).
constexpr std::array kTorchProducts = {
    NamedFormula{"aten::mm", FlopsRole::kWhole, product_of_first},
    NamedFormula{"aten::addmm", FlopsRole::kWhole, product_of_second},
    NamedFormula{"aten::bmm", FlopsRole::kWhole, batched_of_first},
    NamedFormula{"aten::baddbmm", FlopsRole::kWhole, batched_of_second},
    NamedFormula{"aten::add", FlopsRole::kWhole, elementwise_result},
    NamedFormula{"aten::mul", FlopsRole::kWhole, elementwise_result},
};
constexpr std::string_view kTorchConvolution = "aten::conv2d";

template <std::size_t kCount>
const NamedFormula* find_in(const std::array<NamedFormula, kCount>& table, std::string_view name) {
  for (const NamedFormula& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

FlopsRole find_flops_role(std::string_view name) {
  if (const NamedFormula* row = find_in(kProducts, name)) return row->role;
  const bool is_whole = find_convolution(name) != nullptr || find_attention(name) != nullptr;
  return is_whole ? FlopsRole::kWhole : FlopsRole::kNone;
}

std::optional<OperatorCost> compute_operator_cost(std::string_view name, std::string_view input_dims,
                                                  std::string_view concrete_inputs) {
  const NamedFormula* product = find_in(kProducts, name);
  const ConvolutionForm* conv = find_convolution(name);
  const AttentionForm* attend = find_attention(name);
  if (product == nullptr && conv == nullptr && attend == nullptr) return std::nullopt;
  const auto call = CallArguments::parse(input_dims, concrete_inputs);
  if (!call) return std::nullopt;
  const auto flops = product != nullptr ? product->formula(*call)
                     : conv != nullptr  ? convolution(*call, *conv)
                                        : attention(*call, *attend);
  if (!flops) return std::nullopt;
  OperatorCost out;
  out.flops = *flops;
  out.is_attention = attend != nullptr;
  out.is_backward = (conv != nullptr && conv->is_backward) || (attend != nullptr && attend->is_backward);
  out.is_causal = attend != nullptr && attention_is_causal(*call, *attend);
  return out;
}

bool has_torch_flops(std::string_view name) {
  return name == kTorchConvolution || find_in(kTorchProducts, name) != nullptr;
}

std::optional<double> compute_torch_flops(std::string_view name, std::string_view input_dims,
                                          std::string_view concrete_inputs) {
  const NamedFormula* row = find_in(kTorchProducts, name);
  if (row == nullptr && name != kTorchConvolution) return std::nullopt;
  const auto call = CallArguments::parse(input_dims, concrete_inputs);
  if (!call) return std::nullopt;
  return row != nullptr ? row->formula(*call) : convolution(*call, *find_convolution(name));
}

bool looks_like_matmul(std::string_view name) {
  return contains_any(name, {"::mm", "_mm", "addmm", "bmm", "matmul", "gemm", "conv1d", "conv2d", "conv3d",
                             "convolution", "conv_", "attention", "attn", "linear", "einsum", "rnn", "lstm", "gru"});
}

}  // namespace stepscope
