// Where written text goes: a callable for pieces of text, and a file as one.
//
// A file is written under a temporary name beside its final one and renamed when it is whole, so that whoever finds the
// final name finds a whole file: writers are killed, disks fill up. The cost is one rename.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stepscope {

// Takes the text in pieces, in order; an error stops the writing and is handed through.
using TextSink = std::function<Status(std::string_view piece)>;

// Calls `write` with a sink and makes the file `path` of what it gets; gzip when the path ends in .gz. A file of that
// name is replaced, also through a symbolic link; a device or pipe (/dev/stdout) is written to directly. On any error,
// that of `write` included, nothing is left under either name and a file that was there stays as it was. Errors name
// the path and the system's reason.
[[nodiscard]] Status write_text_file(const std::string& path, const std::function<Status(const TextSink&)>& write);

// Removes what is being written under temporary names, in any thread. For the handler of a signal that ends the
// process: nothing but unlink() is called, and write_text_file fails afterwards if the process lives on.
void remove_unfinished_files() noexcept;

}  // namespace stepscope
