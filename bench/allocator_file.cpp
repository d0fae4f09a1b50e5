// allocator_file FILE [SETTINGS...]: replays a memory snapshot and simulates each setting, with the times it took.
#include <chrono>
#include <cstdio>

#include "memory/allocator_simulation.h"
#include "memory/snapshot_reader.h"

namespace {

using namespace stepscope;

class Watch {
 public:
  // Since the last call.
  double milliseconds() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(start_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void time_device(const MemorySnapshot& snapshot, SnapshotDeviceId device, int count, char** settings) {
  Watch watch;
  const ReplayProof proof = replay_recorded(snapshot, device);
  std::printf("replay %.1f ms: %lld of %lld %s\n", watch.milliseconds(), static_cast<long long>(proof.matched),
              static_cast<long long>(proof.total), proof.first_mismatch.c_str());
  const AllocatorSimulation simulation(snapshot, device);
  std::printf("requests %.1f ms\n", watch.milliseconds());
  for (int i = 0; i < count; ++i) {
    const auto config = parse_allocator_config(settings[i]);
    if (!config.has_value()) {
      std::fprintf(stderr, "%s\n", config.error().message.c_str());
      continue;
    }
    watch.milliseconds();
    const AllocatorRun run = simulation.run(config.value(), {});
    const double run_ms = watch.milliseconds();
    const auto least = find_least_capacity(simulation, config.value());
    std::printf("%s: run %.1f ms, reserved peak %lld; least capacity %lld, %.1f ms\n", settings[i], run_ms,
                static_cast<long long>(run.reserved_peak_bytes), static_cast<long long>(least.value_or(-1)),
                watch.milliseconds());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* file = argc >= 2 ? std::fopen(argv[1], "rb") : nullptr;
  if (file == nullptr) return std::fputs("usage: allocator_file FILE [SETTINGS...]\n", stderr), 2;
  const auto snapshot = read_snapshot(
      argv[1], [&](char* into, std::size_t size) -> Result<std::size_t> { return std::fread(into, 1, size, file); });
  std::fclose(file);
  if (!snapshot.has_value()) return std::fprintf(stderr, "%s\n", snapshot.error().to_string().c_str()), 1;
  for (const SnapshotDeviceId device : snapshot->devices.ids().ids()) {
    time_device(*snapshot, device, argc - 2, argv + 2);
  }
  return 0;
}
