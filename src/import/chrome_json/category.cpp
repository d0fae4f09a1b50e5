// The names are those of libkineto's ActivityType table (2021 to 2026), of the capitalised files before it, and
// of the accelerators that copy them: xpu_runtime, mtia_runtime, privateuse1_driver and the like end alike.
#include "import/chrome_json/category.h"

#include <array>
#include <utility>

namespace stepscope::chrome_json {
namespace {

constexpr std::array<std::pair<std::string_view, Category>, 30> kNames = {{
    {"cpu_op", Category::kOp},
    {"kernel", Category::kKernel},
    {"cuda_runtime", Category::kCall},
    {"cuda_driver", Category::kCall},
    {"cpu_instant_event", Category::kMemory},
    {"python_function", Category::kFrame},
    {"gpu_memset", Category::kSet},
    {"gpu_memcpy", Category::kCopy},
    {"user_annotation", Category::kSpan},
    {"gpu_user_annotation", Category::kGpuSpan},
    {"cuda_sync", Category::kGpuSpan},
    {"cuda_event", Category::kGpuSpan},
    {"overhead", Category::kKnownOther},
    {"Trace", Category::kKnownOther},
    {"Operator", Category::kOp},
    {"Kernel", Category::kKernel},
    {"Memcpy", Category::kCopy},
    {"Memset", Category::kSet},
    {"Runtime", Category::kCall},
    {"Driver", Category::kCall},
    {"User Annotation", Category::kSpan},
    {"PythonFunction", Category::kFrame},
    {"hpu_op", Category::kOp},
    {"xpu_kernel", Category::kKernel},
    {"mtia_kernel", Category::kKernel},
    {"concurrent_kernel", Category::kKernel},
    {"collective_comm", Category::kKnownOther},
    {"external_correlation", Category::kKnownOther},
    {"cuda_profiler_range", Category::kKnownOther},
    {"Overhead", Category::kKnownOther},
}};

}  // namespace

Category category_of(std::string_view text) {
  if (text.empty()) return Category::kNone;
  for (const auto& [name, category] : kNames) {
    if (name == text) return category;
  }
  if (text.ends_with("_runtime") || text.ends_with("_driver")) return Category::kCall;
  return Category::kUnknown;
}

}  // namespace stepscope::chrome_json
