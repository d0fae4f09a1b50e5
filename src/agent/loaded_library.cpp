// dlopen is called after the walk: inside it the loader holds its lock over the list.
#include "agent/loaded_library.h"

#include <dlfcn.h>
#include <link.h>

namespace stepscope::agent {
namespace {

struct Wanted {
  std::string_view name;
  std::string path;
};

int look_at(dl_phdr_info* object, std::size_t, void* data) {
  auto& wanted = *static_cast<Wanted*>(data);
  const std::string_view path = object->dlpi_name == nullptr ? std::string_view{} : object->dlpi_name;
  if (!path.substr(path.rfind('/') + 1).starts_with(wanted.name)) return 0;
  wanted.path = path;
  return 1;
}

std::string find_path(std::string_view name) {
  Wanted wanted{name, {}};
  dl_iterate_phdr(look_at, &wanted);
  return wanted.path;
}

}  // namespace

LoadedLibrary find_loaded_library(std::string_view name) {
  std::string path = find_path(name);
  if (path.empty()) return {};
  return {dlopen(path.c_str(), RTLD_NOLOAD | RTLD_NOW), path};
}

bool is_library_loaded(std::string_view name) { return !find_path(name).empty(); }

}  // namespace stepscope::agent
