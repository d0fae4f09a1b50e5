// Every shipped trace reads, and the first bytes alone decide about the format.
#include "import/importers.h"

#include <gtest/gtest.h>

#include "import/bytes/byte_source.h"

namespace stepscope {
namespace {

std::string data(const std::string& name) { return std::string(STEPSCOPE_TESTS_DIR "/data/") + name; }

TEST(Importers, ReadASoundTrace) {
  Result<std::vector<Trace>> traces = read_traces(data("cases/A00_good.json"));
  ASSERT_TRUE(traces.has_value()) << traces.error().to_string();
  ASSERT_EQ(traces->size(), 1U);
  const Trace& trace = traces->front();
  EXPECT_EQ(trace.gpu_events.size(), 3U);
  EXPECT_EQ(trace.info.event_count + trace.info.metadata_event_count, 22U);
  EXPECT_TRUE(trace.notes.all().empty());
}

TEST(Importers, ReadARecordedTrace) {
  Result<std::vector<Trace>> traces = read_traces(data("h200/solid.pt.trace.json.gz"));
  ASSERT_TRUE(traces.has_value()) << traces.error().to_string();
  const Trace& trace = traces->front();
  EXPECT_EQ(trace.ops.size(), 15321U);
  EXPECT_EQ(trace.gpu_events.size(), 2838U);
  EXPECT_EQ(trace.flows.size(), 8872U);
  EXPECT_EQ(trace.memory_events.size(), 5628U);
  EXPECT_EQ(trace.info.metadata_event_count, 60U);
  EXPECT_TRUE(trace.notes.all().empty());
}

std::string refusal_of(std::string text, const std::string& name) {
  const Result<std::vector<Trace>> traces = read_traces(bytes_of(std::move(text)), name);
  return traces.has_value() ? "" : traces.error().to_string();
}

TEST(Importers, AFormatThatIsNotReadIsRefusedWithWhatToGiveInstead) {
  const auto npos = std::string::npos;
  EXPECT_NE(refusal_of("\n\5hello", "plugins/vm.xplane.pb").find(".trace.json.gz"), npos);
  EXPECT_NE(refusal_of("\1\2\3", "run.nsys-rep").find("stepscope run"), npos);
  EXPECT_NE(refusal_of("\1\2\3", "RUN.XPLANE.PB.gz").find(".trace.json.gz"), npos);
  EXPECT_NE(refusal_of("SQLite format 3", "run.db").find("SQLite"), npos);
  EXPECT_NE(refusal_of("\n\5hello", "a.pftrace").find("traceconv json"), npos);
  EXPECT_NE(refusal_of("hello", "xplane.pb").find("PyTorch, JAX and Chrome"), npos);
}

TEST(Importers, ANameDecidesNothingWhereTheContentIsATrace) {
  EXPECT_EQ(refusal_of(R"({"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]})",
                       "a.xplane.pb"),
            "");
}

}  // namespace
}  // namespace stepscope
