// Tables as text, compared whole: what stands where is the point.
#include "stepscope/compare.h"

#include <gtest/gtest.h>

#include "timing/compare_table.h"

namespace stepscope {
namespace {

struct Cell {
  std::string sub_label;
  std::string description;
  std::vector<double> times_ns;
  int num_threads = 1;
  std::string env{};
  std::vector<std::string> notes{};
  std::string setup{};
  std::string label = "sort";
};

Compare compare_of(const std::vector<Cell>& cells) {
  Compare compare;
  for (const Cell& cell : cells) {
    TaskSpec task;
    task.label = cell.label;
    task.sub_label = cell.sub_label;
    task.description = cell.description;
    task.env = cell.env;
    task.setup = cell.setup;
    task.num_threads = cell.num_threads;
    compare.add(Measurement::make(task, cell.times_ns, 1, cell.notes).value());
  }
  return compare;
}

std::vector<Cell> sorts() {
  return {{"std::sort", "n=1000", {21'300}},       {"std::stable_sort", "n=1000", {35'480}},
          {"std::sort", "n=10000", {271'000}},     {"std::stable_sort", "n=10000", {401'200}},
          {"std::sort", "n=1000", {12'100}, 2},    {"std::stable_sort", "n=1000", {30'000}, 2},
          {"std::stable_sort", "n=10000", {9}, 16}};
}

TEST(Compare, NothingIsNothing) { EXPECT_EQ(Compare().to_string(), ""); }

TEST(Compare, RowsAreSubLabelsByThreadsAndColumnsDescriptions) {
  std::vector<Cell> cells = sorts();
  cells.pop_back();
  EXPECT_EQ(compare_of(cells).to_string(),
            R"([---------------- sort -----------------]
                    |  n=1000  |  n=10000
1 thread: -------------------------------
  std::sort         |   21.3   |   271.0
  std::stable_sort  |   35.5   |   401.2
2 threads: ------------------------------
  std::sort         |   12.1   |
  std::stable_sort  |   30.0   |

Times are in microseconds (us).
)");
}

TEST(Compare, TheUnitIsThatOfTheSmallestMedian) {
  EXPECT_EQ(compare_of(sorts()).to_string(),
            R"([----------------- sort ------------------]
                    |  n=1000   |  n=10000
1 thread: ---------------------------------
  std::sort         |  21300.0  |  271000.0
  std::stable_sort  |  35480.0  |  401200.0
2 threads: --------------------------------
  std::sort         |  12100.0  |
  std::stable_sort  |  30000.0  |
16 threads: -------------------------------
  std::stable_sort  |           |       9.0

Times are in nanoseconds (ns).
)");
}

TEST(Compare, FurtherColumnsContinueBelowWhatFits) {
  std::vector<Cell> cells = sorts();
  cells.resize(4);
  EXPECT_EQ(compare_of(cells).to_string(40),
            R"([---------- sort -----------]
                    |  n=1000
1 thread: -------------------
  std::sort         |   21.3
  std::stable_sort  |   35.5

[----- sort (continued) -----]
                    |  n=10000
1 thread: --------------------
  std::sort         |   271.0
  std::stable_sort  |   401.2

Times are in microseconds (us).
)");
}

TEST(Compare, LongNamesAndHeadingsAreBrokenAtSpaces) {
  const std::vector<Cell> cells = {
      {"a name that is far too long for its table", "what the column holds, in a whole sentence", {21'300}},
      {"averyveryverylongwordthatcannotbebroken", "what the column holds, in a whole sentence", {21'300}}};
  EXPECT_EQ(compare_of(cells).to_string(50),
            R"([------------------------------ sort ------------------------------]
                                           |  what the column holds,
                                           |   in a whole sentence
1 thread: ----------------------------------------------------------
  a name that is far                       |           21.3
  too long for its                         |
  table                                    |
  averyveryverylongwordthatcannotbebroken  |           21.3

Times are in microseconds (us).
)");
  EXPECT_EQ(compare_of({cells[0]}).to_string(50),
            R"([------------------- sort --------------------]
                      |  what the column holds,
                      |   in a whole sentence
1 thread: -------------------------------------
  a name that is far  |           21.3
  too long for its    |
  table               |

Times are in microseconds (us).
)");
}

TEST(Compare, TrimsToTheFiguresThatMeanSomething) {
  // 10,050 of 52.6 (numpy, see significant_figures): 2 figures. 5.73 us five times: 25 ns is the floor, 2 figures.
  Compare compare = compare_of({{"a", "x", {10'000, 10'100, 10'200, 10'050, 9'950, 30'000, 10'020}},
                                {"b", "x", {5'730, 5'730, 5'730, 5'730, 5'730}},
                                {"c", "x", {1'234'567'800}}});
  compare.trim_significant_figures();
  EXPECT_EQ(compare.to_string(),
            R"([--- sort ----]
     |     x
1 thread: -----
  a  |       10
  b  |        6
  c  |  1235000

Times are in microseconds (us).
)");
}

TEST(Compare, MarksTheBestOfAColumnAndThreadCount) {
  Compare compare = compare_of({{"a", "x", {1'010'000}},
                                {"b", "x", {1'000'000}},
                                {"c", "x", {1'010'100}},
                                {"a", "y", {2'000'000}},
                                {"b", "y", {3'000'000}},
                                {"b", "x", {700'000'000}, 2}});
  compare.mark_best();
  EXPECT_NE(compare.to_string().find("  a  |    1.0*  |  2.0*\n"), std::string::npos) << compare.to_string();
  EXPECT_NE(compare.to_string().find("  b  |    1.0*  |  3.0\n"), std::string::npos);
  EXPECT_NE(compare.to_string().find("  c  |    1.0   |\n"), std::string::npos) << "1.01 % more is not the best";
  EXPECT_NE(compare.to_string().find("  b  |  700.0*  |\n"), std::string::npos) << "alone with its thread count";
  compare.mark_best(CompareWithin::kRow);
  EXPECT_NE(compare.to_string().find("  a  |    1.0*  |  2.0\n"), std::string::npos);
  EXPECT_NE(compare.to_string().find("* the best of its row, or within 1 % of it.\n"), std::string::npos);
}

TEST(Compare, HighlightsWarningsAndTellsWhatTheyMean) {
  Compare compare = compare_of({{"quiet", "x", {100'000, 100'000, 100'000, 100'000, 100'000}},
                                {"noisy", "x", {60'000, 80'000, 100'000, 119'000, 300'000}},
                                {"spoiled", "x", {100'000}, 1, "", {"The clock is the host's."}},
                                {"spoiled", "y", {100'000}, 1, "", {"The clock is the host's."}}});
  const std::string without = compare.to_string();
  EXPECT_EQ(without.find('!'), std::string::npos);
  compare.highlight_warnings();
  EXPECT_EQ(compare.to_string(),
            R"([----------------- sort -----------------]
           |        x         |      y
1 thread: --------------------------------
  quiet    |  100.0           |
  noisy    |  100.0 (! 39 %)  |
  spoiled  |  100.0 (!)       |  100.0 (!)

Times are in microseconds (us).
(! XX %) the IQR is XX % of the median: the time fluctuates.
(!) has a warning:
  WARNING: The clock is the host's.
)");
}

TEST(Compare, ColoursFollowTheDistanceToTheBest) {
  Compare compare =
      compare_of({{"a", "x", {100}}, {"b", "x", {110}}, {"c", "x", {150}}, {"d", "x", {200}}, {"e", "x", {500}}});
  compare.colorize();
  const std::string text = compare.to_string();
  EXPECT_NE(text.find("a  |  \033[1;92m100.0\033[0m\n"), std::string::npos);
  EXPECT_NE(text.find("b  |  \033[1;34m110.0\033[0m\n"), std::string::npos);
  EXPECT_NE(text.find("c  |  150.0\n"), std::string::npos);
  EXPECT_NE(text.find("d  |  \033[2;91m200.0\033[0m\n"), std::string::npos);
  EXPECT_NE(text.find("e  |  \033[1;31m500.0\033[0m\n"), std::string::npos);
  compare.colorize(CompareWithin::kRow);
  EXPECT_NE(compare.to_string().find("e  |  \033[1;92m500.0"), std::string::npos) << "alone in its row";
}

TEST(Compare, EnvironmentsAreNamedWhereThereIsMoreThanOne) {
  EXPECT_EQ(compare_of({{"a", "x", {100}, 1, "main"},
                        {"b", "x", {200}, 1, "main"},
                        {"a", "x", {90}, 1, "branch"},
                        {"a", "x", {80}, 1, ""},
                        {"b", "x", {210}, 1, "branch"}})
                .to_string(),
            R"([--------- sort ----------]
                   |    x
1 thread: -----------------
  (unspecified) a  |   80.0
  (branch)      a  |   90.0
                b  |  210.0
  (main)        a  |  100.0
                b  |  200.0

Times are in nanoseconds (ns).
)");
}

TEST(Compare, OneTableALabelAndRepetitionsMerged) {
  std::vector<Cell> cells = {{"a", "x", {100}}, {"a", "x", {300}}, {"a", "x", {200}}, {"a", "x", {7}}};
  cells.back().label = "scan";
  EXPECT_EQ(compare_of(cells).to_string(),
            R"([-- sort ---]
     |    x
1 thread: ---
  a  |  200.0

Times are in nanoseconds (ns).

[- scan --]
     |   x
1 thread: -
  a  |  7.0

Times are in nanoseconds (ns).
)");
}

TEST(Compare, TasksOfOneCellHaveARowEach) {
  EXPECT_EQ(compare_of({{"a", "x", {100}, 1, "", {}, "warm"}, {"a", "x", {900}, 1, "", {}, "cold"}}).to_string(),
            R"([-- sort ---]
     |    x
1 thread: ---
  a  |  100.0
  a  |  900.0

Times are in nanoseconds (ns).
)");
}

TEST(Compare, NamesWithoutANameAndWithLineEnds) {
  Cell bare{"", "", {100}, 0};
  bare.label = "";
  EXPECT_EQ(compare_of({bare}).to_string(),
            R"([-------------------]
             |  time
threads as they were:
  [unknown]  |  100.0

Times are in nanoseconds (ns).
)");
  const std::string text = compare_of({{"two\nlines\x1b[31m", "é", {100}}}).to_string();
  EXPECT_NE(text.find("  two lines [31m  |  100.0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("                  |    é\n"), std::string::npos) << "é is one column wide";
}

TEST(CompareTable, Figures) {
  EXPECT_DOUBLE_EQ(round_to_figures(31.4159, 2), 31);
  EXPECT_DOUBLE_EQ(round_to_figures(1234, 2), 1200);
  EXPECT_DOUBLE_EQ(round_to_figures(0.0456, 1), 0.05);
  EXPECT_DOUBLE_EQ(round_to_figures(1000, 1), 1000);
  EXPECT_DOUBLE_EQ(round_to_figures(0, 3), 0);
  EXPECT_EQ(digits_before_point(0.2), 1);
  EXPECT_EQ(digits_before_point(1), 1);
  EXPECT_EQ(digits_before_point(9.99), 1);
  EXPECT_EQ(digits_before_point(10), 2);
  EXPECT_EQ(digits_before_point(100), 3);
}

}  // namespace
}  // namespace stepscope
