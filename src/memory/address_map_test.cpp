// The map beside a snapshot: read whole or refused, and applied to what is live.
#include "memory/address_map.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

constexpr const char* kMap =
    R"({"format": "stepscope-tensor-addresses", "version": 1, "time_ns": 77, "later": [{}],
        "tensors": {"optimizer state": [[0, 12288, 512]], "parameter": [[1, 4096, 9], [0, 4096, 512]], "gradient": [],
                    "of a later version": 3}})";

TEST(AddressMap, IsReadInOrderOfAddresses) {
  const auto map = read_address_map(kMap, "x");
  ASSERT_TRUE(map.has_value()) << map.error().to_string();
  EXPECT_EQ(map->time_ns, 77);
  ASSERT_EQ(map->addresses.size(), 3U);
  EXPECT_EQ(map->addresses[0].address, 4096U);
  EXPECT_EQ(map->addresses[0].category, MemoryCategory::kParameter);
  EXPECT_EQ(map->addresses[1].category, MemoryCategory::kOptimizerState);
  EXPECT_EQ(map->addresses[2].device_number, 1);
}

TEST(AddressMap, WhatIsNoneIsRefused) {
  const std::string head = R"({"format":"stepscope-tensor-addresses","version":1,"tensors":)";
  for (const std::string& text :
       {std::string(), std::string("["), std::string("[]"), std::string("{}"), std::string(1'000'000, '['),
        std::string(R"({"format":"other","version":1,"tensors":{}})"),
        std::string(R"({"format":"stepscope-tensor-addresses","tensors":{}})"),
        std::string(R"({"format":"stepscope-tensor-addresses","version":2,"tensors":{}})"), head + "[]}",
        head + R"({"parameter":7}})", head + R"({"parameter":[[0,1]]}})", head + R"({"parameter":[[0,1,"2"]]}})",
        head + R"({"parameter":[[0,1.5,2]]}})", head + R"({"parameter":[[0,1,2]})"}) {
    const auto map = read_address_map(text, "run.tensors.json");
    ASSERT_FALSE(map.has_value()) << text.substr(0, 80);
    EXPECT_EQ(map.error().file, "run.tensors.json");
    EXPECT_NE(map.error().message.find("map of tensor addresses"), std::string::npos);
  }
}

TEST(AddressMap, LiesBesideItsSnapshot) {
  EXPECT_EQ(address_map_path("out/h_1.7.end.pickle"), "out/h_1.7.end.tensors.json");
  EXPECT_EQ(address_map_path("snapshot.pickle.gz"), "snapshot.tensors.json");
  EXPECT_EQ(address_map_path("plain"), "plain.tensors.json");
}

class Applied : public testing::Test {
 protected:
  // Device 3: a block freed, three live ones.
  Applied() {
    SnapshotDevices::Row device;
    device.number = 3;
    device.entries = {0, 2};
    snapshot.devices.push_back(device);
    DeviceMemoryFacts made;
    made.device = SnapshotDeviceId(0);
    add(4096, 512, true);
    add(4096, 512, false);
    add(8192, 1024, false);
    add(16384, 512, false);
    made.allocations = {0, 4};
    facts.devices.push_back(made);
  }
  void add(std::uint64_t address, std::int64_t bytes, bool is_freed) {
    Allocations::Row row;
    row.address = address;
    row.size_bytes = row.requested_bytes = bytes;
    row.category = MemoryCategory::kUnknown;
    if (is_freed) row.free_completed_entry = SnapshotEntryId(1);
    facts.allocations.push_back(row);
  }
  std::string applied(std::vector<NamedAddress> addresses) {
    AddressMap map;
    map.addresses = std::move(addresses);
    const std::size_t count = apply_address_map(map, snapshot, facts);
    std::string text = std::to_string(count);
    for (const AllocationId id : facts.allocations.ids().ids()) {
      text += ", ";
      text += memory_category_name(facts.allocations.category[id]);
      if (facts.allocations.category_source[id] == CategorySource::kAddressMap) text += " (map)";
    }
    return text;
  }

  MemorySnapshot snapshot;
  MemoryFacts facts;
};

TEST_F(Applied, ToWhatIsLiveOnItsDevice) {
  EXPECT_EQ(applied({{0, 8192, 1024, MemoryCategory::kGradient}, {3, 4096, 512, MemoryCategory::kParameter}}),
            "1, unknown, parameter (map), unknown, unknown");
}

TEST_F(Applied, AFlatBufferIsOfTheCategoryWithMostBytes) {
  EXPECT_EQ(applied({{3, 8192, 24, MemoryCategory::kParameter}, {3, 8704, 512, MemoryCategory::kOptimizerState}}),
            "1, unknown, unknown, optimizer state (map), unknown");
}

TEST_F(Applied, ATensorWithoutBytesAndTheEdgesOfABlock) {
  EXPECT_EQ(applied({{3, 4095, 8, MemoryCategory::kParameter},
                     {3, 9216, 8, MemoryCategory::kParameter},
                     {3, 16384, 0, MemoryCategory::kGradient}}),
            "1, unknown, unknown, unknown, gradient (map)");
}

TEST_F(Applied, NotToWhatAProfilerRecorded) {
  facts.allocations.category[AllocationId(3)] = MemoryCategory::kActivation;
  facts.allocations.category_source[AllocationId(3)] = CategorySource::kRecorded;
  EXPECT_EQ(applied({{3, 16384, 512, MemoryCategory::kGradient}}), "0, unknown, unknown, unknown, activation");
}

}  // namespace
}  // namespace stepscope
