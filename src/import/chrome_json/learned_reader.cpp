// The tree of texts. It stops growing at a few hundred nodes: PyTorch's files need about 150.
#include "import/chrome_json/learned_reader.h"

#include <cstring>

#include "import/chrome_json/scan.h"

namespace stepscope::chrome_json {
namespace {

constexpr std::size_t kMostNodes = 512;
// Texts tried behind one value. More of them than this means that the file has no layout to learn.
constexpr int kMostSiblings = 8;

// Both sides have kLongestText readable bytes.
inline bool equal(const char* a, const char* b, std::size_t size) {
#if defined(__SSE2__)
  std::size_t done = 0;
  do {
    const __m128i left = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + done));
    const __m128i right = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + done));
    const auto differ = ~static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(left, right))) & 0xFFFFU;
    if (size - done < 16) return (differ & ((1U << (size - done)) - 1)) == 0;
    if (differ != 0) return false;
    done += 16;
  } while (done < size);
  return true;
#else
  return std::memcmp(a, b, size) == 0;
#endif
}

}  // namespace

inline bool LearnedReader::matches(const Node& node, const char* at) {
  if (!equal(at, node.text.data(), node.size)) return false;
  // Where the arguments are no object, the text ends before their value; an object has to be walked.
  return node.field != Field::kArgs || at[node.size] != '{';
}

std::uint32_t LearnedReader::find_child(Node& parent, const char* at) const {
  if (parent.last_child != kNone && matches(nodes_[parent.last_child], at)) return parent.last_child;
  for (std::uint32_t child = parent.first_child; child != kNone; child = nodes_[child].sibling) {
    if (!matches(nodes_[child], at)) continue;
    parent.last_child = child;
    return child;
  }
  return kNone;
}

const char* LearnedReader::follow(const char* at, const char* end, Event& event, Remarks& remarks) {
  event.clear();
  event.begin = at;
  std::uint32_t parent = 0;
  const char* args_begin = nullptr;
  for (;;) {
    const std::uint32_t child = find_child(nodes_[parent], at);
    if (child == kNone) return nullptr;
    const Node& node = nodes_[child];
    if (node.args_begin != kNowhere) args_begin = at + node.args_begin;
    if (node.args_end != kNowhere) {
      const char* const args_end = at + node.args_end;
      event.fields.slot(Field::kArgs) = {args_begin, static_cast<std::uint32_t>(args_end - args_begin),
                                         TokenKind::kContainer};
    }
    at += node.size;
    if (node.is_end) return event.end = at <= end ? at : nullptr;
    Token& token = node.in_args ? event.args.slot(node.arg) : event.fields.slot(node.field);
    at = read_value(at, end, token, remarks);
    if (at == nullptr) return nullptr;
    parent = child;
  }
}

const char* LearnedReader::read(const char* at, const char* end, Event& event, Remarks& remarks) {
  const Remarks before = remarks;
  if (const char* const behind = follow(at, end, event, remarks); behind != nullptr) return behind;
  remarks = before;
  const char* const behind = read_event(at, end, event, remarks);
  if (behind != nullptr && nodes_.size() < kMostNodes) learn(at, behind);
  return behind;
}

std::uint32_t LearnedReader::add_child(std::uint32_t parent, const Node& node) {
  int siblings = 0;
  for (std::uint32_t child = nodes_[parent].first_child; child != kNone; child = nodes_[child].sibling) {
    if (nodes_[child].size == node.size && nodes_[child].text == node.text) return child;
    if (++siblings == kMostSiblings) return kNone;
  }
  const auto added = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(node);
  nodes_[added].sibling = nodes_[parent].first_child;
  nodes_[parent].first_child = added;
  return added;
}

// Walks a sound event once more and keeps the texts between its values.
void LearnedReader::learn(const char* at, const char* end) {
  std::uint32_t parent = 0;
  bool in_args = false;
  Remarks ignored;
  while (nodes_.size() < kMostNodes) {
    Node node;
    const char* const begin = at;
    auto place = [&](const char* where) {
      return where - begin < kNowhere ? static_cast<std::uint8_t>(where - begin) : kNowhere;
    };
    const char* value = nullptr;
    if (at == nullptr) return;
    if (parent == 0) at = skip_space(at + 1);  // behind the event's `{`
    while (value == nullptr && !node.is_end) {
      at = skip_space(at);
      if (*at == '}') {
        ++at;
        node.is_end = !in_args;
        if (in_args) node.args_end = place(at);
        in_args = false;
        continue;
      }
      if (*at == ',') at = skip_space(at + 1);
      std::string_view key;
      at = read_key(at, end, key, ignored.met_end);
      if (at == nullptr) return;
      node.field = in_args ? Field::kCount : field_of(key);
      node.arg = in_args ? arg_of(key) : Arg::kCount;
      if (!in_args && node.field == Field::kArgs && *at == '{') {
        if (node.args_begin != kNowhere) return;
        node.args_begin = place(at);
        in_args = true;
        ++at;
      } else {
        value = at;
      }
    }
    if (at - begin > static_cast<std::ptrdiff_t>(kLongestText)) return;
    node.in_args = in_args;
    node.size = static_cast<std::uint8_t>(at - begin);
    std::memcpy(node.text.data(), begin, node.size);
    parent = add_child(parent, node);
    if (parent == kNone || node.is_end) return;
    Token token;
    at = read_value(value, end, token, ignored);
  }
}

}  // namespace stepscope::chrome_json
