// Signals are blocked all the time except inside ppoll, so none can slip in between a check and the sleep.
#include "timing/process_run.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

extern char** environ;  // NOLINT: declared nowhere else

namespace stepscope {
namespace {

constexpr std::array<int, 4> kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::size_t kKeptBytes = 4096;
// How long an interrupted command may take to end before it is killed: about when people press Ctrl-C again.
constexpr std::int64_t kGraceNs = 2'000'000'000;

volatile std::sig_atomic_t caught_signal = 0;  // NOLINT: a signal handler reaches nothing else
volatile std::sig_atomic_t caught_count = 0;   // NOLINT

extern "C" void catch_ending(int signal) {
  caught_signal = signal;
  caught_count = caught_count + 1;
}
extern "C" void catch_child(int) {}  // only wakes ppoll

std::int64_t now_ns() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Catches the signals and blocks them; `outside` is the mask from before, in which the caught ones are open.
class SignalWatch {
 public:
  SignalWatch() {
    caught_signal = 0;
    caught_count = 0;
    sigset_t blocked;
    sigemptyset(&blocked);
    sigemptyset(&defaults_);
    for (const int ignored : {SIGPIPE, SIGXFSZ}) sigaddset(&defaults_, ignored);  // by main()
    for (const int signal : kEnding) {
      struct sigaction old {};
      if (::sigaction(signal, nullptr, &old) != 0 || old.sa_handler == SIG_IGN) continue;
      catch_with(signal, catch_ending, blocked);
    }
    catch_with(SIGCHLD, catch_child, blocked);
    (void)::pthread_sigmask(SIG_BLOCK, &blocked, &outside_);
    waiting_ = outside_;
    for (const auto& [signal, old] : old_) sigdelset(&waiting_, signal);
  }
  ~SignalWatch() {
    for (const auto& [signal, old] : old_) (void)::sigaction(signal, &old, nullptr);
    (void)::pthread_sigmask(SIG_SETMASK, &outside_, nullptr);
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  [[nodiscard]] const sigset_t& waiting() const { return waiting_; }
  [[nodiscard]] const sigset_t& of_child() const { return outside_; }
  [[nodiscard]] const sigset_t& defaults_of_child() const { return defaults_; }

 private:
  void catch_with(int signal, void (*handler)(int), sigset_t& blocked) {
    struct sigaction action {
    }, old{};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    if (::sigaction(signal, &action, &old) != 0) return;
    old_.emplace_back(signal, old);
    sigaddset(&blocked, signal);
    sigaddset(&defaults_, signal);
  }

  std::vector<std::pair<int, struct sigaction>> old_;
  sigset_t outside_{}, waiting_{}, defaults_{};
};

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) (void)::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

Error system_error(const std::string& what, int number) {
  return {ErrorCode::kIo, what + ": " + std::strerror(number), ""};
}

Error start_error(const std::string& program, int number) {
  const bool is_path = program.find('/') != std::string::npos;
  switch (number) {
    case ENOENT:
      return {
          ErrorCode::kNotFound,
          "cannot run `" + program + "`: " + (is_path ? "it or its interpreter does not exist" : "not found in PATH"),
          ""};
    case EACCES:
      return {ErrorCode::kPermission, "cannot run `" + program + "`: it may not be executed", ""};
    default:
      return {ErrorCode::kIo, "cannot run `" + program + "`: " + std::strerror(number), ""};
  }
}

std::int64_t nanoseconds_of(const timeval& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(time.tv_usec) * 1000;
}

// What posix_spawn needs, destroyed in every case.
class SpawnPlan {
 public:
  SpawnPlan() {
    (void)::posix_spawn_file_actions_init(&files_);
    (void)::posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    (void)::posix_spawn_file_actions_destroy(&files_);
    (void)::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void connect(int from, int to) { (void)::posix_spawn_file_actions_adddup2(&files_, from, to); }
  void set_signals(const SignalWatch& watch) {
    (void)::posix_spawnattr_setsigmask(&attributes_, &watch.of_child());
    (void)::posix_spawnattr_setsigdefault(&attributes_, &watch.defaults_of_child());
    (void)::posix_spawnattr_setpgroup(&attributes_, 0);
    (void)::posix_spawnattr_setflags(&attributes_,
                                     POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  [[nodiscard]] int spawn(pid_t& child, char* const* argv) const {
    return ::posix_spawnp(&child, argv[0], &files_, &attributes_, argv, environ);
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

class SystemRunner final : public ProcessRunner {
 public:
  SystemRunner(Descriptor nothing, Descriptor reader, Descriptor writer)
      : nothing_(std::move(nothing)), reader_(std::move(reader)), writer_(std::move(writer)) {}

  Result<ProcessRun> run(const ProcessCommand& command) override;
  [[nodiscard]] std::optional<int> interrupted_by() const override {
    return caught_count > 0 ? std::optional<int>(caught_signal) : std::nullopt;
  }

 private:
  struct End {
    int status = 0;
    rusage usage{};
    bool wanted_terminal = false;
  };

  End wait_for(pid_t child);
  void sleep_until_something();
  void pass_on_signals(pid_t child);
  void read_stderr();

  SignalWatch watch_;
  Descriptor nothing_, reader_, writer_;
  std::string stderr_end_;
  int passed_count_ = 0;
  std::int64_t kill_at_ns_ = 0;
};

void SystemRunner::read_stderr() {
  std::array<char, 65536> piece;
  const ssize_t count = ::read(reader_.number(), piece.data(), piece.size());
  if (count <= 0) return;
  stderr_end_.append(piece.data(), static_cast<std::size_t>(count));
  if (stderr_end_.size() > kKeptBytes) stderr_end_.erase(0, stderr_end_.size() - kKeptBytes);
}

void SystemRunner::sleep_until_something() {
  pollfd pipe{reader_.number(), POLLIN, 0};
  constexpr timespec kLookAgain{0, 100'000'000};  // only to notice that the grace is over
  if (::ppoll(&pipe, 1, passed_count_ > 0 ? &kLookAgain : nullptr, &watch_.waiting()) > 0) read_stderr();
}

// Also to a command that starts after the signal came.
void SystemRunner::pass_on_signals(pid_t child) {
  if (caught_count == 0) return;
  if (passed_count_ == 0) {
    (void)::kill(-child, caught_signal);
    passed_count_ = caught_count;
    kill_at_ns_ = now_ns() + kGraceNs;
  } else if (caught_count > passed_count_ || now_ns() >= kill_at_ns_) {
    (void)::kill(-child, SIGKILL);
  }
}

SystemRunner::End SystemRunner::wait_for(pid_t child) {
  End end;
  passed_count_ = 0;
  for (;;) {
    const pid_t found = ::wait4(child, &end.status, WNOHANG | WUNTRACED, &end.usage);
    if (found == child && !WIFSTOPPED(end.status)) return end;
    if (found == child && (WSTOPSIG(end.status) == SIGTTIN || WSTOPSIG(end.status) == SIGTTOU)) {
      end.wanted_terminal = true;
      (void)::kill(-child, SIGKILL);
    }
    pass_on_signals(child);
    sleep_until_something();
  }
}

Result<ProcessRun> SystemRunner::run(const ProcessCommand& command) {
  if (command.argv.empty() || command.argv.front().empty()) {
    return Error{ErrorCode::kInvalidArgument, "no command to run", ""};
  }
  std::vector<char*> argv;
  for (const std::string& argument : command.argv) argv.push_back(const_cast<char*>(argument.c_str()));  // NOLINT
  argv.push_back(nullptr);
  SpawnPlan plan;
  plan.connect(nothing_.number(), STDIN_FILENO);
  if (!command.show_output) {
    plan.connect(nothing_.number(), STDOUT_FILENO);
    plan.connect(writer_.number(), STDERR_FILENO);
  }
  plan.set_signals(watch_);
  const std::int64_t hidden = hidden_rss_bytes();
  stderr_end_.clear();

  const std::int64_t begin_ns = now_ns();
  pid_t child = 0;
  if (const int failed = plan.spawn(child, argv.data()); failed != 0) return start_error(command.argv.front(), failed);
  const End end = wait_for(child);
  ProcessRun run;
  run.wall_ns = now_ns() - begin_ns;

  read_stderr();  // a pipe holds 64 KiB, so this is all there is
  if (end.wanted_terminal) {
    return Error{ErrorCode::kUnsupported, "`" + command.argv.front() + "` wanted to use the terminal, and was ended",
                 ""};
  }
  run.user_ns = nanoseconds_of(end.usage.ru_utime);
  run.system_ns = nanoseconds_of(end.usage.ru_stime);
  const std::int64_t peak = static_cast<std::int64_t>(end.usage.ru_maxrss) * 1024;
  if (peak > hidden) run.max_rss_bytes = peak;
  if (WIFEXITED(end.status)) run.exit_status = WEXITSTATUS(end.status);
  if (WIFSIGNALED(end.status)) run.signal = WTERMSIG(end.status);
  run.stderr_end = std::move(stderr_end_);
  return run;
}

}  // namespace

std::int64_t hidden_rss_bytes() {
  rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024 + (std::int64_t{1} << 20);
}

Result<std::unique_ptr<ProcessRunner>> make_process_runner() {
  Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (nothing.number() < 0) return system_error("cannot open /dev/null", errno);
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  Descriptor reader(ends[0]), writer(ends[1]);
  if (::fcntl(reader.number(), F_SETFL, O_NONBLOCK) != 0) return system_error("cannot make a pipe", errno);
  return std::unique_ptr<ProcessRunner>(
      std::make_unique<SystemRunner>(std::move(nothing), std::move(reader), std::move(writer)));
}

}  // namespace stepscope
