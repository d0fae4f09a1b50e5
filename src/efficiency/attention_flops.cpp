// Scaled dot-product attention: 2*B*H*Sq*Sk*(Dqk + Dv) for the two products, 2.5 times that backward.
//
// One call is recorded as up to three nested operators; any of them may be all that a trace has, hence the table.
// The argument positions are those of the operators' signatures in PyTorch 2.1 to 2.11. Variable-length calls
// (three dimensions, all sequences in one row) have no formula: the lengths are not in the shapes.
#include <array>

#include "efficiency/operator_formulas.h"

namespace stepscope {
namespace {

constexpr auto kBshd = AttentionLayout::kSequenceFirst;
constexpr auto kBhsd = AttentionLayout::kHeadsFirst;

constexpr std::array kAttentions = {
    AttentionForm{"aten::scaled_dot_product_attention", 0, 5},
    AttentionForm{"aten::_scaled_dot_product_attention_math", 0, 5},
    AttentionForm{"aten::_scaled_dot_product_flash_attention", 0, 4},
    AttentionForm{"aten::_scaled_dot_product_flash_attention_for_cpu", 0, 4},
    AttentionForm{"aten::_scaled_dot_product_efficient_attention", 0, 6},
    AttentionForm{"aten::_scaled_dot_product_cudnn_attention", 0, 6},
    AttentionForm{"aten::_scaled_dot_product_fused_attention_overrideable", 0, 5},
    AttentionForm{"aten::_flash_attention_forward", 0, 8, kBshd},
    AttentionForm{"aten::_efficient_attention_forward", 0, 9, kBshd, true},
    AttentionForm{"aten::_cudnn_attention_forward", 0, 10},
    AttentionForm{"flash_attn::_flash_attn_forward", 0, 5, kBshd},
    AttentionForm{"aten::_scaled_dot_product_flash_attention_backward", 1, 11, kBhsd, false, true},
    AttentionForm{"aten::_scaled_dot_product_flash_attention_for_cpu_backward", 1, 7, kBhsd, false, true},
    AttentionForm{"aten::_scaled_dot_product_efficient_attention_backward", 1, 11, kBhsd, false, true},
    AttentionForm{"aten::_scaled_dot_product_cudnn_attention_backward", 1, 14, kBhsd, false, true},
    AttentionForm{"aten::_scaled_dot_product_fused_attention_overrideable_backward", 1, 13, kBhsd, false, true},
    AttentionForm{"aten::_flash_attention_backward", 1, 11, kBshd, false, true},
    AttentionForm{"aten::_efficient_attention_backward", 1, 14, kBshd, true, true},
    AttentionForm{"aten::_cudnn_attention_backward", 1, 14, kBhsd, false, true},
};

struct Lengths {
  double batch_heads, sequence, depth;
};

std::optional<Lengths> read_lengths(const Sizes* sizes, AttentionLayout layout) {
  if (sizes == nullptr) return std::nullopt;
  const std::size_t rank = sizes->size();
  const auto at = [&](std::size_t index) { return static_cast<double>((*sizes)[index]); };
  if (layout == AttentionLayout::kSequenceFirst) {
    if (rank != 4) return std::nullopt;
    return Lengths{at(0) * at(2), at(1), at(3)};
  }
  if (rank < 2) return std::nullopt;
  double leading = 1;
  for (std::size_t i = 0; i + 2 < rank; ++i) leading *= at(i);
  return Lengths{leading, at(rank - 2), at(rank - 1)};
}

}  // namespace

const AttentionForm* find_attention(std::string_view name) {
  for (const AttentionForm& form : kAttentions) {
    if (form.name == name) return &form;
  }
  return nullptr;
}

// Heads and batch come from the query: with grouped queries, keys have fewer heads and the work is the query's.
std::optional<double> attention(const CallArguments& call, const AttentionForm& form) {
  const auto query = read_lengths(call.tensor(form.query), form.layout);
  const auto key = read_lengths(call.tensor(form.query + 1), form.layout);
  const auto value = read_lengths(call.tensor(form.query + 2), form.layout);
  if (!query || !key || !value || query->depth != key->depth || key->sequence != value->sequence) return std::nullopt;
  const double forward =
      attention_forward(query->batch_heads, query->sequence, key->sequence, query->depth, value->depth);
  return form.is_backward ? kAttentionBackwardFactor * forward : forward;
}

bool attention_is_causal(const CallArguments& call, const AttentionForm& form) {
  if (!form.is_mask_type) return call.is_true(form.causal);
  return call.text(form.causal) == "1" || call.text(form.causal) == "2";
}

}  // namespace stepscope
