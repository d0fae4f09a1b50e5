// Interning: equal texts one id, views that stay good, and ids that fragments can renumber.
#include "base/string_pool.h"

#include <gtest/gtest.h>

#include <string>

#include "base/parallel.h"
#include "base/result.h"

namespace stepscope {
namespace {

TEST(StringPool, EqualTextsGetOneId) {
  StringPool pool;
  const StringId mm = pool.intern("aten::mm");
  EXPECT_EQ(pool.intern(std::string("aten::") + "mm"), mm);
  EXPECT_NE(pool.intern("aten::add"), mm);
  EXPECT_EQ(pool.view(mm), "aten::mm");
  EXPECT_EQ(pool.find("aten::mm"), mm);
  EXPECT_TRUE(pool.find("never seen").empty());
  EXPECT_EQ(pool.view({}), "");
  EXPECT_TRUE(pool.intern("").empty());
}

TEST(StringPool, ViewsStayGoodWhileItGrows) {
  StringPool pool;
  const std::string_view first = pool.view(pool.intern("first"));
  const std::string huge(1 << 20, 'x');
  EXPECT_EQ(pool.view(pool.intern(huge)), huge);
  for (int i = 0; i < 50'000; ++i) pool.intern("name" + std::to_string(i));
  EXPECT_EQ(first, "first");
  EXPECT_EQ(pool.view(pool.find("name49999")), "name49999");
  EXPECT_EQ(pool.size(), 50'003U);
}

TEST(Parallel, EachPieceRunsOnce) {
  std::vector<int> ran(1000, 0);
  parallel_for(ran.size(), 4, [&](std::size_t i) { ++ran[i]; });
  EXPECT_EQ(ran, std::vector<int>(1000, 1));
  parallel_for(0, 4, [](std::size_t) { FAIL(); });
}

TEST(Result, ErrorNamesFileAndPlace) {
  const Error error{ErrorCode::kDamaged, "no events", "a.json", 12};
  EXPECT_EQ(error.to_string(), "a.json: no events (at byte 12)");
  const Result<int> failed = error;
  EXPECT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::kDamaged);
  EXPECT_EQ(Result<int>(3).value(), 3);
}

}  // namespace
}  // namespace stepscope
