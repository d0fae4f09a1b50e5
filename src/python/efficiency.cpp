// FLOPs utilization by the library's own formulas, so that Python, C++ and the command give one number.
#include "stepscope/efficiency.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "python/bindings.h"
#include "python/errors.h"

namespace nb = nanobind;

namespace stepscope::python {
namespace {

double value_or_raise(const Result<double>& result) {
  if (!result) raise(result.error());
  return *result;
}

}  // namespace

void bind_efficiency(nb::module_& m) {
  m.def(
      "mfu",
      [](double params, double layers, double d_model, double context, double tokens_per_step, double step_s,
         double gpus, double peak_flops) {
        return value_or_raise(mfu(params, layers, d_model, context, tokens_per_step, step_s, gpus, peak_flops));
      },
      nb::arg("params"), nb::arg("layers"), nb::arg("d_model"), nb::arg("context"), nb::arg("tokens_per_step"),
      nb::arg("step_s"), nb::arg("gpus"), nb::arg("peak_flops"));
  m.def(
      "hfu",
      [](double params, double layers, double d_model, double context, double tokens_per_step, double step_s,
         double gpus, double peak_flops, double recomputed_flops) {
        return value_or_raise(
            hfu(params, layers, d_model, context, tokens_per_step, step_s, gpus, peak_flops, recomputed_flops));
      },
      nb::arg("params"), nb::arg("layers"), nb::arg("d_model"), nb::arg("context"), nb::arg("tokens_per_step"),
      nb::arg("step_s"), nb::arg("gpus"), nb::arg("peak_flops"), nb::arg("recomputed_flops"));
  m.def(
      "peak_flops",
      [](std::string_view device_name, std::string_view dtype) -> std::optional<double> {
        const auto peak = find_device_peak(device_name, dtype);
        return peak ? std::optional(peak->flops_per_s) : std::nullopt;
      },
      nb::arg("device_name"), nb::arg("dtype"));
  m.def(
      "similar_devices",
      [](std::string_view text) {
        const auto names = find_similar_devices(text);
        return std::vector<std::string>(names.begin(), names.end());
      },
      nb::arg("text"));
  m.def(
      "known_dtypes",
      [](std::string_view device_name) {
        std::vector<std::string> dtypes;
        for (const DevicePeak& peak : device_peaks()) {
          if (peak.device_name == device_name) dtypes.emplace_back(peak.dtype);
        }
        return dtypes;
      },
      nb::arg("device_name"));
}

}  // namespace stepscope::python
