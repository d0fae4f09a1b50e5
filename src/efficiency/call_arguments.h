// The arguments of one operator call, parsed, with the accessors that formulas need. Private to this room.
#pragma once

#include <optional>
#include <string_view>

#include "efficiency/argument_text.h"

namespace stepscope {

class CallArguments {
 public:
  // Missing when the shapes cannot be read. Concrete inputs that cannot be read are as if not recorded.
  static std::optional<CallArguments> parse(std::string_view input_dims, std::string_view concrete_inputs);

  // Sizes of argument `index` if it is a tensor of `dimensions` dimensions.
  [[nodiscard]] const Sizes* tensor(std::size_t index, std::size_t dimensions) const;
  [[nodiscard]] const Sizes* tensor(std::size_t index) const;  // of one dimension or more
  [[nodiscard]] const std::vector<Sizes>* tensor_list(std::size_t index) const;
  // The written value of argument `index`; empty when not recorded.
  [[nodiscard]] std::string_view text(std::size_t index) const;
  [[nodiscard]] bool is_true(std::size_t index) const { return text(index) == "True" || text(index) == "true"; }
  [[nodiscard]] std::size_t size() const { return sizes_.size(); }

 private:
  std::vector<ArgumentSizes> sizes_;
  std::vector<std::string> texts_;
};

[[nodiscard]] double product(const Sizes& sizes, std::size_t from = 0);

}  // namespace stepscope
