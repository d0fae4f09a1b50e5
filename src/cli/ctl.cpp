// stepscope ctl: starts and stops recording in a program that `stepscope run` started, and says what its agents do.
//
// Agents are found by looking at every process of the user: the environment that it was started with holds the agent's
// options and so the path of its socket. A registry was rejected: it would have to be right after every kill. The
// socket itself says whether anybody is there; a process that carries the agent but uses neither CUDA nor PyTorch has
// none.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "base/result.h"
#include "capture/agent_options.h"
#include "capture/agent_status.h"
#include "cli/options.h"
#include "report/text.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope ctl                 which programs have an agent, and what it does\n"
    "  stepscope ctl start           if there is one\n"
    "  stepscope ctl 4711 stop\n"
    "  stepscope ctl all start       every rank\n\n"
    "start opens a window at the next step (with a schedule: begins it), stop closes\n"
    "it, flush writes out what was recorded so far, so that the file can be read.\n\n"
    "Exit status: 0 done, 2 wrong usage, 3 no such agent, or it did not answer.\n";

// An agent answers from a thread of its own, at once; a stopped process does not.
constexpr int kAnswerMs = 5000;
// A request waits for the program's next span, or 1 s where none comes; see src/agent/control.cpp.
constexpr milliseconds kEffectLimit{4000};

struct Agent {
  std::int64_t process_id = 0;
  std::string socket;
  std::string command;
};

std::string read_whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

// Of /proc/PID/environ; empty: no agent was asked for.
std::string socket_of(std::int64_t process_id) {
  const std::string environment = read_whole(fmt::format("/proc/{}/environ", process_id));
  const std::string start = std::string(kAgentOptionsVariable) + "=";
  for (std::size_t at = 0; at < environment.size();) {
    const std::string entry = environment.c_str() + at;
    at += entry.size() + 1;
    if (!entry.starts_with(start)) continue;
    const auto options = parse_agent_options(entry.substr(start.size()));
    if (!options || options.value().control_socket.empty()) return "";
    return agent_socket_path(options.value().control_socket, process_id);
  }
  return "";
}

std::string command_of(std::int64_t process_id) {
  std::string line = read_whole(fmt::format("/proc/{}/cmdline", process_id));
  while (!line.empty() && line.back() == '\0') line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  return clean_text(line);
}

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number <= 0) return std::nullopt;
  return number;
}

bool is_socket(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

std::vector<Agent> find_agents() {
  std::vector<Agent> found;
  std::error_code failed;
  for (auto at = fs::directory_iterator("/proc", failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    const auto process_id = number_in(at->path().filename().string());
    if (!process_id) continue;
    const std::string socket = socket_of(*process_id);
    if (!socket.empty() && is_socket(socket)) found.push_back({*process_id, socket, command_of(*process_id)});
  }
  std::sort(found.begin(), found.end(), [](const Agent& a, const Agent& b) { return a.process_id < b.process_id; });
  return found;
}

std::string read_answer(int connection) {
  std::string answer;
  pollfd wait{connection, POLLIN, 0};
  char piece[4096];
  while (::poll(&wait, 1, kAnswerMs) > 0) {
    const ssize_t count = ::read(connection, piece, sizeof piece);
    if (count <= 0) break;
    answer.append(piece, static_cast<std::size_t>(count));
    if (answer.size() > 65536) break;  // no agent says so much
  }
  return answer;
}

Result<AgentStatus> ask(const Agent& agent, const std::string& request) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (agent.socket.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::kInvalidArgument, "the path of the socket has more than 107 bytes", {}};
  }
  std::memcpy(address.sun_path, agent.socket.c_str(), agent.socket.size());
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return Error{ErrorCode::kIo, std::strerror(errno), {}};
  std::string answer;
  const bool is_connected = ::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int problem = errno;
  const std::string line = request + "\n";
  if (is_connected && ::send(connection, line.data(), line.size(), MSG_NOSIGNAL) > 0) answer = read_answer(connection);
  (void)::close(connection);
  if (!is_connected) {
    const bool is_gone = problem == ECONNREFUSED || problem == ENOENT;
    return Error{
        ErrorCode::kNotFound, is_gone ? "nobody listens there; the program has ended" : std::strerror(problem), {}};
  }
  if (answer.empty()) return Error{ErrorCode::kIo, "no answer within 5 s; is the program stopped?", {}};
  if (answer.starts_with("error=")) {
    while (answer.ends_with('\n')) answer.pop_back();
    return Error{ErrorCode::kInvalidArgument, clean_text(answer.substr(6)), {}};
  }
  return parse_agent_status(answer);
}

// After start and stop: what came of it, once a thread of the program has done it.
Result<AgentStatus> wait_for_effect(const Agent& agent, AgentStatus status, bool is_start) {
  const auto limit = std::chrono::steady_clock::now() + kEffectLimit;
  // With a schedule a start is over when it is no longer paused; the window may come later.
  while ((is_start ? status.is_paused : status.window_is_open) && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(milliseconds(20));
    auto again = ask(agent, "status");
    if (!again) return again;
    status = again.value();
  }
  return status;
}

std::string describe(const AgentStatus& status) {
  const char* const state = status.window_is_open ? "recording" : status.is_paused ? "paused" : "between windows";
  std::string text =
      fmt::format("{:<7} {:<15} {} step{}, {} window{}", status.process_id, state, status.step_count,
                  status.step_count == 1 ? "" : "s", status.window_count, status.window_count == 1 ? "" : "s");
  if (status.rank.has_value()) text += fmt::format(", rank {}", status.rank.value());
  return text + ", into " + clean_text(status.directory);
}

int run_request(const std::vector<Agent>& agents, const std::string& request, Console& console) {
  int exit_code = kExitComplete;
  std::string text;
  for (const Agent& agent : agents) {
    auto status = ask(agent, request);
    if (status && (request == "start" || request == "stop")) {
      status = wait_for_effect(agent, status.value(), request == "start");
    }
    if (!status) {
      console.complain(fmt::format("process {}: {}", agent.process_id, status.error().message));
      exit_code = kExitUnusable;
      continue;
    }
    text += describe(status.value()) + "\n";
    if (!agent.command.empty() && request == "status") text += "        " + shorten_end(agent.command, 70) + "\n";
  }
  return console.write(text) ? exit_code : kExitUnusable;
}

// Words: [PID|SOCKET|all] [start|stop|status|flush]
struct Words {
  std::string target, request;
};
bool is_request(const std::string& word) {
  return word == "start" || word == "stop" || word == "status" || word == "flush";
}

// The sentence says what is wrong; empty when nothing is.
std::string choose(const Words& words, std::vector<Agent>& agents) {
  if (!words.target.empty() && words.target != "all") {
    if (const auto process_id = number_in(words.target)) {
      const std::string socket = socket_of(*process_id);
      if (socket.empty()) {
        return fmt::format("process {} was not started by `stepscope run`, or is gone, or is another user's",
                           *process_id);
      }
      if (!is_socket(socket)) {
        return fmt::format(
            "the agent of process {} is not active: the process has used neither CUDA nor PyTorch so far", *process_id);
      }
      agents = {{*process_id, socket, command_of(*process_id)}};
      return "";
    }
    if (!is_socket(words.target))
      return fmt::format("{} is no process, no socket and none of start, stop, status and flush",
                         clean_text(words.target));
    agents = {{0, words.target, ""}};
    return "";
  }
  agents = find_agents();
  if (agents.empty())
    return "no agent is running; start the program with `stepscope run -- CMD`; one that was may not have loaded "
           "PyTorch or CUDA yet";
  if (words.target.empty() && words.request != "status" && agents.size() > 1) {
    std::string list;
    for (const Agent& agent : agents)
      list += fmt::format("\n{:>8}  {}", agent.process_id, shorten_end(clean_text(agent.command), 66));
    return fmt::format("{} agents are running; name one, or `all`:{}", agents.size(), list);
  }
  return "";
}

// CLI11 would show two optional words as one.
class CtlFormatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_usage(const CLI::App*, std::string name) const override {
    return "Usage: " + name + " [PID | SOCKET | all] [start | stop | status | flush]\n";
  }
  [[nodiscard]] std::string make_positionals(const CLI::App*) const override { return ""; }
};

}  // namespace

int run_ctl(const Arguments& arguments, Console& console) {
  CLI::App app("Starts and stops recording in a running program; says what its agent does.", "stepscope ctl");
  std::vector<std::string> given;
  app.add_option("WORDS", given, "[PID | SOCKET | all] [start | stop | status | flush]")->type_name("")->expected(0, 2);
  app.formatter(std::make_shared<CtlFormatter>());
  app.footer(kExamples);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  Words words;
  words.request = "status";
  if (!given.empty() && (given.size() == 2 || is_request(given.back()))) {
    words.request = given.back();
    given.pop_back();
  }
  if (!given.empty()) words.target = given.front();
  if (!is_request(words.request)) {
    console.complain(
        fmt::format("unknown request `{}`; there are start, stop, status and flush\n"
                    "Type `stepscope ctl --help` for examples.",
                    clean_text(words.request)));
    return kExitUsage;
  }
  std::vector<Agent> agents;
  if (const std::string wrong = choose(words, agents); !wrong.empty()) {
    console.complain_lines(wrong);
    const bool is_ambiguous = !agents.empty();
    return is_ambiguous ? kExitUsage : kExitUnusable;
  }
  return run_request(agents, words.request, console);
}

}  // namespace stepscope
