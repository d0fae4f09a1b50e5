// Frames are sorted by module, so that each file is opened once and each of its tables is walked once.
#include "import/capture/native_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "import/capture/elf_file.h"
#include "import/capture/elf_symbols.h"
#include "import/capture/source_lines.h"

namespace stepscope::native {
namespace {

// A program has some hundred; a file that names more is damaged or made up, and each costs an open().
constexpr std::size_t kMostModules = 512;
constexpr std::size_t kMostFunctionBytes = 512;

struct Wanted {
  std::uint64_t address = 0;
  std::size_t frame = 0;
};

void name_frames(const ElfFile& file, std::vector<Wanted>& wanted, std::vector<NativeName>& names) {
  std::vector<std::uint64_t> addresses;
  for (const Wanted& each : wanted) addresses.push_back(each.address);
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  const std::vector<std::string> symbols = find_symbols(file, addresses);
  const std::vector<std::optional<SourceLine>> lines = find_lines(file, addresses);
  for (const Wanted& each : wanted) {
    const auto at = static_cast<std::size_t>(std::lower_bound(addresses.begin(), addresses.end(), each.address) -
                                             addresses.begin());
    NativeName& name = names[each.frame];
    name.function = readable_symbol(symbols[at]).substr(0, kMostFunctionBytes);
    // A library's header inlined into the program's function: the function is known, its line is not.
    if (!lines[at] || (is_library_source(lines[at]->file) && !name.function.empty())) continue;
    name.file = lines[at]->file;
    name.line = lines[at]->line;
  }
}

}  // namespace

std::optional<NativeFrame> parse_native_frame(std::string_view file, std::string_view function, std::uint32_t line) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  if (line != 0 || name.empty() || !function.starts_with(name)) return std::nullopt;
  function.remove_prefix(name.size());
  if (!function.starts_with("+0x")) return std::nullopt;
  function.remove_prefix(3);
  NativeFrame frame;
  const char* const end = function.data() + function.size();
  const auto [stop, error] = std::from_chars(function.data(), end, frame.address, 16);
  if (error != std::errc() || (stop != end && *stop != ' ')) return std::nullopt;
  if (stop != end) frame.build_id.assign(stop + 1, end);
  frame.path = file;
  return frame;
}

std::string plain_address(const NativeFrame& frame) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), frame.address, 16).ptr;
  return frame.path.substr(frame.path.rfind('/') + 1) + "+0x" + std::string(digits.data(), end);
}

std::vector<NativeName> find_native_names(const std::vector<NativeFrame>& frames, std::vector<std::string>& changed) {
  std::vector<NativeName> names(frames.size());
  std::map<std::pair<std::string, std::string>, std::vector<Wanted>> modules;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::pair<std::string, std::string> key{frames[i].path, frames[i].build_id};
    if (frames[i].build_id.empty() || (modules.size() >= kMostModules && !modules.contains(key))) continue;
    modules[key].push_back({frames[i].address, i});
  }
  for (auto& [module, wanted] : modules) {
    const std::optional<ElfFile> file = ElfFile::open(module.first);
    if (!file) continue;
    if (file->build_id() == module.second) {
      name_frames(*file, wanted, names);
    } else if (std::find(changed.begin(), changed.end(), module.first) == changed.end()) {
      changed.push_back(module.first);
    }
  }
  return names;
}

std::string_view plain_function_name(std::string_view function) {
  function = function.substr(0, function.find_first_of("<("));
  while (function.ends_with(' ')) function.remove_suffix(1);
  function.remove_prefix(function.find_last_of(" :*&") + 1);  // npos + 1 is 0
  return function;
}

}  // namespace stepscope::native
