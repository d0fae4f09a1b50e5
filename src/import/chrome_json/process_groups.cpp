// torch.profiler writes `pg_config` as a list of objects with lists of ranks; Kineto, where it writes the list by
// itself (a recording on demand), copies the text of the last collective's argument, so ranks are a string there and
// may be cut ("[0, 1, ..., 63]"). Programs that put the list in by add_metadata_json often make it a string as a whole.
// torch up to 2.3 called the size group_size, and wrote [] for the ranks of a group that has all.
//
// A list that is cut is unknown and no damage. What contradicts itself is worse than unknown: ranks decide whose
// recordings meet, so an entry whose size is not the number of its ranks keeps neither.
#include "import/chrome_json/process_groups.h"

#include <optional>
#include <string>
#include <utility>

#include "import/chrome_json/event_reader.h"
#include "import/chrome_json/header.h"
#include "import/chrome_json/row_writer.h"
#include "trace/group_ranks.h"

namespace stepscope::chrome_json {
namespace {

// A program has tens of groups, a large one hundreds. Each takes a communicator's memory on the GPU.
constexpr std::size_t kMostProcessGroups = 65'536;

bool is_null(Token token) { return token.kind == TokenKind::kWord && token.text() == "null"; }

class GroupReader {
 public:
  GroupReader(std::vector<ProcessGroup>& groups, Notes& notes) : groups_(groups), notes_(notes) {}

  void take_list(std::string_view list) {
    const bool is_sound = for_each_element(list, [&](Token element) { take_group(element); });
    if (!is_sound) refuse("the list of process groups is no sound list", list);
  }

  void refuse(const std::string& what, std::string_view text) {
    notes_.add(NoteKind::kBadProcessGroup, NoteSeverity::kRecovered, 0, what + ": " + std::string(text.substr(0, 80)));
  }

 private:
  void take_group(Token element) {
    if (element.kind != TokenKind::kContainer || element.text()[0] != '{') {
      return refuse("a process group that is no object", element.text());
    }
    if (groups_.size() == kMostProcessGroups) return refuse("more process groups than can be", element.text());
    ProcessGroup group;
    const bool is_sound = for_each_member(
        element.text(), [&](std::string_view key, Token value) { take_member(key, value, group, element); });
    if (group.name.empty() || !is_sound) return refuse("a process group that cannot be read", element.text());
    const auto count = static_cast<std::int64_t>(group.ranks.size());
    if (group.size && count > 0 && *group.size != count) {
      refuse("a process group whose size is not the number of its ranks", element.text());
      group.size.reset();
      group.ranks.clear();
    }
    groups_.push_back(std::move(group));
  }

  void take_member(std::string_view key, Token value, ProcessGroup& group, Token element) {
    if (is_null(value)) return;
    if (key == "pg_name" || key == "name")
      group.name = text_of(value);
    else if (key == "pg_desc")
      group.description = text_of(value);
    else if (key == "backend_config")
      group.backend = text_of(value);
    else if (key == "pg_size" || key == "group_size")
      take_size(value, group, element);
    else if (key == "ranks")
      take_ranks(value, group, element);
  }

  void take_size(Token value, ProcessGroup& group, Token element) {
    const MaybeInt size = integer_of(value);
    if (size.value_or(0) <= 0) return refuse("a process group of an impossible size", element.text());
    group.size = size.value();
  }

  void take_ranks(Token value, ProcessGroup& group, Token element) {
    const std::string text = value.kind == TokenKind::kContainer ? std::string(value.text()) : text_of(value);
    group.ranks = read_group_ranks(text);
    const bool is_cut = text.find("...") != std::string::npos;
    const bool is_list_of_none = text.find_first_not_of("[] \t\r\n") == std::string::npos;
    if (group.ranks.empty() && !is_cut && !is_list_of_none) {
      refuse("a process group whose ranks are no list of ranks", element.text());
    }
  }

  std::vector<ProcessGroup>& groups_;
  Notes& notes_;
};

}  // namespace

void take_process_groups(Token value, std::vector<ProcessGroup>& groups, Notes& notes) {
  groups.clear();
  GroupReader reader(groups, notes);
  if (value.kind == TokenKind::kContainer) return reader.take_list(value.text());
  if (is_null(value)) return;
  if (!value.is_string()) return reader.refuse("the list of process groups is no list", value.text());
  // The readers look behind the end of what they read.
  constexpr std::size_t kPaddingBytes = 64;
  std::string text = text_of(value);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return;
  const std::size_t size = text.find_last_not_of(" \t\r\n") + 1 - begin;
  text.append(kPaddingBytes, '\0');
  reader.take_list(std::string_view(text).substr(begin, size));
}

}  // namespace stepscope::chrome_json
