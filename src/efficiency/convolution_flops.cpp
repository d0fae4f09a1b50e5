// Convolutions of 1, 2 and 3 dimensions, forward, transposed and backward.
//
// weight is [Cout, Cin / groups, k...], or [Cin, Cout / groups, k...] for a transposed one, so the groups are already
// in its size: forward = 2 * batch * positions * weight elements, where the positions are those of the output
// (of the input for a transposed one). The backward pass of each operand costs as much as the forward pass.
#include <array>

#include "efficiency/operator_formulas.h"

namespace stepscope {
namespace {

// Positions of stride, padding, dilation, as the operators' signatures have them.
constexpr std::array kConvolutions = {
    ConvolutionForm{"aten::conv1d", 3, 4, 5},
    ConvolutionForm{"aten::conv2d", 3, 4, 5},
    ConvolutionForm{"aten::conv3d", 3, 4, 5},
    ConvolutionForm{"aten::convolution", 3, 4, 5, false, 6},
    ConvolutionForm{"aten::_convolution", 3, 4, 5, false, 6},
    ConvolutionForm{"aten::cudnn_convolution", 3, 2, 4},
    ConvolutionForm{"aten::miopen_convolution", 4, 3, 5},
    ConvolutionForm{"aten::mkldnn_convolution", 4, 3, 5},
    ConvolutionForm{"aten::conv_transpose1d", 0, 0, 0, true},
    ConvolutionForm{"aten::conv_transpose2d", 0, 0, 0, true},
    ConvolutionForm{"aten::conv_transpose3d", 0, 0, 0, true},
    ConvolutionForm{"aten::convolution_backward", 0, 0, 0, false, 7, true, 10},
};

struct Geometry {
  const Sizes* input;
  const Sizes* weight;
  std::size_t spatial;  // number of spatial dimensions
  double batch;
  std::size_t first;  // index of the first spatial size in the input
};

std::optional<Geometry> read_geometry(const CallArguments& call, std::size_t input_at) {
  const Sizes* input = call.tensor(input_at);
  const Sizes* weight = call.tensor(input_at + 1);
  if (input == nullptr || weight == nullptr || weight->size() < 3 || weight->size() > 5) return std::nullopt;
  const bool is_batched = input->size() == weight->size();
  if (!is_batched && input->size() + 1 != weight->size()) return std::nullopt;
  return Geometry{input, weight, weight->size() - 2, is_batched ? static_cast<double>((*input)[0]) : 1.0,
                  is_batched ? std::size_t{2} : std::size_t{1}};
}

// One number for all dimensions or one for each; `fallback` where the operator recorded none.
std::optional<std::vector<std::int64_t>> read_setting(const CallArguments& call, std::size_t at, std::size_t count,
                                                      std::int64_t fallback) {
  if (at == 0 || call.text(at).empty()) return std::vector<std::int64_t>(count, fallback);
  auto numbers = parse_integers(call.text(at));
  if (!numbers || numbers->empty()) return std::nullopt;
  if (numbers->size() == 1) numbers->resize(count, numbers->front());
  if (numbers->size() != count) return std::nullopt;
  return numbers;
}

double positions(const Sizes& sizes, std::size_t first) { return product(sizes, first); }

// The size of the output in every dimension, multiplied.
std::optional<double> output_positions(const CallArguments& call, const ConvolutionForm& form, const Geometry& shape) {
  constexpr std::int64_t kMaxSetting = 1 << 30;  // keeps the sums below far from overflow
  if (call.text(form.padding) == "same") return positions(*shape.input, shape.first);
  const bool is_unpadded = call.text(form.padding) == "valid";
  const auto stride = read_setting(call, form.stride, shape.spatial, 1);
  const auto padding = read_setting(call, is_unpadded ? 0 : form.padding, shape.spatial, 0);
  const auto dilation = read_setting(call, form.dilation, shape.spatial, 1);
  if (!stride || !padding || !dilation) return std::nullopt;
  double out = 1;
  for (std::size_t i = 0; i < shape.spatial; ++i) {
    const std::int64_t size = (*shape.input)[shape.first + i];
    const std::int64_t kernel = (*shape.weight)[2 + i];
    const auto in_range = [](std::int64_t n) { return n >= 0 && n <= kMaxSetting; };
    if (!in_range(size) || !in_range(kernel) || !in_range((*padding)[i]) || !in_range((*dilation)[i]) ||
        !in_range((*stride)[i]) || (*stride)[i] == 0) {
      return std::nullopt;
    }
    const std::int64_t reach = size + 2 * (*padding)[i] - (*dilation)[i] * (kernel - 1) - 1;
    if (reach < 0) return std::nullopt;
    const std::int64_t windows = reach / (*stride)[i] + 1;
    out *= static_cast<double>(windows);
  }
  return out;
}

// How many of the gradients of input and weight were asked for; both when the mask was not recorded.
double gradient_count(const CallArguments& call, const ConvolutionForm& form) {
  const auto mask = parse_booleans(call.text(form.output_mask));
  if (!mask || mask->size() < 2) return 2;
  return ((*mask)[0] ? 1.0 : 0.0) + ((*mask)[1] ? 1.0 : 0.0);
}

std::optional<double> backward(const CallArguments& call, const ConvolutionForm& form) {
  const auto shape = read_geometry(call, 1);
  const Sizes* gradient = call.tensor(0);
  if (!shape || gradient == nullptr || gradient->size() != shape->input->size()) return std::nullopt;
  const Sizes& at = call.is_true(form.transposed) ? *shape->input : *gradient;
  return gradient_count(call, form) * kFlopsPerMultiplyAdd * shape->batch * positions(at, shape->first) *
         product(*shape->weight);
}

}  // namespace

const ConvolutionForm* find_convolution(std::string_view name) {
  for (const ConvolutionForm& form : kConvolutions) {
    if (form.name == name) return &form;
  }
  return nullptr;
}

std::optional<double> convolution(const CallArguments& call, const ConvolutionForm& form) {
  if (form.is_backward) return backward(call, form);
  const auto shape = read_geometry(call, 0);
  if (!shape) return std::nullopt;
  const bool is_transposed = form.is_transposed || (form.transposed != 0 && call.is_true(form.transposed));
  const auto at =
      is_transposed ? std::optional(positions(*shape->input, shape->first)) : output_positions(call, form, *shape);
  if (!at) return std::nullopt;
  return kFlopsPerMultiplyAdd * shape->batch * *at * product(*shape->weight);
}

}  // namespace stepscope
