// One rule each for folders, patterns and lists. Folders below a folder are not walked: what lies there is as often the
// last run as another rank of this one.
#include "cli/file_lists.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cli/reading.h"
#include "import/importers.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTraceEndings[] = {".json", ".json.gz", ".stepscope"};
constexpr std::string_view kSummaryEndings[] = {".sss"};
// Smaller files are looked into, since settings and logs are JSON too. A trace of one step has megabytes; of larger
// files the name is believed, as a folder may hold 16,384.
constexpr std::uintmax_t kLookedIntoBytes = 64 << 10;

template <std::size_t N>
bool ends_in(std::string_view name, const std::string_view (&endings)[N]) {
  return std::any_of(std::begin(endings), std::end(endings),
                     [&](std::string_view ending) { return name.size() > ending.size() && name.ends_with(ending); });
}

// An empty file or one that cannot be opened was meant to be a trace: the reader says what is wrong with it.
bool may_be_trace(const fs::directory_entry& entry) {
  std::error_code failed;
  const std::uintmax_t size = entry.file_size(failed);
  if (failed || size == 0 || size >= kLookedIntoBytes) return true;
  const auto opened = open_file(entry.path().string(), 1);
  return !opened || opened->prefix.empty() || looks_like_trace(opened->prefix);
}

bool is_number(char c) { return c >= '0' && c <= '9'; }

struct Folder {
  std::vector<std::string> traces, summaries, others;
  std::size_t folder_count = 0;
};

Result<Folder> look_into(const std::string& path) {
  std::error_code failed;
  Folder folder;
  fs::directory_iterator at(path, failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    const fs::directory_entry& entry = *at;
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (entry.is_directory(ignored)) {
      ++folder.folder_count;
    } else if (name.starts_with('.') || !entry.is_regular_file(ignored)) {
      continue;
    } else if (ends_in(name, kSummaryEndings)) {
      folder.summaries.push_back(entry.path().string());
    } else if (ends_in(name, kTraceEndings) && may_be_trace(entry)) {
      folder.traces.push_back(entry.path().string());
    } else {
      folder.others.push_back(name);
    }
  }
  if (failed) return Error{ErrorCode::kIo, "cannot be looked into: " + failed.message(), path};
  for (auto* list : {&folder.traces, &folder.summaries, &folder.others}) {
    std::sort(list->begin(), list->end(), is_naturally_before);
  }
  return folder;
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string list_some(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  const std::size_t shown = std::min(names.size(), kMost);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return names.size() > shown ? text + ", …" : text;
}

std::string nothing_in(const std::string& path, const Folder& folder, FileKind kind) {
  std::string text = kind == FileKind::kTraces
                         ? "no trace (*.json, *.json.gz, *.stepscope) and no summary (*.sss) in it"
                         : "no summary (*.sss) in it";
  if (kind == FileKind::kSummaries && !folder.traces.empty()) {
    text +=
        fmt::format(", but {}; type: stepscope summarize {}", counted(folder.traces.size(), "trace", "traces"), path);
  } else if (folder.folder_count > 0) {
    text += fmt::format("; it has {}, which are looked into when named: '{}/*/*'",
                        counted(folder.folder_count, "folder", "folders"), path);
  }
  return fmt::format("{}: {}", path, text);
}

void add_folder(const std::string& path, FileKind kind, FileList& list) {
  const Result<Folder> looked = look_into(path);
  if (!looked) {
    list.wrong = looked.error().to_string();
    return;
  }
  const Folder& folder = *looked;
  const bool has_traces = kind == FileKind::kTraces && !folder.traces.empty();
  const std::vector<std::string>& chosen = has_traces ? folder.traces : folder.summaries;
  if (chosen.empty()) {
    list.wrong = nothing_in(path, folder, kind);
    return;
  }
  list.files.insert(list.files.end(), chosen.begin(), chosen.end());
  if (has_traces && !folder.summaries.empty()) {
    list.remarks.push_back(fmt::format("{}: its {} left out beside the traces", path,
                                       counted(folder.summaries.size(), "summary is", "summaries are")));
  }
  if (!folder.others.empty() && kind == FileKind::kTraces) {
    list.remarks.push_back(fmt::format("{}: {} no trace and left out: {}", path,
                                       counted(folder.others.size(), "file is", "files are"),
                                       list_some(folder.others)));
  }
}

void add_pattern(const std::string& pattern, FileList& list) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), GLOB_TILDE, nullptr, &found);
  std::vector<std::string> files;
  for (std::size_t i = 0; status == 0 && i < found.gl_pathc; ++i) {
    const std::string path = found.gl_pathv[i];
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) files.push_back(path);
  }
  ::globfree(&found);
  if (files.empty()) {
    list.wrong = pattern + ": no file is called so";
    return;
  }
  std::sort(files.begin(), files.end(), is_naturally_before);
  list.files.insert(list.files.end(), files.begin(), files.end());
}

void add_list(const std::string& path, FileList& list) {
  std::ifstream file;
  const bool is_standard_input = path == "-";
  if (!is_standard_input) file.open(path);
  if (!is_standard_input && !file) {
    list.wrong = fmt::format("@{}: there is no such list, or it cannot be read", path);
    return;
  }
  std::istream& lines = is_standard_input ? std::cin : file;
  const fs::path folder = is_standard_input ? fs::path() : fs::path(path).parent_path();
  const std::size_t before = list.files.size();
  std::string line;
  while (std::getline(lines, line)) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    const bool stands_alone = line.find("://") != std::string::npos;
    list.files.push_back(stands_alone ? line : (folder / line).string());
  }
  if (list.files.size() == before) list.wrong = fmt::format("@{}: no file in the list", path);
}

}  // namespace

bool is_naturally_before(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  const auto digits_of = [](std::string_view text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_number);
    return text.substr(0, static_cast<std::size_t>(end - text.begin()));
  };
  while (!a.empty() && !b.empty()) {
    if (!is_number(a.front()) || !is_number(b.front())) {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    std::string_view left = digits_of(a), right = digits_of(b);
    a.remove_prefix(left.size());
    b.remove_prefix(right.size());
    while (left.starts_with('0')) left.remove_prefix(1);
    while (right.starts_with('0')) right.remove_prefix(1);
    if (left.size() != right.size()) return left.size() < right.size();
    if (left != right) return left < right;
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

FileList expand_files(const std::vector<std::string>& arguments, FileKind kind) {
  FileList list;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    if (fs::is_directory(argument, ignored)) {
      add_folder(argument, kind, list);
    } else if (fs::exists(argument, ignored) || argument.find("://") != std::string::npos) {
      list.files.push_back(argument);
    } else if (argument.starts_with('@') && argument.size() > 1) {
      add_list(argument.substr(1), list);
    } else if (argument.find_first_of("*?[") != std::string::npos) {
      add_pattern(argument, list);
    } else {
      list.files.push_back(argument);
    }
    if (!list.wrong.empty()) break;
  }
  return list;
}

}  // namespace stepscope
