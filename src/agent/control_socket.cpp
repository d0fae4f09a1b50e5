// Everything that the thread uses lives as long as the process: at exit it may be in the middle of an answer.
#include "agent/control_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "agent/keep.h"

namespace stepscope::agent {
namespace {

constexpr int kAnswerTimeoutMs = 1000;  // of a client that says nothing; people's programs send at once
constexpr int kWaitingMs = 1000;
constexpr std::size_t kMostLineBytes = 256;

struct Listener {
  ControlSocketSetup setup;
  int socket = -1;
  dev_t device = 0;
  ino_t inode = 0;
  std::atomic<bool> is_over{false};
};
std::atomic<Listener*> current{nullptr};

// The number still stands for our socket.
bool is_ours(const Listener& listener) {
  struct stat info {};
  return ::fstat(listener.socket, &info) == 0 && S_ISSOCK(info.st_mode) && info.st_dev == listener.device &&
         info.st_ino == listener.inode;
}

bool is_same_user(int client) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == ::geteuid() || peer.uid == 0);
}

std::string read_line(int client) {
  std::string line;
  char byte = 0;
  pollfd wait{client, POLLIN, 0};
  while (line.size() < kMostLineBytes && ::poll(&wait, 1, kAnswerTimeoutMs) > 0 && ::read(client, &byte, 1) == 1) {
    if (byte == '\n') break;
    line += byte;
  }
  return line;
}

void serve(const Listener& listener) {
  const int client = ::accept4(listener.socket, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  if (is_same_user(client)) {
    const std::string answer = listener.setup.answer(read_line(client));
    (void)::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
  }
  (void)::close(client);
}

void* listen_forever(void* argument) noexcept {
  auto& listener = *static_cast<Listener*>(argument);
  try {
    while (!listener.is_over) {
      const bool waits = listener.setup.is_waiting();
      pollfd event{listener.socket, POLLIN, 0};
      const int ready = ::poll(&event, 1, waits ? kWaitingMs : -1);
      if (listener.is_over || !is_ours(listener)) break;
      const bool is_shut_down = ready > 0 && (event.revents & POLLIN) == 0;
      if (is_shut_down || (ready < 0 && errno != EINTR)) break;
      if (ready > 0) serve(listener);
      if (ready == 0) listener.setup.do_waiting();
    }
  } catch (...) {
    // Out of memory: no further request is taken.
  }
  return nullptr;
}

std::string failure(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

std::string open_socket(Listener& listener) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = listener.setup.path;
  if (path.size() >= sizeof address.sun_path) return "its path has more than 107 bytes";
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const std::string folder = path.substr(0, path.rfind('/'));
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return failure("its folder");
  if (info.st_uid != ::geteuid() || (info.st_mode & 0022) != 0) return "others may write into its folder";
  listener.socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener.socket < 0) return failure("no socket");
  // Before bind: the file is made with these permissions, and umask belongs to the program's other threads.
  (void)::fchmod(listener.socket, 0600);
  if (::bind(listener.socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failure("it cannot be made");
  }
  (void)::chmod(path.c_str(), 0600);
  if (::listen(listener.socket, 8) != 0 || ::fstat(listener.socket, &info) != 0) return failure("it cannot listen");
  listener.device = info.st_dev;
  listener.inode = info.st_ino;
  return "";
}

bool start_thread(Listener& listener) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const bool is_started = pthread_create(&thread, nullptr, listen_forever, &listener) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!is_started) return false;
  pthread_setname_np(thread, "stepscope-ctl");
  pthread_detach(thread);
  return true;
}

void drop(Listener* listener, bool removes_file) noexcept {
  if (listener == nullptr || listener->is_over.exchange(true)) return;
  keep_forever(listener);  // its thread may still look
  if (removes_file) (void)::unlink(listener->setup.path.c_str());
  // Wakes the thread, which sees that it is over. The number is closed by the end of the process: closed here, it could
  // stand for another file before the thread has looked.
  if (is_ours(*listener)) (void)::shutdown(listener->socket, SHUT_RDWR);
}

}  // namespace

std::string start_control_socket(ControlSocketSetup setup) {
  auto listener = std::make_unique<Listener>();
  listener->setup = std::move(setup);
  std::string problem = open_socket(*listener);
  if (problem.empty() && !start_thread(*listener)) problem = "no thread could be started";
  if (!problem.empty()) {
    if (listener->socket >= 0) (void)::close(listener->socket);
    return problem;
  }
  current.store(listener.release());  // and kept
  return "";
}

void stop_control_socket() noexcept { drop(current.exchange(nullptr), true); }

void forget_control_socket() noexcept {
  Listener* const listener = current.exchange(nullptr);
  // Not shut down: the socket is the parent's as well. Here no thread uses the number.
  if (listener != nullptr && is_ours(*listener)) (void)::close(listener->socket);
}

bool replace_file(const std::string& path, std::string_view text) noexcept try {
  const std::string made = path + ".new";
  const int file = ::open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  const bool is_written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  (void)::close(file);
  return is_written && std::rename(made.c_str(), path.c_str()) == 0;
} catch (...) {
  return false;
}

}  // namespace stepscope::agent
