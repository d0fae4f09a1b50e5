// A program that has Stepscope's library linked in and knows nothing of an agent: what it says, in numbers that the
// test knows. `speaking_program load PATH`: loads the agent by itself half-way, as CUDA would. `session`: has a
// profiling session of its own as well, that wants the GPU. `fork`: a child that says more. `lines`: for each line of
// its input 100 spans of that name, and one line of output.
#include <stepscope/session.h>
#include <stepscope/span.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

void speak(int threads) {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([] {
      for (int i = 0; i < 100; ++i) {
        STEPSCOPE_SPAN("work");
        stepscope::record_counter("i", i);
      }
    });
  }
  for (std::thread& thread : all) thread.join();
}

int run_session() {
  stepscope::SessionOptions options;
  options.activities = {stepscope::Activity::kCpu, stepscope::Activity::kCuda};
  options.schedule = *stepscope::make_schedule({.wait = 1, .warmup = 1, .active = 2, .repeat = 1});
  stepscope::ProfilingSession session(options);
  if (!session.start()) return 3;
  for (int step = 0; step < 5; ++step) {
    speak(1);
    session.step();
  }
  const auto stopped = session.stop();
  if (!stopped) std::printf("error: %s\n", stopped.error().to_string().c_str());
  for (const std::string& warning : session.warnings()) std::printf("warning: %s\n", warning.c_str());
  if (session.last_trace()) {
    std::printf("session: %llu spans\n", static_cast<unsigned long long>(session.last_trace()->counts().spans));
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (what == "load") {
    speak(1);  // nobody is there
    if (const auto loaded = stepscope::load_agent(words[2]); !loaded) {
      std::printf("%s\n", loaded.error().to_string().c_str());
      return 2;
    }
    usleep(20'000);  // it is looked for every 10 ms
  }
  if (what == "session") return run_session();
  if (what == "lines") {
    char line[64];
    while (std::fgets(line, sizeof line, stdin) != nullptr) {
      line[std::strcspn(line, "\n")] = '\0';
      for (int i = 0; i < 100; ++i) const stepscope::Span span(line);
      std::printf("%d\n", static_cast<int>(getpid()));
      std::fflush(stdout);
    }
    return 0;
  }
  {
    // The agent is found at the first span. Of four threads that say their first at once, three could be inside theirs
    // before the fourth has found it; such a span began unrecorded, and the numbers below would not hold.
    STEPSCOPE_SPAN("first");
  }
  speak(4);
  if (what == "fork") {
    const pid_t child = fork();
    if (child == 0) {
      speak(2);
      return 0;
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0) return 4;
    speak(1);
  }
  return 0;
}
