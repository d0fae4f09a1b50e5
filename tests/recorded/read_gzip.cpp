// zlib by itself: the importer's reader is under test.
#include "recorded/read_gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace stepscope {

std::string read_gzip(const std::string& path) {
  std::string out;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    ADD_FAILURE() << "cannot open " << path;
    return out;
  }
  char buffer[1 << 16];
  for (int got = gzread(file, buffer, sizeof buffer); got > 0; got = gzread(file, buffer, sizeof buffer)) {
    out.append(buffer, static_cast<std::size_t>(got));
  }
  gzclose(file);
  return out;
}

}  // namespace stepscope
