// See call_arguments.h.
#include "efficiency/call_arguments.h"

namespace stepscope {

std::optional<CallArguments> CallArguments::parse(std::string_view input_dims, std::string_view concrete_inputs) {
  auto sizes = parse_argument_sizes(input_dims);
  if (!sizes) return std::nullopt;
  CallArguments out;
  out.sizes_ = std::move(*sizes);
  if (auto texts = parse_argument_texts(concrete_inputs)) out.texts_ = std::move(*texts);
  return out;
}

const Sizes* CallArguments::tensor(std::size_t index) const {
  if (index >= sizes_.size() || sizes_[index].sizes.empty()) return nullptr;
  return &sizes_[index].sizes;
}

const Sizes* CallArguments::tensor(std::size_t index, std::size_t dimensions) const {
  const Sizes* found = tensor(index);
  return found != nullptr && found->size() == dimensions ? found : nullptr;
}

const std::vector<Sizes>* CallArguments::tensor_list(std::size_t index) const {
  if (index >= sizes_.size() || sizes_[index].items.empty()) return nullptr;
  return &sizes_[index].items;
}

std::string_view CallArguments::text(std::size_t index) const {
  return index < texts_.size() ? std::string_view(texts_[index]) : std::string_view();
}

double product(const Sizes& sizes, std::size_t from) {
  double out = 1;
  for (std::size_t i = from; i < sizes.size(); ++i) out *= static_cast<double>(sizes[i]);
  return out;
}

}  // namespace stepscope
