// A value for each distinct (name, shapes, concrete inputs) of operators: millions of calls, hundreds of values.
#pragma once

#include <tsl/robin_map.h>

#include "trace/trace.h"

namespace stepscope {

template <class Value>
class OperatorMemo {
 public:
  // compute(name, shapes, concrete inputs as text) -> Value, called once for each distinct triple.
  template <class Compute>
  const Value& find(const Trace& trace, OpId op, Compute&& compute) {
    const Key key{trace.ops.name[op].value, trace.ops.shapes[op].value, trace.ops.concrete_inputs[op].value};
    if (has_last_ && key == last_key_) return values_[last_];
    const auto [at, is_new] = index_.try_emplace(key, static_cast<std::uint32_t>(values_.size()));
    if (is_new) {
      values_.push_back(compute(trace.text(trace.ops.name[op]), trace.text(trace.ops.shapes[op]),
                                trace.text(trace.ops.concrete_inputs[op])));
    }
    last_key_ = key;
    last_ = at->second;
    has_last_ = true;
    return values_[last_];
  }

 private:
  struct Key {
    std::uint32_t name = 0, shapes = 0, concrete = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      std::uint64_t mixed = (std::uint64_t{key.name} << 32 | key.shapes) * 0x9E3779B97F4A7C15ULL;
      mixed ^= (mixed >> 29) + key.concrete * 0xBF58476D1CE4E5B9ULL;
      return mixed * 0x94D049BB133111EBULL >> 7;
    }
  };
  tsl::robin_map<Key, std::uint32_t, Hash> index_;
  std::vector<Value> values_;
  Key last_key_;
  std::uint32_t last_ = 0;
  bool has_last_ = false;
};

}  // namespace stepscope
