// The first bytes tell.
#include "cli/diff/sides.h"

#include "cli/reading.h"

namespace stepscope {

SnapshotShare find_snapshots(const std::vector<std::string>& files) {
  std::size_t count = 0;
  for (const std::string& path : files) {
    if (!is_regular_file(path)) continue;
    const auto opened = open_file(path, 1);
    count += opened && is_snapshot(*opened) ? 1 : 0;
  }
  if (count == 0) return SnapshotShare::kNone;
  return count == files.size() ? SnapshotShare::kAll : SnapshotShare::kSome;
}

}  // namespace stepscope
