// import_file FILE... : imports each file (or "-") and prints size, events, seconds, rate and peak memory.
//
// For measuring on files of any size, where Google Benchmark's repetitions would take too long. THREADS=n limits the
// threads.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "import/importers.h"

int main(int count, char** paths) {
  stepscope::ReadOptions options;
  if (const char* threads = std::getenv("THREADS")) options.threads = static_cast<unsigned>(std::atoi(threads));
  int failed = 0;
  for (int i = 1; i < count; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto traces = stepscope::read_traces(paths[i], options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!traces) {
      std::fprintf(stderr, "%s\n", traces.error().to_string().c_str());
      failed = 1;
      continue;
    }
    std::uint64_t bytes = 0;
    std::uint64_t events = 0;
    for (const auto& trace : *traces) {
      bytes += trace.info.text_bytes;
      events += trace.info.event_count + trace.info.metadata_event_count;
      for (const auto& note : trace.notes.all()) {
        std::printf("note %s: %lu\n", std::string(note_kind_name(note.kind)).c_str(), note.count);
      }
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const double cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    std::printf("%s: %.1f MB of JSON, %lu events, %.3f s, %.3f GB/s, %.3f s of CPU in all, peak %.1f MB\n", paths[i],
                static_cast<double>(bytes) / 1e6, events, seconds, static_cast<double>(bytes) / 1e9 / seconds, cpu,
                static_cast<double>(usage.ru_maxrss) * 1024 / 1e6);
  }
  return failed;
}
