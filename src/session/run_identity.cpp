// Asked at the start of each session, since a program may fork or set its rank before that.
#include "session/run_identity.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace stepscope {
namespace {

// A whole number of an environment variable; what is there and no such number is warned of.
std::optional<std::int64_t> read_number(const char* variable, std::int64_t least, std::vector<std::string>& warnings) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view digits = text;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc() && end == digits.data() + digits.size() && number >= least) return number;
  warnings.push_back(std::string(variable) + "=" + text + " is no whole number from " + std::to_string(least) +
                     " on: the trace carries no " + (least == 0 ? "rank" : "number of ranks"));
  return std::nullopt;
}

std::string read_host_name() {
  constexpr std::size_t kLongestName = 256;  // HOST_NAME_MAX is 64 on Linux, 255 in POSIX
  char name[kLongestName] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

}  // namespace

std::string RunIdentity::default_worker_name() const { return host_name + "_" + std::to_string(process_id); }

RunIdentity read_run_identity() {
  RunIdentity out;
  out.host_name = read_host_name();
  out.process_id = getpid();
  out.process_name = program_invocation_short_name;
  out.rank = read_number("RANK", 0, out.warnings);
  out.world_size = read_number("WORLD_SIZE", 1, out.warnings);
  if (out.rank && out.world_size && *out.rank >= *out.world_size) {
    out.warnings.push_back("RANK=" + std::to_string(*out.rank) + " is not below WORLD_SIZE=" +
                           std::to_string(*out.world_size) + ": the trace carries neither");
    out.rank.reset();
    out.world_size.reset();
  }
  return out;
}

}  // namespace stepscope
