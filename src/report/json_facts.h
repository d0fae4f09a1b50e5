// The parts of the JSON document that state facts; json.cpp puts them together.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "report/report.h"

namespace stepscope {

using Json = nlohmann::ordered_json;

template <class T>
[[nodiscard]] Json json_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

[[nodiscard]] inline Json json_or_null(MaybeInt value) {
  return value.has_value() ? Json(value.value()) : Json(nullptr);
}

[[nodiscard]] Json estimate_json(const Estimate& estimate);
[[nodiscard]] Json interval_json(Interval interval);

[[nodiscard]] Json source_json(const Report& report);
[[nodiscard]] Json asked_json(const Asked& asked);
[[nodiscard]] Json found_json(const Report& report);
[[nodiscard]] Json disturbed_json(const std::vector<DisturbedStep>& steps);
[[nodiscard]] Json missing_json(const std::vector<MissingSteps>& missing);
[[nodiscard]] Json steps_json(const Report& report);
[[nodiscard]] Json devices_json(const Report& report);
[[nodiscard]] Json synchronizations_json(const Report& report);
[[nodiscard]] Json launches_json(const Launches& launches);
[[nodiscard]] Json ledger_json(const Ledger& ledger);
[[nodiscard]] Json notes_json(const std::vector<Note>& notes);
[[nodiscard]] Json efficiency_json(const Report& report);
[[nodiscard]] Json memory_json(const MemoryLevels& memory);
[[nodiscard]] Json what_if_json(const WhatIfs& what_ifs);
[[nodiscard]] Json tables_json(const Tables& tables);

}  // namespace stepscope
