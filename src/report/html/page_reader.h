// Reads a page's container in tests.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

inline std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= std::uint64_t{byte & 127U} << shift;
    if (byte < 128) return number;
  }
}

// A second reader of the container, so that its description is tested and not only the page's script.
class PageReader {
 public:
  explicit PageReader(std::string bytes) : bytes_(std::move(bytes)) {
    std::size_t size = 0;
    for (unsigned i = 0; i < 4; ++i) size |= std::size_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    directory = nlohmann::json::parse(bytes_.substr(4, size));
    body_ = std::string_view(bytes_).substr(4 + size);
  }
  [[nodiscard]] std::vector<std::int64_t> numbers(const std::string& table, const std::string& column) const {
    const auto& entry = directory["tables"][table]["columns"][column];
    std::string_view bytes = body_.substr(entry[1].get<std::size_t>(), entry[2].get<std::size_t>());
    std::vector<std::int64_t> out;
    std::int64_t before = 0;
    while (!bytes.empty()) {
      const std::uint64_t number = take_varint(bytes);
      const auto value = static_cast<std::int64_t>(number >> 1) ^ -static_cast<std::int64_t>(number & 1);
      before += value;
      out.push_back(entry[0] == "delta" ? before : static_cast<std::int64_t>(number));
    }
    return out;
  }
  [[nodiscard]] std::vector<std::string> texts(const std::string& table, const std::string& column) const {
    const auto& entry = directory["tables"][table]["columns"][column];
    std::string_view bytes = body_.substr(entry[1].get<std::size_t>(), entry[2].get<std::size_t>());
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i < directory["tables"][table]["rows"]; ++i) sizes.push_back(take_varint(bytes));
    std::vector<std::string> out;
    for (const std::size_t size : sizes) {
      out.emplace_back(bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
    return out;
  }
  nlohmann::json directory;

 private:
  std::string bytes_;
  std::string_view body_;
};

}  // namespace stepscope
