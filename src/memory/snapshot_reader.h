// Reads a memory snapshot of any version into columns, without ever running what is in it.
//
// Containers: a dict pickled with protocol 0 to 5 (older text opcodes included where they carry data), a bare list of
// segments, JSON of either; the caller opens gzip (import/bytes). The content decides, never the name.
//
// A pickle is a program. This reader knows the opcodes that carry data; any opcode that names code (GLOBAL, REDUCE,
// BUILD, ...) is refused before anything else happens, and the message says what was asked for. No length in the file
// allocates memory by itself, no depth or cycle in it can exhaust the stack, and memory stays under a small multiple of
// the bytes read. Errors name the opcode and its offset in the decompressed bytes.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "memory/snapshot.h"

namespace stepscope {

// Fills `into` with up to `size` bytes and returns their number; 0 means the end.
using ReadBytes = std::function<Result<std::size_t>(char* into, std::size_t size)>;

// Is this the beginning of something that read_snapshot may read? `prefix`: the first bytes, 64 are enough. Used to
// tell a snapshot given to another command, and a trace given to this one.
[[nodiscard]] bool looks_like_snapshot(std::string_view prefix);

// `source` stands in messages and in SnapshotInfo::source. A file that ends early gives what was whole, with a kFileCut
// note of severity kUnsound (segments may be salvaged, no number is sound). An Error: nothing can be used (an empty
// file, a forbidden opcode, no snapshot).
[[nodiscard]] Result<MemorySnapshot> read_snapshot(const std::string& source, const ReadBytes& read);

}  // namespace stepscope
