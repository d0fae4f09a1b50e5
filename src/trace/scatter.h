// Moves rows of one table from many fragments to their sorted place in one final table.
//
// A row's new place is found in two steps: rows are dealt into buckets (thread or device) in the order of the
// file, which is nearly sorted inside each bucket; only buckets that are not sorted are sorted. Then each column
// is written once, straight from the fragments, and the fragment's column freed. Sorting whole rows was rejected:
// it would move 80 bytes a row log n times.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "trace/builder.h"

namespace stepscope {

// Local ids of a fragment -> ids of the trace.
struct Renumbering {
  std::vector<StringId> strings;
  std::vector<ProcessId> processes;
  std::vector<ThreadId> threads;
  std::vector<DeviceId> devices;
  std::vector<StreamId> streams;
  std::uint32_t collective_base = 0;

  template <class T>
  T operator()(T value) const {
    if constexpr (std::is_same_v<T, StringId>) {
      return strings[value.value];
    } else if constexpr (std::is_same_v<T, ProcessId>) {
      return value.has_value() ? processes[value.value] : value;
    } else if constexpr (std::is_same_v<T, ThreadId>) {
      return value.has_value() ? threads[value.value] : value;
    } else if constexpr (std::is_same_v<T, DeviceId>) {
      return value.has_value() ? devices[value.value] : value;
    } else if constexpr (std::is_same_v<T, StreamId>) {
      return value.has_value() ? streams[value.value] : value;
    } else if constexpr (std::is_same_v<T, CollectiveId>) {
      return value.has_value() ? CollectiveId(value.value + collective_base) : value;
    } else {
      return value;
    }
  }
};

// Called with the bytes just freed in the fragments: gives whole free pages back to the system now and then. The
// fragments' columns are small pieces of the heap, which the C library would otherwise keep, and the trace would stand
// in memory twice while it is scattered (measured: 481 MB against 290 MB at the end of a 1 GB import).
void return_free_memory(std::size_t freed_bytes);

struct Piece {
  Fragment fragment;
  Renumbering renumber;
};

// Where each row goes: places[i] is the final row of the i-th row in the order of the file. bucket_begin has one
// more entry than there are buckets.
struct Placement {
  std::vector<std::uint32_t> places;
  std::vector<std::uint32_t> bucket_begin;
};

// Sort keys of one row inside its bucket.
struct SortKey {
  TimeNs first = 0;
  TimeNs second = 0;
  bool operator<(const SortKey& other) const {
    return first != other.first ? first < other.first : second < other.second;
  }
};

// bucket(renumbering, table, id) -> std::size_t; key(table, id) -> SortKey.
template <class Table, class Bucket, class Key>
Placement place_rows(const std::vector<Piece>& pieces, Table Fragment::*table, std::size_t buckets, Bucket bucket,
                     Key key) {
  Placement result;
  result.bucket_begin.assign(buckets + 1, 0);
  std::size_t rows = 0;
  for (const Piece& piece : pieces) {
    const Table& source = piece.fragment.*table;
    rows += source.size();
    for (auto id : source.ids().ids()) ++result.bucket_begin[bucket(piece.renumber, source, id) + 1];
  }
  std::partial_sum(result.bucket_begin.begin(), result.bucket_begin.end(), result.bucket_begin.begin());

  std::vector<std::uint32_t> next(result.bucket_begin.begin(), result.bucket_begin.end() - 1);
  std::vector<SortKey> keys(rows);
  result.places.reserve(rows);
  for (const Piece& piece : pieces) {
    const Table& source = piece.fragment.*table;
    for (auto id : source.ids().ids()) {
      const std::uint32_t at = next[bucket(piece.renumber, source, id)]++;
      keys[at] = key(source, id);
      result.places.push_back(at);
    }
  }

  std::vector<std::uint32_t> moved;  // dealt place -> sorted place, made only when a bucket is out of order
  std::vector<std::uint32_t> order;
  for (std::size_t b = 0; b < buckets; ++b) {
    const auto begin = keys.begin() + result.bucket_begin[b];
    const auto end = keys.begin() + result.bucket_begin[b + 1];
    if (std::is_sorted(begin, end)) continue;
    if (moved.empty()) {
      moved.resize(rows);
      std::iota(moved.begin(), moved.end(), 0U);
    }
    order.resize(static_cast<std::size_t>(end - begin));
    std::iota(order.begin(), order.end(), result.bucket_begin[b]);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t x, std::uint32_t y) { return keys[x] < keys[y]; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      moved[order[i]] = result.bucket_begin[b] + static_cast<std::uint32_t>(i);
    }
  }
  if (!moved.empty()) {
    for (std::uint32_t& place : result.places) place = moved[place];
  }
  return result;
}

// Appends one job for each column of the table: write the column to `target` by `placement` (nullptr: in the order of
// the file) and free it in the fragments. `placement` must outlive the jobs.
template <class Table>
void add_scatter_jobs(std::vector<Piece>& pieces, Table Fragment::*table, Table& target, const Placement* placement,
                      std::vector<std::function<void()>>& jobs) {
  std::size_t rows = 0;
  for (const Piece& piece : pieces) rows += (piece.fragment.*table).size();
  if (rows == 0) return;
  Table::for_each_member([&](auto member) {
    jobs.push_back([&pieces, table, &target, placement, member, rows] {
      auto& out = (target.*member).raw();
      out.resize(rows);
      std::size_t at = 0;
      for (Piece& piece : pieces) {
        auto& in = ((piece.fragment.*table).*member).raw();
        if (placement == nullptr) {
          for (const auto& value : in) out[at++] = piece.renumber(value);
        } else {
          for (const auto& value : in) out[placement->places[at++]] = piece.renumber(value);
        }
        std::remove_reference_t<decltype(in)>().swap(in);
      }
      return_free_memory(rows * sizeof(typename std::remove_reference_t<decltype(out)>::value_type));
    });
  });
}

}  // namespace stepscope
