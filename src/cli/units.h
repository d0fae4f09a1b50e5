// Numbers as people type them: 7B, 2M, 989T, 43.5ms. Strict: a number, then one of the units that the quantity has, and
// nothing else; what cannot be told apart (is 8K 8000 or 8192?) has to be written out.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>

namespace stepscope {

// Each is missing when the text is no such quantity above 0. SI units without prefix.
[[nodiscard]] std::optional<double> parse_amount(std::string_view text);       // 7B, 7e9, 125M, 32k: K, M, B or G, T
[[nodiscard]] std::optional<double> parse_flops(std::string_view text);        // 28P, 2.8e16, 28 PFLOP
[[nodiscard]] std::optional<double> parse_flops_per_s(std::string_view text);  // 989T, 989e12, 0.989 PFLOP/s
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);      // 9, 9s, 43.5ms, 500us, 2min

[[nodiscard]] std::optional<double> parse_bytes(std::string_view text);  // 3001024512, 80GiB, 80GB; B, Ki.. to Ti..

// For CLI11: checks the text and hands on the plain number.
[[nodiscard]] CLI::Validator amount();
[[nodiscard]] CLI::Validator peak_flops();
[[nodiscard]] CLI::Validator seconds();
[[nodiscard]] CLI::Validator byte_count();
// Whole numbers from 1 to 2^53, digits only.
[[nodiscard]] CLI::Validator positive_count();
[[nodiscard]] CLI::Validator plain_size();  // that people write as 8K and mean 8192

}  // namespace stepscope
