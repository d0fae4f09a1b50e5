// Names for native frames of a capture: from return addresses to functions and lines, by the files that ran.
//
// The agent writes a frame as the file's path and "plain+0x1a2b BUILDID": what every reader can show. Here the file is
// opened, if it is there and has that build id; where it was built anew since, or lies on another machine, the frame
// stays `plain+0x1a2b`: no name is better than a wrong one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::native {

struct NativeFrame {
  std::string path;      // of the module
  std::string build_id;  // as in ElfFile
  std::uint64_t address = 0;
};

// `file`, `function` of a frame of a capture; missing: a frame of another kind (Python's).
[[nodiscard]] std::optional<NativeFrame> parse_native_frame(std::string_view file, std::string_view function,
                                                            std::uint32_t line);

struct NativeName {
  std::string file;        // the source's; empty: not known
  std::uint32_t line = 0;  // 0: not known
  std::string function;    // readable; empty: not known
};

// "plain+0x1a2b".
[[nodiscard]] std::string plain_address(const NativeFrame& frame);

// One for each frame. `changed`: modules whose file is another one now, by path, each once; those that are not there
// are not among them.
[[nodiscard]] std::vector<NativeName> find_native_names(const std::vector<NativeFrame>& frames,
                                                        std::vector<std::string>& changed);

// "cudaError cudaMalloc<float>(float**, unsigned long)" -> "cudaMalloc": without return type, arguments, namespaces.
[[nodiscard]] std::string_view plain_function_name(std::string_view function);

}  // namespace stepscope::native
