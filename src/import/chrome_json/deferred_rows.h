// Events that need another one to become rows: B with its E, b with its e, and events without a category with
// the name of their process.
//
// They are handled in the order of the file, by one thread: PyTorch writes none of them in numbers. Only
// those that still wait are kept, as text.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/chrome_json/row_writer.h"

namespace stepscope::chrome_json {

class DeferredRows {
 public:
  // The names of a block come before its events, wherever they stand in it.
  void add_names(const std::vector<PlaceName>& names);
  void add(const DeferredEvents& events);
  // All that still waits is given up or taken as it is. Returns the rows.
  BlockRows finish();

 private:
  struct Waiting {
    std::string text;  // padded
    std::uint64_t file_order = 0;
  };
  using Stacks = std::unordered_map<std::string, std::vector<Waiting>>;

  void add_event(const Event& event, std::uint64_t file_order);
  void begin(Stacks& stacks, const std::string& key, const Event& event, std::uint64_t file_order);
  void end(Stacks& stacks, const std::string& key, const Event& event, std::uint64_t file_order, bool is_async);
  void keep(std::vector<Waiting>& waiting, const Event& event, std::uint64_t file_order);
  void note_unmatched(std::uint64_t file_order);
  void give_up(Stacks& stacks);
  // False if it has to wait for the name of its process, or of its row of a device, and more names may come.
  bool write_without_category(const Event& event, std::uint64_t file_order, bool more_names);

  BlockRows rows_;
  RowWriter writer_{rows_};
  std::unordered_map<std::string, std::string> process_names_;
  std::map<std::pair<std::string, std::string>, std::string> thread_names_;
  Stacks open_, open_async_;
  std::vector<Waiting> unnamed_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace stepscope::chrome_json
