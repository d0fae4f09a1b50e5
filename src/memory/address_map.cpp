// A map is small (a row a tensor), so it is read by a parser of trees; its depth is bounded by that parser, and a file
// of numbers alone makes no more memory than a small multiple of itself.
#include "memory/address_map.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace stepscope {
namespace {

using Json = nlohmann::json;

// 64 MiB are two million tensors; what is larger is no map.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

std::optional<MemoryCategory> category_of(std::string_view name) {
  for (std::size_t i = 0; i < kMemoryCategoryCount; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    if (category != MemoryCategory::kUnknown && memory_category_name(category) == name) return category;
  }
  return std::nullopt;
}

// False: the row is none.
bool add_row(const Json& row, MemoryCategory category, AddressMap& map) {
  if (!row.is_array() || row.size() != 3) return false;
  for (const Json& number : row) {
    if (!number.is_number_integer()) return false;
  }
  NamedAddress named;
  named.device_number = row[0].get<std::int64_t>();
  named.address = row[1].get<std::uint64_t>();
  named.bytes = std::max<std::int64_t>(row[2].get<std::int64_t>(), 0);
  named.category = category;
  map.addresses.push_back(named);
  return true;
}

bool is_before(const NamedAddress& a, const NamedAddress& b) {
  return a.device_number != b.device_number ? a.device_number < b.device_number : a.address < b.address;
}

// The category with most bytes in [begin, end); kUnknown: nothing of the map lies there.
MemoryCategory find_category(const AddressMap& map, std::int64_t device, std::uint64_t begin, std::uint64_t end) {
  std::array<double, kMemoryCategoryCount> bytes{};
  const NamedAddress first{device, begin, 0, {}};
  auto at = std::lower_bound(map.addresses.begin(), map.addresses.end(), first, is_before);
  for (; at != map.addresses.end() && at->device_number == device && at->address < end; ++at) {
    // A tensor without bytes names its block all the same.
    bytes[static_cast<std::size_t>(at->category)] += std::max(static_cast<double>(at->bytes), 1e-9);
  }
  const auto most = std::max_element(bytes.begin(), bytes.end());
  return *most > 0 ? static_cast<MemoryCategory>(most - bytes.begin()) : MemoryCategory::kUnknown;
}

}  // namespace

std::string address_map_path(std::string_view snapshot_path) {
  for (const std::string_view ending : {".gz", ".pickle", ".pkl"}) {
    if (snapshot_path.ends_with(ending)) snapshot_path.remove_suffix(ending.size());
  }
  return std::string(snapshot_path) + ".tensors.json";
}

Result<AddressMap> read_address_map(std::string_view json, const std::string& source) {
  const auto damaged = [&](const char* what) {
    return Error{ErrorCode::kDamaged, std::string("the map of tensor addresses ") + what, source};
  };
  if (json.size() > kMostBytes) return damaged("is larger than 64 MiB");
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_object()) return damaged("is no JSON object");
  const auto format = document.find("format");
  if (format == document.end() || *format != "stepscope-tensor-addresses") return damaged("does not say it is one");
  const auto version = document.find("version");
  if (version == document.end() || *version != 1) {
    return Error{ErrorCode::kUnsupported, "the map of tensor addresses is of another version than 1", source};
  }
  const auto tensors = document.find("tensors");
  if (tensors == document.end() || !tensors->is_object()) return damaged("has no tensors");
  AddressMap map;
  if (const auto time = document.find("time_ns"); time != document.end() && time->is_number_integer()) {
    map.time_ns = time->get<std::int64_t>();
  }
  for (const auto& [name, rows] : tensors->items()) {
    const auto category = category_of(name);
    if (!category) continue;
    if (!rows.is_array()) return damaged("has a category that is no list");
    for (const Json& row : rows) {
      if (!add_row(row, *category, map)) return damaged("has a row that is not [device, address, bytes]");
    }
  }
  std::stable_sort(map.addresses.begin(), map.addresses.end(), is_before);
  return map;
}

std::size_t apply_address_map(const AddressMap& map, const MemorySnapshot& snapshot, MemoryFacts& facts) {
  std::size_t count = 0;
  Allocations& allocations = facts.allocations;
  for (const DeviceMemoryFacts& device : facts.devices.raw()) {
    const std::int64_t number = snapshot.devices.number[device.device];
    for (const AllocationId id : device.allocations.ids()) {
      const bool is_live = !allocations.free_completed_entry[id].has_value();
      if (!is_live || allocations.category_source[id] == CategorySource::kRecorded) continue;
      const std::uint64_t begin = allocations.address[id];
      const std::uint64_t end =
          begin + static_cast<std::uint64_t>(std::max<std::int64_t>(allocations.size_bytes[id], 1));
      const MemoryCategory category = find_category(map, number, begin, end);
      if (category == MemoryCategory::kUnknown) continue;
      allocations.category[id] = category;
      allocations.category_source[id] = CategorySource::kAddressMap;
      ++count;
    }
  }
  return count;
}

}  // namespace stepscope
