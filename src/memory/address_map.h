// Which memory is a parameter, a gradient or optimizer state, as the program's optimizers said when the snapshot was
// written: the map that `stepscope run --memory` puts beside each snapshot (docs/formats/memory-map.md).
//
// A snapshot cannot tell categories; inference from stacks and lifetimes can be wrong, so where the map names a block
// it wins over everything but a category that a profiler recorded.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memory/facts.h"

namespace stepscope {

struct NamedAddress {
  std::int64_t device_number = 0;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  MemoryCategory category = MemoryCategory::kUnknown;
};

struct AddressMap {
  std::int64_t time_ns = 0;             // when the snapshot had been written; 0: not said
  std::vector<NamedAddress> addresses;  // sorted by (device, address)
};

// "run.end.pickle" and "run.end.pickle.gz" -> "run.end.tensors.json": where a snapshot's map lies.
[[nodiscard]] std::string address_map_path(std::string_view snapshot_path);
// Errors name what is wrong with the document: kDamaged, kUnsupported (another version).
[[nodiscard]] Result<AddressMap> read_address_map(std::string_view json, const std::string& source);
// Sets category and category_source of allocations that are live at the end and hold an address of the map; returns how
// many. A block that holds tensors of two categories (a view of a flat buffer) is of the one with more bytes in it.
std::size_t apply_address_map(const AddressMap& map, const MemorySnapshot& snapshot, MemoryFacts& facts);

}  // namespace stepscope
