// Offsets of 3.10 to 3.12 are those of the releases' headers on 64-bit Linux; they cannot change within a minor
// version, whose extension modules are compiled against them.
#include "agent/python_layout.h"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstring>
#include <vector>

#include "agent/loaded_library.h"
#include "agent/python_code.h"
#include "agent/python_walk.h"

namespace stepscope::agent {
namespace {

template <class Place>
void fill(Place& place, void* where, const char* symbol) {
  if (place == nullptr) place = reinterpret_cast<Place>(dlsym(where, symbol));
}

PythonLayout layout_3_10() {
  PythonLayout at;
  at.minor = 10;
  at.thread_frame = 24;
  at.thread_number = 176;
  at.frame_previous = 24;
  at.frame_code = 32;
  at.frame_instruction = 96;
  at.code_file = 104;
  at.code_name = 112;
  at.code_first_line = 40;
  at.code_lines = 120;
  at.ascii_header = 48;
  at.other_header = 72;
  return at;
}

PythonLayout layout_3_11() {
  PythonLayout at;
  at.minor = 11;
  at.thread_frame = 56;
  at.c_frame_current = 8;
  at.thread_number = 152;
  at.frame_previous = 48;
  at.frame_code = 32;
  at.frame_instruction = 56;
  at.frame_owner = 69;
  at.code_file = 112;
  at.code_name = 128;
  at.code_first_line = 72;
  at.code_lines = 136;
  at.code_bytes = 184;
  at.ascii_header = 48;
  at.other_header = 72;
  return at;
}

PythonLayout layout_3_12() {
  PythonLayout at = layout_3_11();
  at.minor = 12;
  at.c_frame_current = 0;
  at.thread_number = 136;
  at.frame_previous = 8;
  at.frame_code = 0;
  at.frame_owner = 70;
  at.code_first_line = 68;
  at.code_bytes = 192;
  at.ascii_header = 40;
  at.other_header = 56;
  return at;
}

// How many words each group of _Py_DebugOffsets has before the ones that are read here, as of a minor version.
struct OffsetTable {
  int minor;
  std::size_t interpreter, thread, frame;
};
constexpr std::array kOffsetTables = {OffsetTable{13, 13, 9, 6}, OffsetTable{14, 16, 9, 8}};

LayoutGuess published_layout(int minor, const void* runtime) {
  std::array<std::uint64_t, 64> words{};
  if (runtime == nullptr || !SafeReader::read(reinterpret_cast<std::uint64_t>(runtime), words.data(), sizeof words)) {
    return {{}, "its table of offsets cannot be read"};
  }
  if (std::memcmp(words.data(), "xdebugpy", 8) != 0 || static_cast<int>(words[1] >> 16 & 0xFF) != minor) {
    return {{}, "its table of offsets is not where it should be"};
  }
  if (words[2] != 0) return {{}, "it is a free-threaded build"};
  for (const OffsetTable& table : kOffsetTables) {
    if (table.minor != minor) continue;
    const auto word = [&](std::size_t at) { return static_cast<std::uint32_t>(words[at]); };
    const std::size_t thread = 3 + 3 + table.interpreter;
    const std::size_t frame = thread + table.thread;
    const std::size_t code = frame + table.frame;
    PythonLayout at;
    at.minor = minor;
    at.thread_frame = word(thread + 4);
    at.thread_number = word(thread + 5);
    at.frame_previous = word(frame + 1);
    at.frame_code = word(frame + 2);
    at.frame_instruction = word(frame + 3);
    at.frame_owner = word(frame + 5);
    at.code_file = word(code + 1);
    at.code_name = word(code + 3);
    at.code_lines = word(code + 4);
    at.code_first_line = word(code + 5);
    at.code_bytes = word(code + 9);
    at.ascii_header = 40;
    at.other_header = 56;
    return {at, {}};
  }
  return {{}, "its layout is not known"};
}

// A reference that is given back.
class Held {
 public:
  Held(const PythonApi& api, PyObject* object) : api_(api), object_(object) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (object_ != nullptr) api_.release(object_);
  }
  [[nodiscard]] PyObject* get() const { return object_; }

 private:
  const PythonApi& api_;
  PyObject* object_;
};

std::string text_attribute(const PythonApi& api, PyObject* object, const char* name) {
  const Held value(api, api.attribute(object, name));
  std::int64_t bytes = 0;
  const char* const text = value.get() == nullptr ? nullptr : api.to_utf8(value.get(), &bytes);
  if (text == nullptr) {
    api.clear_error();
    return "(none)";
  }
  return {text, static_cast<std::size_t>(bytes)};
}

long number_attribute(const PythonApi& api, PyObject* object, const char* name) {
  const Held value(api, api.attribute(object, name));
  const long number = value.get() == nullptr ? -1 : api.to_long(value.get());
  if (api.has_error() != nullptr) api.clear_error();
  return number;
}

struct Expected {
  std::uint64_t code;
  long instruction;
  int line;
  std::string file, function;
  long first_line;
};

std::vector<Expected> walk_by_interface(const PythonApi& api, int minor) {
  std::vector<Expected> frames;
  PyObject* frame = api.first_frame(api.own_thread_state());
  while (frame != nullptr && frames.size() < kMostPythonFrames) {
    const Held held(api, frame);
    const Held code(api, api.frame_code(frame));
    frames.push_back({reinterpret_cast<std::uint64_t>(code.get()), number_attribute(api, frame, "f_lasti"),
                      api.frame_line(frame), text_attribute(api, code.get(), "co_filename"),
                      text_attribute(api, code.get(), minor == 10 ? "co_name" : "co_qualname"),
                      number_attribute(api, code.get(), "co_firstlineno")});
    frame = api.frame_back(frame);
  }
  return frames;
}

bool is_same(const PythonLayout& layout, const RawFrame& raw, const Expected& expected) {
  if (raw.code != expected.code || raw.instruction != expected.instruction) return false;
  CodeText text;
  if (!read_code<SafeReader>(layout, raw.code, text)) return false;
  if (text.file != expected.file || text.function != expected.function) return false;
  if (text.first_line != expected.first_line) return false;
  return line_of(layout.minor, text, raw.instruction) == static_cast<std::uint32_t>(expected.line);
}

}  // namespace

bool PythonApi::is_complete() const {
  return version != nullptr && own_thread_state != nullptr && current_thread_state != nullptr &&
         is_finalizing != nullptr && first_frame != nullptr && frame_code != nullptr && frame_back != nullptr &&
         frame_line != nullptr && attribute != nullptr && to_long != nullptr && to_utf8 != nullptr &&
         has_error != nullptr && clear_error != nullptr && release != nullptr && code_type != nullptr;
}

PythonApi find_python() {
  PythonApi api;
  // The program's own symbols come first; an interpreter that some program loads privately is found by its file.
  void* where = RTLD_DEFAULT;
  if (dlsym(where, "Py_GetVersion") == nullptr) {
    where = find_loaded_library("libpython3.").handle;
    if (where == nullptr) return api;
  }
  fill(api.version, where, "Py_GetVersion");
  fill(api.own_thread_state, where, "PyGILState_GetThisThreadState");
  fill(api.current_thread_state, where, "PyThreadState_GetUnchecked");
  fill(api.current_thread_state, where, "_PyThreadState_UncheckedGet");
  fill(api.is_finalizing, where, "Py_IsFinalizing");
  fill(api.is_finalizing, where, "_Py_IsFinalizing");
  fill(api.first_frame, where, "PyThreadState_GetFrame");
  fill(api.frame_code, where, "PyFrame_GetCode");
  fill(api.frame_back, where, "PyFrame_GetBack");
  fill(api.frame_line, where, "PyFrame_GetLineNumber");
  fill(api.attribute, where, "PyObject_GetAttrString");
  fill(api.to_long, where, "PyLong_AsLong");
  fill(api.to_utf8, where, "PyUnicode_AsUTF8AndSize");
  fill(api.has_error, where, "PyErr_Occurred");
  fill(api.clear_error, where, "PyErr_Clear");
  fill(api.release, where, "Py_DecRef");
  api.code_type = dlsym(where, "PyCode_Type");
  api.runtime = dlsym(where, "_PyRuntime");
  return api;
}

PythonVersion parse_python_version(std::string_view text) {
  text = text.substr(0, text.find(' '));
  PythonVersion version;
  if (!text.starts_with("3.")) return version;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data() + 2, end, version.minor).ec != std::errc{}) return {};
  version.text = text;
  return version;
}

LayoutGuess guess_layout(int minor, const void* runtime) {
  if (minor == 10) return {layout_3_10(), {}};
  if (minor == 11) return {layout_3_11(), {}};
  if (minor == 12) return {layout_3_12(), {}};
  if (minor >= 13) return published_layout(minor, runtime);
  return {{}, "it is older than 3.10"};
}

ProofResult prove_layout(const PythonApi& api, const PythonLayout& layout, std::string& problem) {
  if (api.has_error() != nullptr) return ProofResult::kLater;
  const std::vector<Expected> expected = walk_by_interface(api, layout.minor);
  if (expected.empty()) return ProofResult::kLater;
  std::array<RawFrame, kMostPythonFrames> frames;
  const auto state = reinterpret_cast<std::uint64_t>(api.own_thread_state());
  const std::size_t count = walk_frames<SafeReader>(layout, api.code_type, state, frames);
  if (count != expected.size()) {
    problem = "the frames read are not as many as they should be";
    return ProofResult::kRefuted;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (is_same(layout, frames[i], expected[i])) continue;
    problem = "a frame read is not the one it should be (" + expected[i].function + ")";
    return ProofResult::kRefuted;
  }
  return ProofResult::kProven;
}

}  // namespace stepscope::agent
