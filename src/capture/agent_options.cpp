// `key=value;key=value`, every key named by one row of a table that both directions use. A value may hold anything but
// ';', which is written as "%3B" ("%" as "%25"): directories have odd names.
#include "capture/agent_options.h"

#include <array>
#include <charconv>
#include <variant>

namespace stepscope {
namespace {

using Field = std::variant<std::string AgentOptions::*, bool AgentOptions::*, std::uint64_t AgentOptions::*>;
struct Key {
  std::string_view name;
  Field field;
};
const std::array<Key, 16>& keys() {
  static const std::array<Key, 16> all = {{{"directory", &AgentOptions::directory},
                                           {"schedule", &AgentOptions::schedule},
                                           {"every", &AgentOptions::every},
                                           {"step_name", &AgentOptions::step_name},
                                           {"shapes", &AgentOptions::shapes},
                                           {"stacks", &AgentOptions::stacks},
                                           {"graphs", &AgentOptions::graphs},
                                           {"memory", &AgentOptions::memory},
                                           {"allocations", &AgentOptions::allocations},
                                           {"gpu", &AgentOptions::gpu},
                                           {"follow_children", &AgentOptions::follow_children},
                                           {"start_paused", &AgentOptions::start_paused},
                                           {"toggle_signal", &AgentOptions::toggle_signal},
                                           {"max_memory_bytes", &AgentOptions::max_memory_bytes},
                                           {"max_file_bytes", &AgentOptions::max_file_bytes},
                                           {"control_socket", &AgentOptions::control_socket}}};
  return all;
}

std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == ';' ? "%3B" : c == '%' ? "%25" : std::string(1, c);
  return escaped;
}

std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view three = text.substr(at, 3);
    const bool is_escape = three == "%3B" || three == "%25";
    plain += !is_escape ? text[at] : three == "%3B" ? ';' : '%';
    if (is_escape) at += 2;
  }
  return plain;
}

std::string value_text(const AgentOptions& options, const Field& field) {
  if (const auto* const text = std::get_if<std::string AgentOptions::*>(&field)) return escape(options.*(*text));
  if (const auto* const flag = std::get_if<bool AgentOptions::*>(&field)) return options.*(*flag) ? "1" : "0";
  return std::to_string(options.*std::get<std::uint64_t AgentOptions::*>(field));
}

bool set_value(AgentOptions& options, const Field& field, std::string_view text) {
  if (const auto* const member = std::get_if<std::string AgentOptions::*>(&field)) {
    options.*(*member) = unescape(text);
    return true;
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return false;
  if (const auto* const flag = std::get_if<bool AgentOptions::*>(&field)) {
    options.*(*flag) = number == 1;
    return number <= 1;
  }
  options.*std::get<std::uint64_t AgentOptions::*>(field) = number;
  return true;
}

}  // namespace

std::string format_agent_options(const AgentOptions& options) {
  std::string text;
  for (const Key& key : keys()) {
    const std::string value = value_text(options, key.field);
    if (value == value_text({}, key.field)) continue;  // the text is shown to people (--dry-run)
    if (!text.empty()) text += ';';
    text += key.name;
    text += '=';
    text += value;
  }
  return text;
}

Result<AgentOptions> parse_agent_options(std::string_view text) {
  AgentOptions options;
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    const std::string_view pair = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const std::string_view name = pair.substr(0, equals);
    const Key* known = nullptr;
    for (const Key& key : keys()) {
      if (key.name == name) known = &key;
    }
    if (known == nullptr || equals == std::string_view::npos) {
      return Error{ErrorCode::kInvalidArgument, "unknown option '" + std::string(pair) + "'", {}};
    }
    const std::string_view value = pair.substr(equals + 1);
    if (!set_value(options, known->field, value)) {
      return Error{
          ErrorCode::kInvalidArgument, "option " + std::string(name) + " cannot be '" + std::string(value) + "'", {}};
    }
  }
  return options;
}

}  // namespace stepscope
