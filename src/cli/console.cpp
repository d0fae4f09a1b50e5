// NO_COLOR (no-color.org), TERM=dumb and the locale are asked here and nowhere else.
#include "cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kDefaultWidth = 80;
constexpr std::size_t kLeastWidth = 60;  // the tables need so much; a narrower terminal wraps by itself
constexpr std::size_t kMostWidth = 120;  // longer lines are hard to read

std::atomic<bool> stdout_was_used{false};
std::atomic<bool> reader_is_gone{false};

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::size_t terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return kDefaultWidth;
  }
  return std::clamp<std::size_t>(size.ws_col, kLeastWidth, kMostWidth);
}

// UTF-8 unless the locale names another charset. An unset locale (containers) counts as UTF-8: most are.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    const std::size_t dot = value.find('.');
    if (dot == std::string_view::npos) return true;
    const std::string_view charset = value.substr(dot + 1);
    return charset.starts_with("UTF") || charset.starts_with("utf");
  }
  return true;
}

}  // namespace

bool Console::write(std::string_view text) {
  stdout_was_used = true;
  if (write_all(STDOUT_FILENO, text)) return true;
  const int error = errno;
  reader_is_gone = error == EPIPE;
  if (error != EPIPE) complain(std::string("cannot write to standard output: ") + std::strerror(error));
  return false;
}

bool Console::has_written() { return stdout_was_used; }
bool Console::reader_has_gone() { return reader_is_gone; }

void Console::complain(std::string_view message) {
  complain(Error{ErrorCode::kInvalidArgument, std::string(message), {}});
}

void Console::complain(const Error& error) {
  last_error_ = error;
  const std::string message = "stepscope: " + error.to_string();
  const std::size_t hint = std::min(message.rfind("\nType `stepscope "), message.size());
  remark(std::string_view(message).substr(0, hint));
  if (hint < message.size()) remark(std::string_view(message).substr(hint + 1));
}

void Console::complain_lines(std::string_view message) {
  last_error_ = Error{ErrorCode::kInvalidArgument, std::string(message), {}};
  remark_lines("stepscope: " + std::string(message));
}

void Console::remark(std::string_view message) { remark_lines(clean_text(message)); }

void Console::remark_lines(std::string_view message) {
  std::string text;
  // Line by line, since cleaning would join them.
  while (true) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    text += clean_text(message.substr(0, end)) + "\n";
    if (end >= message.size()) break;
    message.remove_prefix(end + 1);
  }
  (void)write_all(STDERR_FILENO, text);  // nowhere to say that this failed
}

Style Console::style(std::string_view colour, std::optional<std::size_t> width) {
  Style style;
  const bool is_dumb = environment("TERM") == "dumb";
  const bool wanted = ::isatty(STDOUT_FILENO) != 0 && environment("NO_COLOR").empty() && !is_dumb;
  style.colour = colour == "always" || (colour != "never" && wanted);
  style.ascii = (is_dumb && ::isatty(STDOUT_FILENO) != 0) || !locale_is_utf8();
  style.width = width ? *width : terminal_width();
  return style;
}

bool Console::stderr_is_terminal() { return ::isatty(STDERR_FILENO) != 0; }

std::string Console::refuse_terminal(std::string_view option) {
  if (::isatty(STDOUT_FILENO) == 0) return "";
  const std::string asked(option);
  return asked + " -: standard output is a terminal; name a file, or redirect: " + asked + " - > FILE";
}

}  // namespace stepscope
