// `python3 -m stepscope` gets the same words where that Python has the package, else the line to type is named. Linking
// clients of object stores into this program was rejected: each has its own credentials and retries, and those who keep
// traces there have Python.
#include "cli/hand_over.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 3> kCommands = {"report", "summarize", "merge"};
// Set for the package, so that it and this program never hand the same words to and fro.
constexpr const char* kHandedOver = "STEPSCOPE_HANDED_OVER";
constexpr const char* kPython = "python3";

bool is_engine(std::string_view argument) { return argument == "--engine" || argument.starts_with("--engine="); }

// The value of --engine where it is `at`; empty when there is none.
std::string engine_of(const Arguments& arguments, Arguments::const_iterator at) {
  const std::size_t equals = at->find('=');
  if (equals != std::string::npos) return at->substr(equals + 1);
  return at + 1 == arguments.end() ? std::string() : *(at + 1);
}

// A scheme and "://" at the beginning; file:// is a file here, to Python's package too.
bool is_url(std::string_view argument) {
  const std::size_t end = argument.find("://");
  if (end == std::string_view::npos || end == 0) return false;
  return std::all_of(argument.begin(), argument.begin() + static_cast<std::ptrdiff_t>(end), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
           c == '.';
  });
}

// Without the user name, the password and the signature that it may hold.
std::string without_credentials(std::string url) {
  url.resize(std::min(url.size(), url.find('?')));
  const std::size_t host = url.find("://") + 3;
  const std::size_t user_end = url.find('@', host);
  if (user_end < url.find('/', host)) url.erase(host, user_end + 1 - host);
  return url;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool has_package() {
  std::vector<std::string> words = {kPython, "-c", "import stepscope.fleet"};
  posix_spawn_file_actions_t quiet;
  ::posix_spawn_file_actions_init(&quiet);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
  }
  pid_t child = 0;
  const bool is_started = ::posix_spawnp(&child, kPython, &quiet, nullptr, pointers_to(words).data(), environ) == 0;
  ::posix_spawn_file_actions_destroy(&quiet);
  int status = 0;
  return is_started && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// `diff` takes a summary as well as a recording, so what lies elsewhere needs one step more.
std::optional<int> refuse_url_of_diff(const Arguments& arguments, Console& console) {
  const auto url = std::find_if(arguments.begin(), arguments.end(), is_url);
  if (url == arguments.end()) return std::nullopt;
  const std::string name = without_credentials(*url);
  console.complain(name + ": diff reads files of this machine; first: stepscope summarize " + name +
                   " -o a.sss, then: stepscope diff a.sss b.sss");
  return kExitUsage;
}

}  // namespace

std::optional<int> hand_over_to_python(const std::string& command, const Arguments& arguments, Console& console) {
  if (command == "diff") return refuse_url_of_diff(arguments, console);
  if (std::find(kCommands.begin(), kCommands.end(), command) == kCommands.end()) return std::nullopt;
  const auto wants_python = [](const std::string& argument) { return is_engine(argument) || is_url(argument); };
  const auto wanted = std::find_if(arguments.begin(), arguments.end(), wants_python);
  const bool is_help = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--help" || argument == "-h";
  });
  if (wanted == arguments.end() || is_help) return std::nullopt;
  const auto engine_at = std::find_if(arguments.begin(), arguments.end(), is_engine);
  const std::string engine = engine_at == arguments.end() ? "" : engine_of(arguments, engine_at);
  if (engine_at != arguments.end() && engine != "local" && engine != "ray") {
    console.complain("--engine: local or ray" + (engine.empty() ? engine : ", not `" + engine + "`") +
                     "\nType `stepscope " + command + " --help` for the options and examples.");
    return kExitUsage;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet
  if (std::getenv(kHandedOver) == nullptr && has_package()) {
    std::vector<std::string> words = {kPython, "-m", "stepscope", command};
    words.insert(words.end(), arguments.begin(), arguments.end());
    ::setenv(kHandedOver, "1", 1);  // NOLINT(concurrency-mt-unsafe): likewise
    ::execvp(kPython, pointers_to(words).data());
  }
  const std::string what = is_url(*wanted) ? without_credentials(*wanted) : "--engine";
  const char* extra = what.starts_with("s3")      ? "[s3]"
                      : what.starts_with("gs://") ? "[gcs]"
                      : is_url(what)              ? ""
                      : engine == "ray"           ? "[ray]"
                                                  : "";
  console.complain(what + ": the Python package does this, and " + kPython +
                   " here has none that can be used; type: pip install 'stepscope" + extra + "'");
  return kExitUsage;
}

}  // namespace stepscope
