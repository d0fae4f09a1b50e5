#include "agent/toggle_signal.h"

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <utility>

#include "agent/keep.h"
#include "agent/parts.h"

namespace stepscope::agent {
namespace {

sem_t signals;  // that came and were not heard
constinit std::atomic<bool> is_caught{false};
constinit std::atomic<bool> has_thread{false};

void post_signal(int) noexcept {
  const int kept = errno;
  (void)sem_post(&signals);
  errno = kept;
}

// SIG_IGN is what a program inherits from nohup and some launchers; nobody waits for the signal then.
bool is_the_programs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

// False: a second went by without a signal.
bool wait_a_second() {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  ++until.tv_sec;
  int failed = 0;
  while ((failed = sem_timedwait(&signals, &until)) != 0 && errno == EINTR) {
  }
  return failed == 0;
}

void* hear_signals(void* argument) noexcept {
  const auto& setup = *static_cast<ToggleSetup*>(argument);
  try {
    while (true) {
      if (!setup.is_waiting()) {
        while (sem_wait(&signals) != 0) {
        }
      } else if (!wait_a_second()) {
        setup.do_waiting();
        continue;
      }
      setup.toggle();
    }
  } catch (...) {
    // Out of memory: no further signal is heard.
  }
  return nullptr;
}

bool start_thread(ToggleSetup& setup) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const bool is_started = pthread_create(&thread, nullptr, hear_signals, &setup) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!is_started) return false;
  pthread_setname_np(thread, "stepscope-sig");
  pthread_detach(thread);
  return true;
}

}  // namespace

void catch_toggle_signal(int number) noexcept try {
  if (number == 0 || is_caught.load()) return;
  struct sigaction before {};
  if (sigaction(number, nullptr, &before) != 0)
    return complain("--signal does nothing: signal " + std::to_string(number) + ": " + std::strerror(errno));
  if (is_the_programs(before)) return complain("--signal does nothing: the program uses that signal itself");
  sem_init(&signals, 0, 0);
  struct sigaction ours {};
  ours.sa_handler = post_signal;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  is_caught = sigaction(number, &ours, nullptr) == 0;
} catch (...) {
  // It is not caught.
}

void start_toggle_thread(ToggleSetup setup) noexcept try {
  if (!is_caught.load() || has_thread.exchange(true)) return;
  auto* const kept = new ToggleSetup(std::move(setup));
  keep_forever(kept);
  if (!start_thread(*kept)) complain("--signal does nothing: no thread could be started");
} catch (...) {
  complain("--signal does nothing: the process is out of memory");
}

void forget_toggles_in_child() noexcept {
  if (!is_caught.load()) return;
  sem_init(&signals, 0, 0);
  has_thread = false;
}

}  // namespace stepscope::agent
