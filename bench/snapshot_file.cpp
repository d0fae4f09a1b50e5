// snapshot_file FILE: reads a memory snapshot and prints what it holds, to time the reader alone.
#include <cstdio>

#include "memory/snapshot_reader.h"

int main(int argc, char** argv) {
  using namespace stepscope;
  std::FILE* file = argc == 2 ? std::fopen(argv[1], "rb") : nullptr;
  if (file == nullptr) return std::fputs("usage: snapshot_file FILE\n", stderr), 2;
  std::setvbuf(file, nullptr, _IONBF, 0);
  const auto snapshot = read_snapshot(
      argv[1], [&](char* into, std::size_t size) -> Result<std::size_t> { return std::fread(into, 1, size, file); });
  std::fclose(file);
  if (!snapshot) return std::fprintf(stderr, "%s\n", snapshot.error().to_string().c_str()), 1;
  std::printf("%zu entries, %zu segments, %zu blocks, %zu stacks, %zu frames\n", snapshot->entries.size(),
              snapshot->segments.size(), snapshot->blocks.size(), snapshot->stacks.size(), snapshot->frames.size());
  return 0;
}
