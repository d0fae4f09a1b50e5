// The list of importers. A new format is a folder or file beside this and one line in kImporters.
#include "import/importers.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/parallel.h"
#include "import/bytes/byte_source.h"
#include "import/capture/capture.h"
#include "import/chrome_json/chrome_json.h"

namespace stepscope {
namespace {

struct Importer {
  const char* name;
  // Is this our format? From the first bytes (decompressed), never from the name of the file.
  bool (*recognises)(std::string_view prefix);
  Result<std::vector<Trace>> (*read)(ByteSource& source, const std::string& path, const ReadOptions& options);
};

constexpr std::array kImporters = {
    Importer{"capture", capture_format::recognises, capture_format::read},
    Importer{"chrome-json", chrome_json::recognises, chrome_json::read},
};

// Enough for every importer to know its format.
constexpr std::size_t kPrefixBytes = 16 << 10;

// A source that ends in an error when the reader has been told to stop, so that no importer need know.
class StoppableSource : public ByteSource {
 public:
  StoppableSource(std::unique_ptr<ByteSource> inner, std::function<bool()> is_stopped)
      : inner_(std::move(inner)), is_stopped_(std::move(is_stopped)) {}

  Result<std::size_t> read(char* into, std::size_t size) override {
    if (is_stopped_()) return Error{ErrorCode::kIo, "reading was stopped", ""};
    return inner_->read(into, size);
  }
  [[nodiscard]] std::uint64_t stored_bytes_read() const override { return inner_->stored_bytes_read(); }
  [[nodiscard]] std::optional<std::uint64_t> stored_bytes_total() const override {
    return inner_->stored_bytes_total();
  }
  void add_notes(Notes& notes) const override { inner_->add_notes(notes); }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::function<bool()> is_stopped_;
};

// No text: the file has none, or its compressed stream is damaged from the start.
Error nothing_there(const ByteSource& source, const std::string& name) {
  Notes notes;
  source.add_notes(notes);
  for (const Note& note : notes.all()) {
    if (note.kind == NoteKind::kGzipDamaged) return {ErrorCode::kDamaged, "no text in it: " + note.example, name};
  }
  return {ErrorCode::kEmpty, "file is empty", name};
}

// What people try and we do not read, and what to give or do instead.
struct OtherFormat {
  std::string_view name_end;
  std::string_view start;  // of the text; empty: only the name tells
  const char* what;
};
constexpr std::array kOtherFormats = {
    OtherFormat{".xplane.pb", "", "an XSpace file of JAX or TensorFlow: give the .trace.json.gz that lies beside it"},
    OtherFormat{".nsys-rep", "", "a report of Nsight Systems: record the program with `stepscope run -- COMMAND`"},
    OtherFormat{".qdrep", "", "a report of Nsight Systems: record the program with `stepscope run -- COMMAND`"},
    OtherFormat{"", "SQLite format 3", "an SQLite file: record the program with `stepscope run -- COMMAND`"},
    OtherFormat{".pftrace", "", "a protobuf of Perfetto: its `traceconv json` makes the JSON that is read here"},
    OtherFormat{".perfetto-trace", "", "a protobuf of Perfetto: its `traceconv json` makes the JSON that is read here"},
};

Error unknown_format(std::string_view prefix, const std::string& name) {
  std::string plain = name;
  std::transform(plain.begin(), plain.end(), plain.begin(), [](unsigned char c) { return std::tolower(c); });
  if (plain.ends_with(".gz")) plain.resize(plain.size() - 3);
  std::string what =
      "no known format starts like this; read are the trace JSON of PyTorch, JAX and Chrome, plain or gzip, "
      "and captures of `stepscope run`";
  for (const OtherFormat& other : kOtherFormats) {
    const bool is_it = plain.ends_with(other.name_end) && prefix.starts_with(other.start);
    if (is_it) what = other.what;
  }
  return {ErrorCode::kUnknownFormat, "not a trace: " + what, name, 0};
}

}  // namespace

bool looks_like_trace(std::string_view prefix) {
  if (capture_format::recognises(prefix)) return true;
  if (!chrome_json::recognises(prefix)) return false;
  for (const std::string_view key : {"\"traceEvents\"", "\"ph\":", "\"ph\" :", "\"deviceProperties\""}) {
    if (prefix.find(key) != std::string_view::npos) return true;
  }
  return false;
}

Result<std::vector<Trace>> read_traces(std::unique_ptr<ByteSource> opened, const std::string& name,
                                       const ReadOptions& options) {
  if (options.is_stopped) opened = std::make_unique<StoppableSource>(std::move(opened), options.is_stopped);
  std::string prefix(kPrefixBytes, '\0');
  Result<std::size_t> got = read_fully(*opened, prefix.data(), prefix.size());
  if (!got) return got.error();
  prefix.resize(*got);
  if (prefix.empty()) return nothing_there(*opened, name);

  for (const Importer& importer : kImporters) {
    if (!importer.recognises(prefix)) continue;
    const std::unique_ptr<ByteSource> source = put_back(std::move(prefix), std::move(opened));
    return importer.read(*source, name, options);
  }
  return unknown_format(prefix, name);
}

Result<std::vector<Trace>> read_traces(const std::string& path, const ReadOptions& options) {
  const unsigned threads = options.threads == 0 ? available_threads() : options.threads;
  Result<std::unique_ptr<ByteSource>> opened = open_bytes(path, threads > 1);
  if (!opened) return opened.error();
  return read_traces(std::move(*opened), path == "-" ? "standard input" : path, options);
}

}  // namespace stepscope
