// Memory whose layout is being found out is read by process_vm_readv on ourselves, which fails where a pointer is
// none. Where the kernel forbids that call (some containers), shapes are not available.
//
// The records of the first proof are constructed by PyTorch in a buffer of ours, far larger than the 336 bytes that
// they take in 2.13, so no operator has to run to see that names arrive. Their sequence numbers are words that occur
// nowhere else.
#include "agent/torch_layout.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <vector>

namespace stepscope::agent {
namespace {

using Word = std::uint64_t;
constexpr std::size_t kRecordWords = 512;  // of the buffer
constexpr std::size_t kSeenWords = 64;     // of a record that is not ours: 512 bytes, on the stack of its maker
constexpr std::array kScopes = {TorchScope::kFunction, TorchScope::kBackward, TorchScope::kUser};
constexpr std::array<Word, 3> kSequences = {0x51E95C0BE0000001, 0x51E95C0BE0070002, 0x51E95C0BE0900004};
constexpr std::array<std::string_view, 3> kNames = {"stepscope::probe_function", "stepscope::probe_backward",
                                                    "stepscope probe of a span"};

bool read_safely(const void* from, void* to, std::size_t bytes) {
  iovec local{to, bytes};
  iovec remote{const_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}
bool read_safely(Word address, void* to, std::size_t bytes) {
  return read_safely(reinterpret_cast<const void*>(address), to, bytes);
}

// What the callbacks saw, of the calling thread's own proof.
struct Seen {
  const TorchLibrary* torch = nullptr;
  int start_count = 0;
  int end_count = 0;
  bool is_sound = true;
  TorchScope expected_scope = TorchScope::kFunction;
  std::string_view expected_name;
  std::vector<Word> words;  // of the record, in the start callback
  // Looks closer while the operator's inputs are there.
  void (*look)(const TorchRecord&, void*) = nullptr;
  void* look_data = nullptr;
};
thread_local Seen* seen = nullptr;

bool is_expected(const TorchRecord& record, TorchScope scope) {
  if (seen == nullptr) return false;
  const char* const name = seen->torch->name(&record);
  return name != nullptr && name == seen->expected_name && scope == seen->expected_scope;
}

template <TorchScope kScope>
std::unique_ptr<TorchContext> probe_start(const TorchRecord& record) {
  if (seen == nullptr) return nullptr;
  if (!is_expected(record, kScope)) {
    seen->is_sound = seen->look != nullptr;  // an operator may call others
    return nullptr;
  }
  ++seen->start_count;
  if (seen->look != nullptr) {
    seen->look(record, seen->look_data);
  } else {
    seen->words.resize(kRecordWords);
    std::memcpy(seen->words.data(), &record, kRecordWords * sizeof(Word));  // our buffer
  }
  return nullptr;
}

template <TorchScope kScope>
void probe_end(const TorchRecord& record, TorchContext*) {
  if (is_expected(record, kScope)) ++seen->end_count;
}

template <TorchScope kScope>
TorchCallback probe_callback() {
  TorchCallback callback;
  callback.start = probe_start<kScope>;
  callback.end = probe_end<kScope>;
  callback.scopes[static_cast<std::size_t>(kScope)] = true;
  return callback;
}

// Registers callbacks for the life of the object, with record functions enabled on this thread.
class Registered {
 public:
  Registered(const TorchLibrary& torch, const std::vector<TorchCallback>& callbacks) : torch_(torch) {
    was_enabled_ = torch.is_enabled();
    if (!was_enabled_) torch.enable(true);
    for (const TorchCallback& callback : callbacks) handles_.push_back(torch.add(callback));
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() {
    for (const std::uint64_t handle : handles_) torch_.remove(handle);
    if (!was_enabled_) torch_.enable(false);
    seen = nullptr;
  }

 private:
  const TorchLibrary& torch_;
  bool was_enabled_ = true;
  std::vector<std::uint64_t> handles_;
};

// Offset of the only word for which `fits`; 0: none or several.
template <class Fits>
std::uint32_t find_only_word(std::size_t words_count, const Fits& fits) {
  std::size_t found = 0;
  for (std::size_t word = 1; word < words_count; ++word) {
    if (!fits(word)) continue;
    if (found != 0) return 0;
    found = word;
  }
  return static_cast<std::uint32_t>(found * sizeof(Word));
}

using Records = std::array<std::vector<Word>, kScopes.size()>;

// The number of the record (its handle) is one more in each. Between the inputs and it lie, in every release that has
// both, a map of 56 bytes, a vector of 24 and the forward thread: where the distances fit, the word before the handle
// is the forward thread, and it is 0 in a record that has none.
void find_record_fields(const Records& records, TorchLayout& layout) {
  layout.sequence = find_only_word(kRecordWords, [&](std::size_t at) {
    return records[0][at] == kSequences[0] && records[1][at] == kSequences[1] && records[2][at] == kSequences[2];
  });
  const std::uint32_t handle = find_only_word(kRecordWords, [&](std::size_t at) {
    return records[0][at] != 0 && records[1][at] == records[0][at] + 1 && records[2][at] == records[1][at] + 1;
  });
  if (layout.sequence == 0 || handle != layout.sequence + 8 + 16 + 56 + 24 + 8) return;
  const std::size_t forward = handle / sizeof(Word) - 1;
  if (records[0][forward] == 0 && records[1][forward] == 0 && records[2][forward] == 0) {
    layout.forward_thread = handle - 8;
  }
}

std::string prove_names(const TorchLibrary& torch, TorchLayout& layout) {
  Records records;
  std::vector<TorchCallback> callbacks = {probe_callback<TorchScope::kFunction>(),
                                          probe_callback<TorchScope::kBackward>(), probe_callback<TorchScope::kUser>()};
  for (TorchCallback& callback : callbacks) callback.needs_ids = true;
  const Registered registered(torch, callbacks);
  for (std::size_t i = 0; i < kScopes.size(); ++i) {
    alignas(64) std::array<Word, kRecordWords> buffer{};
    Seen now;
    now.torch = &torch;
    now.expected_scope = kScopes[i];
    now.expected_name = kNames[i];
    seen = &now;
    torch.construct(buffer.data(), static_cast<std::uint8_t>(kScopes[i]));
    torch.before(buffer.data(), kNames[i], static_cast<std::int64_t>(kSequences[i]));
    torch.destroy(buffer.data());
    seen = nullptr;
    if (now.start_count != 1 || now.end_count != 1 || !now.is_sound) {
      return "a range of a known name did not arrive as it should";
    }
    records[i] = std::move(now.words);
  }
  find_record_fields(records, layout);
  return {};
}

struct TensorCase {
  std::vector<std::int64_t> sizes, strides;
  std::int32_t dtype;
};
// c10::ScalarType: 3 int, 4 long, 6 float, 7 double. Broadcasts, so that a copy is allowed.
const std::array<TensorCase, 5>& tensor_cases() {
  static const auto* const cases = new std::array<TensorCase, 5>{{
      {{3, 5, 7}, {70, 14, 2}, 6},
      {{7}, {3}, 7},
      {{2, 3, 1, 4, 2, 5}, {120, 40, 40, 10, 5, 1}, 4},
      {{5}, {2}, 3},
      {{}, {}, 6},
  }};
  return *cases;
}

constexpr std::size_t kTensorBytes = 256;  // a TensorImpl has 192 to 208

struct Tensors {
  explicit Tensors(const TorchLibrary& torch) : torch_(torch) {}
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;
  ~Tensors() {
    for (void* tensor : all) torch_.destroy_tensor(tensor);
  }
  bool make(const TensorCase& wanted) {
    void* made = nullptr;
    const std::int32_t error = torch_.empty_strided(static_cast<std::int64_t>(wanted.sizes.size()), wanted.sizes.data(),
                                                    wanted.strides.data(), wanted.dtype, 0 /* CPU */, 0, &made);
    if (error != 0 || made == nullptr) return false;
    all.push_back(made);
    return true;
  }
  // The TensorImpl: a tensor's handle points at an at::Tensor, which holds one pointer.
  [[nodiscard]] Word body(std::size_t i) const {
    Word address = 0;
    read_safely(all[i], &address, sizeof address);
    return address;
  }
  std::vector<void*> all;

 private:
  const TorchLibrary& torch_;
};

bool has_sizes_at(const std::array<Word, kTensorBytes / 8>& body, std::size_t at, const TensorCase& wanted) {
  const std::size_t dims = wanted.sizes.size();
  if (body[at] != dims) return false;
  std::vector<std::int64_t> sizes(dims);
  std::vector<std::int64_t> strides(dims);
  if (dims <= 5) {
    std::memcpy(sizes.data(), &body[at + 1], dims * 8);
    std::memcpy(strides.data(), &body[at + 6], dims * 8);
  } else if (!read_safely(body[at + 1], sizes.data(), dims * 8) ||
             !read_safely(body[at + 1] + dims * 8, strides.data(), dims * 8)) {
    return false;
  }
  return sizes == wanted.sizes && strides == wanted.strides;
}

void find_tensor_fields(const Tensors& tensors, TorchLayout& layout) {
  const auto& cases = tensor_cases();
  std::array<std::array<Word, kTensorBytes / 8>, 5> bodies{};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!read_safely(tensors.body(i), bodies[i].data(), kTensorBytes)) return;
  }
  layout.tensor_sizes = find_only_word(kTensorBytes / 8 - 11, [&](std::size_t at) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!has_sizes_at(bodies[i], at, cases[i])) return false;
    }
    return true;
  });
  std::uint32_t found = 0;
  for (std::uint32_t at = 8; at + 2 <= kTensorBytes; at += 2) {
    bool fits = true;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      std::uint16_t value = 0;
      std::memcpy(&value, reinterpret_cast<const char*>(bodies[i].data()) + at, sizeof value);
      fits = fits && value == cases[i].dtype;
    }
    if (!fits) continue;
    if (found != 0) return;
    found = at;
  }
  layout.tensor_dtype = found;
}

struct Value {
  Word payload = 0;
  std::uint32_t tag = 0;
  std::uint32_t unused = 0;
};
static_assert(sizeof(Value) == 16);

// The inputs of a record, if exactly one pointer with this count is in it and leads somewhere.
std::optional<std::vector<Value>> find_inputs(const TorchRecord& record, std::size_t count, std::uint32_t& offset) {
  std::array<Word, kSeenWords> words{};
  if (!read_safely(&record, words.data(), sizeof words)) return {};
  std::vector<Value> values(count);
  offset = find_only_word(kSeenWords - 1, [&](std::size_t at) {
    std::vector<Value> tried(count);
    if (words[at + 1] != count || words[at] % 8 != 0) return false;
    if (!read_safely(words[at], tried.data(), count * sizeof(Value))) return false;
    values = tried;
    return true;
  });
  if (offset == 0) return {};
  return values;
}

struct CopyCase {
  TorchLayout* layout;
  Word to, from, non_blocking;
  bool is_right = false;
};

// aten::copy_(Tensor self, Tensor src, bool non_blocking)
void look_at_copy(const TorchRecord& record, void* data) {
  auto& expected = *static_cast<CopyCase*>(data);
  TorchLayout& layout = *expected.layout;
  std::uint32_t offset = 0;
  const auto values = find_inputs(record, 3, offset);
  if (!values || (layout.sequence != 0 && offset != layout.sequence + 8)) return;
  const auto& v = *values;
  if (v[0].payload != expected.to || v[1].payload != expected.from || v[0].tag != v[1].tag) return;
  if ((v[2].payload & 0xFF) != expected.non_blocking || v[2].tag == v[0].tag) return;
  if (layout.inputs != 0 && (layout.inputs != offset || layout.tag_tensor != v[0].tag || layout.tag_bool != v[2].tag)) {
    return;
  }
  layout.inputs = offset;
  layout.tag_tensor = v[0].tag;
  layout.tag_bool = v[2].tag;
  expected.is_right = true;
}

// aten::as_strided(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset)
struct ViewCase {
  TorchLayout* layout;
  const TensorCase* tensor;
};
void look_at_view(const TorchRecord& record, void* data) {
  auto& expected = *static_cast<ViewCase*>(data);
  TorchLayout& layout = *expected.layout;
  std::uint32_t offset = 0;
  const auto values = find_inputs(record, 4, offset);
  if (!values || offset != layout.inputs || (*values)[0].tag != layout.tag_tensor) return;
  const auto& sizes = expected.tensor->sizes;
  std::array<Word, 8> list{};
  if (!read_safely((*values)[1].payload, list.data(), sizeof list)) return;
  std::uint32_t tag = 0;
  layout.list_items = find_only_word(list.size() - 3, [&](std::size_t at) {
    if (list[at + 1] - list[at] != sizes.size() * sizeof(Value)) return false;
    std::vector<Value> items(sizes.size());
    if (!read_safely(list[at], items.data(), items.size() * sizeof(Value))) return false;
    tag = items[0].tag;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].payload != static_cast<Word>(sizes[i]) || items[i].tag != tag) return false;
    }
    return true;
  });
  if (layout.list_items == 0) return;
  layout.tag_int = tag;
  layout.int_type = list[layout.list_items / sizeof(Word) + 3];
  layout.tag_list = (*values)[1].tag;
}

void prove_shapes(const TorchLibrary& torch, TorchLayout& layout) {
  if (torch.empty_strided == nullptr || torch.copy == nullptr || torch.destroy_tensor == nullptr) return;
  Tensors tensors(torch);
  for (const TensorCase& wanted : tensor_cases()) {
    if (!tensors.make(wanted)) return;
  }
  TorchLayout found = layout;
  find_tensor_fields(tensors, found);
  if (found.tensor_sizes == 0 || found.tensor_dtype == 0) return;

  TorchCallback callback = probe_callback<TorchScope::kFunction>();
  callback.needs_inputs = true;
  const Registered registered(torch, {callback});
  Seen now;
  now.torch = &torch;
  now.expected_name = "aten::copy_";
  now.look = look_at_copy;
  for (const auto [to, from] : {std::array<std::size_t, 2>{0, 1}, {2, 3}, {0, 4}}) {
    CopyCase expected{&found, tensors.body(to), tensors.body(from), to == 0 ? Word{1} : Word{0}};
    now.look_data = &expected;
    seen = &now;
    const std::int32_t error = torch.copy(tensors.all[to], tensors.all[from], to == 0 ? 1 : 0);
    seen = nullptr;
    if (error != 0 || !expected.is_right) return;
  }
  found.undefined = reinterpret_cast<Word>(torch.undefined_tensor);
  layout = found;

  if (torch.as_strided == nullptr) return;
  const TensorCase& viewed = tensor_cases()[0];
  ViewCase expected{&layout, &viewed};
  now.expected_name = "aten::as_strided";
  now.look = look_at_view;
  now.look_data = &expected;
  void* view = nullptr;
  seen = &now;
  const std::int32_t error = torch.as_strided(tensors.all[0], viewed.sizes.data(), viewed.strides.data(), &view);
  seen = nullptr;
  if (error == 0 && view != nullptr) tensors.all.push_back(view);
}

}  // namespace

TorchProof prove_torch(const TorchLibrary& torch, bool with_shapes) noexcept try {
  TorchProof proof;
  if (torch.add == nullptr || torch.remove == nullptr || torch.name == nullptr || torch.guarded_list == nullptr) {
    proof.problem = "it has no record-function callbacks under the known names";
    return proof;
  }
  if (torch.construct == nullptr || torch.before == nullptr || torch.destroy == nullptr ||
      torch.is_enabled == nullptr || torch.enable == nullptr) {
    proof.problem = "this release exports no way to prove the callbacks";
    return proof;
  }
  proof.problem = prove_names(torch, proof.layout);
  proof.is_proven = proof.problem.empty();
  if (!proof.is_proven) return proof;
  if (with_shapes) prove_shapes(torch, proof.layout);
  if (proof.layout.sequence == 0) proof.missing += "sequence numbers, ";
  if (proof.layout.forward_thread == 0) proof.missing += "forward threads, ";
  if (with_shapes && !proof.layout.has_shapes()) proof.missing += "shapes, ";
  if (!proof.missing.empty()) proof.missing.resize(proof.missing.size() - 2);
  return proof;
} catch (...) {
  TorchProof proof;
  proof.problem = "an exception came out of the proof";
  return proof;
}

}  // namespace stepscope::agent
