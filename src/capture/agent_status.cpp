// One walk over the fields for both directions, so that they cannot differ. Line ends in values become spaces: they are
// names of spans and directories, shown to people.
#include "capture/agent_status.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace stepscope {
namespace {

class Writer {
 public:
  void field(std::string_view key, const std::string& value) {
    std::string clean = value;
    std::replace(clean.begin(), clean.end(), '\n', ' ');
    text.append(key).append("=").append(clean).append("\n");
  }
  void field(std::string_view key, bool value) { field(key, std::string(value ? "1" : "0")); }
  void field(std::string_view key, std::uint64_t value) { field(key, std::to_string(value)); }
  void field(std::string_view key, std::int64_t value) { field(key, std::to_string(value)); }
  void field(std::string_view key, const MaybeInt& value) {
    if (value.has_value()) field(key, std::to_string(value.value()));
  }
  std::string text;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  void field(std::string_view key, std::string& value) { value = find(key); }
  void field(std::string_view key, bool& value) { value = find(key) == "1"; }
  void field(std::string_view key, std::uint64_t& value) { value = number<std::uint64_t>(key).value_or(0); }
  void field(std::string_view key, std::int64_t& value) { value = number<std::int64_t>(key).value_or(0); }
  void field(std::string_view key, MaybeInt& value) {
    if (const auto found = number<std::int64_t>(key)) value = *found;
  }

 private:
  [[nodiscard]] std::string_view find(std::string_view key) const {
    for (std::string_view rest = text_; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == '=') {
        return line.substr(key.size() + 1);
      }
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    return {};
  }
  template <class Number>
  [[nodiscard]] std::optional<Number> number(std::string_view key) const {
    const std::string_view digits = find(key);
    Number found{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), found);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return found;
  }
  std::string_view text_;
};

template <class Codec, class Status>
void walk(Codec& codec, Status& status) {
  codec.field("process_id", status.process_id);
  codec.field("rank", status.rank);
  codec.field("step_count", status.step_count);
  codec.field("window_count", status.window_count);
  codec.field("window_is_open", status.window_is_open);
  codec.field("is_paused", status.is_paused);
  codec.field("is_over", status.is_over);
  codec.field("step_name", status.step_name);
  codec.field("directory", status.directory);
}

}  // namespace

std::string format_agent_status(const AgentStatus& status) {
  Writer writer;
  walk(writer, status);
  return writer.text;
}

AgentStatus parse_agent_status(std::string_view text) {
  AgentStatus status;
  Reader reader(text);
  walk(reader, status);
  return status;
}

std::string agent_socket_path(std::string_view pattern, std::int64_t process_id) {
  std::string path(pattern);
  const std::size_t at = path.rfind("%p");
  if (at != std::string::npos) path.replace(at, 2, std::to_string(process_id));
  return path;
}

std::string agent_status_path(std::string_view socket_path) {
  const std::string_view end = ".sock";
  if (socket_path.ends_with(end)) socket_path.remove_suffix(end.size());
  return std::string(socket_path) + ".status";
}

}  // namespace stepscope
