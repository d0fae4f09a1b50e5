// The names are those of libkineto's ActivityType table (2021 to 2026), of the capitalised files before it, and
// of the accelerators that copy them: xpu_runtime, mtia_runtime, privateuse1_driver and the like end alike.
#include "import/chrome_json/category.h"

#include "import/chrome_json/key_table.h"

namespace stepscope::chrome_json {
namespace {

using Name = std::pair<std::string_view, Category>;
constexpr KeyTable<Category, 128> kNames(
    std::array{
        Name{"cpu_op", Category::kOp},
        Name{"kernel", Category::kKernel},
        Name{"cuda_runtime", Category::kCall},
        Name{"cuda_driver", Category::kCall},
        Name{"cpu_instant_event", Category::kMemory},
        Name{"python_function", Category::kFrame},
        Name{"gpu_memset", Category::kSet},
        Name{"gpu_memcpy", Category::kCopy},
        Name{"user_annotation", Category::kSpan},
        Name{"gpu_user_annotation", Category::kGpuSpan},
        Name{"cuda_sync", Category::kGpuSpan},
        Name{"cuda_event", Category::kGpuSpan},
        Name{"overhead", Category::kKnownOther},
        Name{"Trace", Category::kKnownOther},
        Name{"Operator", Category::kOp},
        Name{"Kernel", Category::kKernel},
        Name{"Memcpy", Category::kCopy},
        Name{"Memset", Category::kSet},
        Name{"Runtime", Category::kCall},
        Name{"Driver", Category::kCall},
        Name{"User Annotation", Category::kSpan},
        Name{"PythonFunction", Category::kFrame},
        Name{"hpu_op", Category::kOp},
        Name{"xpu_kernel", Category::kKernel},
        Name{"mtia_kernel", Category::kKernel},
        Name{"concurrent_kernel", Category::kKernel},
        Name{"collective_comm", Category::kKnownOther},
        Name{"external_correlation", Category::kKnownOther},
        Name{"cuda_profiler_range", Category::kKnownOther},
        Name{"Overhead", Category::kKnownOther},
    },
    Category::kUnknown);

}  // namespace

Category category_of(std::string_view text) {
  if (text.empty()) return Category::kNone;
  const Category known = kNames.find(text);
  if (known != Category::kUnknown) return known;
  return text.ends_with("_runtime") || text.ends_with("_driver") ? Category::kCall : Category::kUnknown;
}

}  // namespace stepscope::chrome_json
