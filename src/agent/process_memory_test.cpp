// NVML as it may answer: us among others, not at all, and lists that grow while they are asked for.
#include "agent/process_memory.h"

#include <gtest/gtest.h>

#include <map>

namespace stepscope::agent {
namespace {

// Table functions have no pointer of their own, so the fake is a global that each test makes anew.
struct FakeNvml {
  std::map<std::string, std::vector<NvmlProcess>> processes;  // by PCI address
  int list_result = kNvmlSuccess;
  int memory_result = kNvmlSuccess;
  int lists_that_grow = 0;
  int list_count = 0;
};
FakeNvml fake;

NvmlTable table() {
  NvmlTable made;
  made.init = [] { return kNvmlSuccess; };
  made.device_by_pci = [](const char* address, NvmlDevice* device) {
    const auto at = fake.processes.find(address);
    if (at == fake.processes.end()) return 6;  // NVML_ERROR_NOT_FOUND
    *device = &at->second;
    return kNvmlSuccess;
  };
  made.compute_processes = [](NvmlDevice device, unsigned* count, NvmlProcess* processes) {
    const auto& all = *static_cast<std::vector<NvmlProcess>*>(device);
    if (fake.list_result != kNvmlSuccess) return fake.list_result;
    if (fake.list_count++ < fake.lists_that_grow || *count < all.size()) {
      *count = static_cast<unsigned>(all.size());
      return kNvmlInsufficientSize;
    }
    std::copy(all.begin(), all.end(), processes);
    *count = static_cast<unsigned>(all.size());
    return kNvmlSuccess;
  };
  made.memory = [](NvmlDevice, NvmlMemory* memory) {
    *memory = {100, 40, 60};
    return fake.memory_result;
  };
  return made;
}

class ProcessMemoryTest : public testing::Test {
 protected:
  void SetUp() override { fake = {}; }
  static std::string asked(std::vector<UsedDevice> devices) {
    std::string text;
    const auto number = [](MaybeInt value) { return value.has_value() ? std::to_string(value.value()) : "-"; };
    for (const WireMemoryLevel& level : ask_process_memory(table(), devices, 7)) {
      EXPECT_EQ(level.source, WireMemoryLevelSource::kNvml);
      EXPECT_GT(level.time_ns, 0);
      text += std::to_string(level.device_number) + ": " + number(level.process_bytes) + " of " +
              number(level.device_used_bytes) + "/" + number(level.device_total_bytes) + "\n";
    }
    return text;
  }
};

TEST_F(ProcessMemoryTest, OursAmongOthersOnEachDevice) {
  fake.processes["0000:01"] = {{3, 10, 0, 0}, {7, 20, 0, 0}};
  fake.processes["0000:02"] = {{7, 30, 0, 0}};
  EXPECT_EQ(asked({{2, "0000:02"}, {0, "0000:01"}, {1, "0000:09"}}), "2: 30 of 60/100\n0: 20 of 60/100\n");
}

TEST_F(ProcessMemoryTest, InAContainerOnlyTheDeviceIsKnown) {
  fake.processes["0000:01"] = {{4711, 10, 0, 0}};
  EXPECT_EQ(asked({{0, "0000:01"}}), "0: - of 60/100\n");
}

TEST_F(ProcessMemoryTest, AnAmountThatNvmlDoesNotKnow) {
  fake.processes["0000:01"] = {{7, ~0ULL, 0, 0}};
  fake.memory_result = 3;
  EXPECT_EQ(asked({{0, "0000:01"}}), "");
}

TEST_F(ProcessMemoryTest, MoreProcessesThanRoom) {
  for (unsigned pid = 100; pid < 130; ++pid) fake.processes["0000:01"].push_back({pid, 1, 0, 0});
  fake.processes["0000:01"].push_back({7, 50, 0, 0});
  EXPECT_EQ(asked({{0, "0000:01"}}), "0: 50 of 60/100\n");
}

TEST_F(ProcessMemoryTest, AListThatGrowsForEver) {
  fake.processes["0000:01"] = {{7, 50, 0, 0}};
  fake.lists_that_grow = 100;
  EXPECT_EQ(asked({{0, "0000:01"}}), "0: - of 60/100\n");
  EXPECT_EQ(fake.list_count, 3);
}

TEST_F(ProcessMemoryTest, ARefusalIsNoAnswer) {
  fake.processes["0000:01"] = {{7, 50, 0, 0}};
  fake.list_result = 4;  // NVML_ERROR_NO_PERMISSION
  EXPECT_EQ(asked({{0, "0000:01"}}), "0: - of 60/100\n");
}

// This process has no context on a GPU, whatever the machine has.
TEST_F(ProcessMemoryTest, WithoutCudaNothingIsAsked) { EXPECT_TRUE(sample_process_memory().empty()); }

}  // namespace
}  // namespace stepscope::agent
