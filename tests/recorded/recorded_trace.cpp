// The first document of each file.
#include "recorded/recorded_trace.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "import/importers.h"

namespace stepscope {

Trace read_recorded_trace(std::string_view name) {
  std::string path = STEPSCOPE_TESTS_DIR "/data/";
  path.append(name);
  if (name.find('.') == std::string_view::npos) path.append(".pt.trace.json.gz");
  auto read = read_traces(path);
  if (!read) {
    ADD_FAILURE() << read.error().to_string();
    return {};
  }
  return std::move(read->front());
}

const Trace& recorded_trace(std::string_view name) {
  static std::map<std::string, Trace, std::less<>> known;
  auto at = known.find(name);
  if (at == known.end()) at = known.emplace(name, read_recorded_trace(name)).first;
  return at->second;
}

}  // namespace stepscope
