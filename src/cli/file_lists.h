// The files that a command's arguments stand for: folders, patterns in quotes and lists, besides plain names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// What a folder is asked for.
enum class FileKind { kTraces, kSummaries };

struct FileList {
  std::vector<std::string> files;
  std::vector<std::string> remarks;  // what was left out of a folder, in sentences
  std::string wrong;                 // what cannot be meant; empty if nothing
};

// DIR: every trace in it, not in folders below, in natural order; where there is none, every summary. A trace is called
//   *.json, *.json.gz or *.stepscope. Hidden files, unfinished ones and JSON that is no trace are left out and said.
// GLOB: what the pattern matches, in natural order, where no file has that very name.
// @LIST: a file with one name a line, relative to it; @- is standard input. Empty lines and # comments are skipped.
// Anything else stands for itself, also if there is no such file: the reader says why it cannot be read.
[[nodiscard]] FileList expand_files(const std::vector<std::string>& arguments, FileKind kind);

// rank2 before rank10: runs of digits compare as numbers.
[[nodiscard]] bool is_naturally_before(std::string_view a, std::string_view b);

}  // namespace stepscope
