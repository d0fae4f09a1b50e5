// Was the file cut? Asked of steps, whose last may be torn, of the ledger and of the report's head.
#pragma once

#include <algorithm>

#include "trace/notes.h"

namespace stepscope {

// The first note that says that the text ends early or its compressed data are damaged; nullptr: there is none. A
// capture without its last record (kEndedEarly) is no cut file: its program may have been killed.
[[nodiscard]] inline const Note* find_cut(const std::vector<Note>& notes) {
  const auto at = std::find_if(notes.begin(), notes.end(), [](const Note& note) {
    return (note.kind == NoteKind::kFileCut || note.kind == NoteKind::kGzipDamaged) &&
           note.severity >= NoteSeverity::kLost;
  });
  return at == notes.end() ? nullptr : &*at;
}

}  // namespace stepscope
