// The other side of NVTX's interface: what its headers compile into a program.
#include "agent/nvtx.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "capture/event_ring.h"
#include "wire/records.h"

namespace stepscope::agent {
namespace {

std::array<NvtxFunction, 16> core_functions, core2_functions;
std::array<NvtxFunction*, 16> core_places, core2_places;
std::uint32_t core2_count = 16;

int module_functions(std::uint32_t module, NvtxFunctionTable* table, std::uint32_t* count) {
  if (module != kNvtxCore && module != kNvtxCore2) return 0;
  *table = module == kNvtxCore ? core_places.data() : core2_places.data();
  *count = module == kNvtxCore ? 16 : core2_count;
  return 1;
}
const void* get_table(std::uint32_t id) {
  static const NvtxCallbacksTable callbacks{sizeof callbacks, module_functions};
  return id == kNvtxCallbacksTable ? &callbacks : nullptr;
}

template <class Function, class... Arguments>
auto call(NvtxCore id, Arguments... arguments) {
  return reinterpret_cast<Function>(core_functions[static_cast<std::size_t>(id)])(arguments...);
}
template <class Function, class... Arguments>
auto call(NvtxCore2 id, Arguments... arguments) {
  return reinterpret_cast<Function>(core2_functions[static_cast<std::size_t>(id)])(arguments...);
}
int push(const char* text) { return call<int (*)(const char*)>(NvtxCore::kRangePushA, text); }
int pop() { return call<int (*)()>(NvtxCore::kRangePop); }
std::uint64_t start(const char* text) { return call<std::uint64_t (*)(const char*)>(NvtxCore::kRangeStartA, text); }
void end(std::uint64_t number) { call<void (*)(std::uint64_t)>(NvtxCore::kRangeEnd, number); }
NvtxEvent event_with(const NvtxString* registered) {
  NvtxEvent event{};
  event.version = 3;
  event.struct_bytes = sizeof event;
  event.message_type = NvtxMessage::kRegistered;
  event.message.registered = registered;
  return event;
}

class Nvtx : public testing::Test {
 protected:
  void SetUp() override {
    core_functions = core2_functions = {};
    for (std::size_t i = 0; i < 16; ++i) {
      core_places[i] = &core_functions[i];
      core2_places[i] = &core2_functions[i];
    }
    core2_count = 16;
    ASSERT_TRUE(attach_nvtx(get_table));
    hook_events_on = true;
    (void)drain();
  }
  void TearDown() override { hook_events_on = false; }
  static std::vector<HookEvent> drain() {
    std::vector<HookEvent> all;
    drain_events([&](const RingThread&, std::span<const HookEvent> events) {
      all.insert(all.end(), events.begin(), events.end());
    });
    return all;
  }
  static std::string names() {
    std::string text;
    for (const HookEvent& event : drain()) {
      if (!text.empty()) text += ' ';
      text += name_text(event.name);
    }
    return text;
  }
};

TEST_F(Nvtx, PushedRangesNest) {
  EXPECT_EQ(push("outer"), 0);
  EXPECT_EQ(push("inner"), 1);
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(pop(), 0);
  EXPECT_LT(pop(), 0);
  const auto events = drain();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(name_text(events[0].name), "inner");
  EXPECT_LE(events[1].start_ns, events[0].start_ns);
  EXPECT_GE(events[1].end_ns, events[0].end_ns);
  EXPECT_EQ(events[0].kind, HookEventKind::kSpan);
  EXPECT_EQ(events[0].flags, static_cast<int>(WireSpanSource::kNvtx));
}

TEST_F(Nvtx, StartedRangesEndAnywhere) {
  const std::uint64_t first = start("first"), second = start("second");
  EXPECT_NE(first, second);
  std::thread([&] { end(first); }).join();
  end(second);
  end(second);
  end(12345678);
  const auto events = drain();
  ASSERT_EQ(events.size(), 2U);
  for (const HookEvent& event : events) {
    EXPECT_NE(event.flags & kSpanIsAsync, 0);
    EXPECT_EQ(event.c, static_cast<std::uint64_t>(gettid()));
  }
}

TEST_F(Nvtx, DomainsNestApartAndStringsAreRegistered) {
  using Create = const NvtxDomain* (*)(const char*);
  using Register = const NvtxString* (*)(const NvtxDomain*, const wchar_t*);
  using Push = int (*)(const NvtxDomain*, const NvtxEvent*);
  using Pop = int (*)(const NvtxDomain*);
  const NvtxDomain* const domain = call<Create>(NvtxCore2::kDomainCreateA, "NCCL");
  ASSERT_NE(domain, nullptr);
  const NvtxString* const text = call<Register>(NvtxCore2::kRegisterStringW, domain, L"größe");
  const NvtxEvent event = event_with(text);
  EXPECT_EQ(call<Push>(NvtxCore2::kRangePushEx, domain, &event), 0);
  EXPECT_EQ(push("plain"), 0);
  EXPECT_EQ(call<Pop>(NvtxCore2::kRangePop, domain), 0);
  EXPECT_EQ(pop(), 0);
  EXPECT_EQ(names(), "größe plain");
}

TEST_F(Nvtx, TakesEventsWithoutAMessage) {
  using Mark = void (*)(const NvtxEvent*);
  NvtxEvent event{};
  call<Mark>(NvtxCore::kMarkEx, static_cast<const NvtxEvent*>(&event));
  call<Mark>(NvtxCore::kMarkEx, static_cast<const NvtxEvent*>(nullptr));
  const NvtxEvent wrong = event_with(reinterpret_cast<const NvtxString*>(~std::uintptr_t{0}));
  call<Mark>(NvtxCore::kMarkEx, &wrong);
  for (const HookEvent& got : drain()) EXPECT_EQ(name_text(got.name), "");
}

TEST_F(Nvtx, FollowsRangesAcrossTheEdgesOfAWindow) {
  hook_events_on = false;
  push("before");
  hook_events_on = true;
  push("inside");
  pop();
  pop();
  push("after");
  hook_events_on = false;
  pop();
  EXPECT_LT(pop(), 0);
  EXPECT_EQ(names(), "inside");
}

TEST_F(Nvtx, DeepRangesFindTheirEnds) {
  for (int i = 0; i < 1000; ++i) push("deep");
  for (int i = 0; i < 1000; ++i) EXPECT_GE(pop(), 0);
  EXPECT_LT(pop(), 0);
  EXPECT_EQ(drain().size(), 128U);
}

TEST_F(Nvtx, TakesShortTablesAndNone) {
  core2_count = 3;
  core2_functions = {};
  EXPECT_TRUE(attach_nvtx(get_table));
  EXPECT_EQ(core2_functions[4], nullptr);
  EXPECT_FALSE(attach_nvtx([](std::uint32_t) -> const void* { return nullptr; }));
  EXPECT_FALSE(attach_nvtx(nullptr));
}

}  // namespace
}  // namespace stepscope::agent
