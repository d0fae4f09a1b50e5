// Names of spans, kept once for the process and known by a 32-bit id.
//
// A program says the same few hundred names over and over, so each thread remembers where it found the last 256 of
// them: a known name costs a hash, a compare and no lock. Only a new one takes the process's pool and its mutex.
// Names are never forgotten, since records, sites of macros and threads hold their ids; a program that makes a new
// name each time would fill the memory, so past kMostNameBytes all further ones share one name that says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/id.h"

namespace stepscope {

// Ids start at 1 (0 is the empty name), so 0 can stand for "not yet" where a site keeps its id.
using NameId = Id<struct NameTag>;
[[nodiscard]] NameId intern_name(std::string_view text);
// Good as long as the process. "" for the empty id.
[[nodiscard]] std::string_view name_text(NameId name);

// About half a million names of 100 bytes: who has more of them puts numbers into names, and no table by name helps.
inline constexpr std::size_t kMostNameBytes = std::size_t{64} << 20;

// What one thread remembers.
struct NameCache {
  static constexpr std::size_t kSlots = 256;
  struct Slot {
    const char* text = nullptr;
    std::uint32_t bytes = 0;
    std::uint32_t id = 0;
  };
  Slot slots[kSlots];
};

}  // namespace stepscope
