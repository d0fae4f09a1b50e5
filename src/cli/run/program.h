// Which file a command is, and whether an agent can be loaded into it: found out before it runs, so that a capture that
// cannot work is said at once and not after hours.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace stepscope {

struct FoundProgram {
  std::string path;
  int error = 0;  // ENOENT or EACCES: there is none
};
// As a shell does: along `search_path` when the name has no slash.
[[nodiscard]] FoundProgram find_program(const std::string& name, const std::string& search_path);

// Why LD_PRELOAD has no effect on this file: static, set-user-id, for another machine; empty if it has. A script is
// judged by its interpreter.
[[nodiscard]] std::string why_not_preloaded(const std::string& path, const std::string& search_path);

}  // namespace stepscope
