// A program that knows nothing of the agent: threads that fork all the time, children that exit, exec or are killed.
// Exit status 0 when every child ended as it was meant to.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

int main() {
  std::atomic<int> wrong_count{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 40; ++i) {
        const pid_t child = fork();
        if (child == 0) {
          if (i % 3 == 0) _exit(7);
          if (i % 3 == 1) execl("/bin/true", "true", nullptr);
          raise(SIGKILL);
          _exit(99);
        }
        int status = 0;
        waitpid(child, &status, 0);
        const bool is_right = i % 3 == 0   ? WIFEXITED(status) && WEXITSTATUS(status) == 7
                              : i % 3 == 1 ? WIFEXITED(status) && WEXITSTATUS(status) == 0
                                           : WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        if (!is_right) ++wrong_count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong_count == 0 ? 0 : 1;
}
