// The bytes of a page's data: what docs/formats/page.md says of them, and that the program's own template takes them.
#include "report/html/page_data.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "report/html/html_page.h"
#include "report/html/page_columns.h"
#include "report/html/page_reader.h"
#include "report/html/page_rows.h"
#include "report/html/page_strings.h"
#include "report/html/page_template.h"
#include "report/sample_report.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

std::string inflate_base64(std::string_view text) {
  std::string packed;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = bits << 6 | static_cast<std::uint32_t>(kDigits.find(c));
    if (++count % 4 == 1) continue;
    packed += static_cast<char>(bits >> (6 - 2 * ((count - 1) % 4)) & 255);
  }
  std::string bytes(1 << 20, '\0');
  uLongf size = bytes.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size,                  // NOLINT
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),  // NOLINT
            Z_OK);
  bytes.resize(size);
  return bytes;
}

TEST(PageColumns, VarintsTakeSevenBitsAByte) {
  std::string bytes;
  append_varint(0, bytes);
  append_varint(127, bytes);
  append_varint(300, bytes);
  EXPECT_EQ(bytes, std::string("\0\x7f\xac\x02", 4));
  EXPECT_EQ(zigzag(0), 0U);
  EXPECT_EQ(zigzag(-1), 1U);
  EXPECT_EQ(zigzag(1), 2U);
  EXPECT_EQ(zigzag(std::numeric_limits<std::int64_t>::min()), ~std::uint64_t{0});
}

TEST(PageColumns, WhatIsPackedUnpacks) {
  for (const std::size_t size : {0, 1, 2, 3, 4, 100, 70'000}) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i * 7 + i / 100);
    EXPECT_EQ(inflate_base64(pack_for_page(text)), text);
  }
}

TEST(PageStrings, LongTextsAreCutBetweenCharactersAndSaySo) {
  EXPECT_EQ(page_text("aten::mm"), "aten::mm");
  std::string longer(kMostPageTextBytes - 1, 'a');
  longer += "é and more";  // the limit lies inside the é
  const std::string cut = page_text(longer);
  EXPECT_EQ(cut, std::string(kMostPageTextBytes - 1, 'a') + "… (4,106 bytes)");
  EXPECT_EQ(page_text("\xff</script>"), "\xEF\xBF\xBD</script>");
}

// One step: the GPU waits for the first launch, and between the two kernels for the second.
constexpr std::string_view kPicture = R"(
  step      [4                               ]
  op        .  [mm      ]     [mm      ]
  call           [L1]            [L2]
  gpu/7                [K1==]          [K2==]
  where
    mm = aten::mm shapes [[2,3]]
    L1 = cudaLaunchKernel corr 1
    L2 = cudaLaunchKernel corr 2
    K1 = gemm_a corr 1
    K2 = gemm_b corr 2
)";

TEST(PageData, HostRowsNestAndGpuRowsPointAtTheirLaunch) {
  const Trace trace = trace_from_text(kPicture);
  const Facts facts = compute_facts(trace, {});
  const PageReader page(build_page_bytes(trace, facts, {}));
  EXPECT_EQ(page.directory["format"], "stepscope-page");
  EXPECT_EQ(page.directory["version"], kPageFormatVersion);
  const auto strings = page.texts("strings", "text");
  std::vector<std::string> names;
  for (const std::int64_t id : page.numbers("host", "name")) names.push_back(strings[static_cast<std::size_t>(id)]);
  EXPECT_EQ(names, (std::vector<std::string>{"ProfilerStep#4", "aten::mm", "cudaLaunchKernel", "aten::mm",
                                             "cudaLaunchKernel"}));
  EXPECT_EQ(page.numbers("host", "start_ns").front(), 0) << "times count from the first event";
  EXPECT_EQ(page.numbers("gpu", "launch"), (std::vector<std::int64_t>{3, 5})) << "row + 1 of the calls";
  EXPECT_EQ(page.numbers("gpu", "operator"), (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(strings[static_cast<std::size_t>(page.numbers("host", "shapes")[1])], "[[2,3]]");
}

TEST(PageData, GapsAddUpToTheIdleTimeByCause) {
  const Trace trace = trace_from_text(kPicture);
  const Facts facts = compute_facts(trace, {});
  const PageReader page(build_page_bytes(trace, facts, {}));
  std::int64_t gaps_ns = 0;
  for (const std::int64_t length_ns : page.numbers("gaps", "duration_ns")) gaps_ns += length_ns;
  ASSERT_NE(facts.main_busy(), nullptr);
  EXPECT_GT(gaps_ns, 0);
  EXPECT_EQ(gaps_ns, facts.main_busy()->idle_ns);
  IdleByCause sums{};
  const auto causes = page.numbers("gap_parts", "cause"), lengths = page.numbers("gap_parts", "length_ns");
  for (std::size_t i = 0; i < causes.size(); ++i) sums[static_cast<std::size_t>(causes[i])] += lengths[i];
  EXPECT_EQ(sums, facts.main_idle()->blame_ns);
}

// Step 5 was recorded but for its span.
TEST(PageData, ModulesAndOperatorsAreOfTheSameSteps) {
  const Trace trace = trace_from_text(R"(
    step      [4         ]            [6         ]
    op         [mm      ]  [mm      ]  [mm      ]
    call         [L1]        [L2]        [L3]
    gpu/7            [K1]        [K2]        [K3]
    where
      mm = aten::mm
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      K1 = gemm corr 1
      K2 = gemm corr 2
      K3 = gemm corr 3
  )");
  const Facts facts = compute_facts(trace, {});
  ASSERT_EQ(facts.steps.steps.size(), 2U);
  const PageReader page(build_page_bytes(trace, facts, {}));
  EXPECT_EQ(page.texts("modules", "name"), (std::vector<std::string>{"aten::mm"}));
  EXPECT_EQ(page.numbers("modules", "count"), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(page.numbers("modules", "device_ns"), (std::vector<std::int64_t>{80'000}));
}

TEST(PageRows, OfTooManyTheShortestAreLeftOutAndCounted) {
  const Trace trace = trace_from_text(kPicture);
  const PageRows all = choose_page_rows(trace, 100, 100);
  EXPECT_EQ(all.shortest_host_ns, 0);
  EXPECT_EQ(all.host.size(), 5U);
  const PageRows few = choose_page_rows(trace, 2, 1);
  EXPECT_GT(few.shortest_host_ns, 0);
  EXPECT_EQ(few.host.size(), 3U) << "the span and the two longer operators";
  EXPECT_EQ(few.left_out_of_thread, std::vector<std::uint32_t>{2});
  EXPECT_EQ(few.host_of_call, (std::vector<std::uint32_t>{0, 0}));
  EXPECT_EQ(few.gpu.size() + few.left_out_of_stream[0], 2U);
}

TEST(PageData, TracesWithoutAnythingMakePagesToo) {
  const Trace trace;
  const Facts facts = compute_facts(trace, {});
  const PageReader page(build_page_bytes(trace, facts, {}));
  EXPECT_EQ(page.directory["tables"]["gpu"]["rows"], 0);
}

TEST(HtmlPage, HoldsDocumentAndRecordingsAndNoNameOfThem) {
  Report report = sample_report();
  report.info.source = "</script><script>alert(1)</script>.json";
  report.page_data = pack_for_page("columns");
  const std::string html = write_html(report);
  EXPECT_NE(html.find("id=\"stepscope-document\""), std::string::npos);
  EXPECT_NE(html.find("id=\"stepscope-recording-0\">" + report.page_data + "<"), std::string::npos);
  EXPECT_EQ(html.find("alert(1)"), std::string::npos);
  EXPECT_EQ(html.find("<!--stepscope-data-->"), std::string::npos);
}

TEST(PageTemplate, HasOnePlaceForDataAndAPolicy) {
  const std::string_view page = page_template();
  EXPECT_NE(page.find("<!--stepscope-data-->"), std::string_view::npos);
  EXPECT_EQ(page.find("<!--stepscope-data-->"), page.rfind("<!--stepscope-data-->"));
  EXPECT_NE(page.find("default-src 'none'"), std::string_view::npos);
  EXPECT_EQ(page.find("unsafe-inline"), std::string_view::npos);
}

}  // namespace
}  // namespace stepscope
