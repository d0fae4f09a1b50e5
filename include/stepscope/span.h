// Spans: names for stretches of a program's time, written by any thread at the cost of two clock readings.
//
// A span is an object; it begins where it is made and ends with its scope. Spans of one thread nest by time, so there
// is no parent to hand over. They are kept while a profiling session records (stepscope/session.h), and in the capture
// of `stepscope run -- PROGRAM`, which needs no session; else they cost one load and one branch, so they can stay in a
// program for good. Measured costs: docs/performance.md, "Spans".
//
//     #include <stepscope/span.h>
//
//     void Net::forward(const Batch& batch) {
//       STEPSCOPE_FUNCTION_SPAN();                              // "Net::forward"
//       {
//         STEPSCOPE_SPAN("attention");                          // fastest: the name is looked up once
//         attend(batch);
//       }
//       stepscope::Span span("layer " + std::to_string(index)); // a name made at run time
//       stepscope::OpSpan op("my::mm", {{m, k}, {k, n}});       // an operator, with the shapes of its inputs
//       mm(a, b);
//       op.end();                                               // before its scope ends
//       stepscope::record_counter("queue length", queue.size());
//     }
//
// From several threads at once: everything here. Names are copied; what they point to may go away. A process that
// forks goes on recording, its child does not. Not for signal handlers.
//
// Names are kept as long as the process, up to 64 MiB of them; later ones read "(names past 64 MiB)". So numbers that
// differ each time belong into a counter, not into a name.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string_view>

namespace stepscope {

namespace detail {

// 0: nobody listens. Bit 0: a session records, bits 1 to 4 say what it asks for, those from 8 on number its recording.
// Bits 5 and 6: Stepscope's agent may come, or listens.
extern std::atomic<std::uint64_t> recorder_state;
inline std::uint64_t load_recorder_state() { return recorder_state.load(std::memory_order_relaxed); }

// A span that has begun. `log` names the thread's buffer of this recording, so that an end on another thread or in
// another recording is noticed; 0: nothing to end.
struct OpenSpan {
  std::uint64_t log = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t agent_handle = 0;  // of a span that the agent hears; 0: it does not
  std::uint32_t name = 0;
  std::uint32_t detail = 0;
  bool is_operator = false;
};

// The place of a macro: its name is interned when it is first recorded.
struct SpanSite {
  constexpr SpanSite(std::string_view text, const char* in_file, std::uint32_t at_line)
      : name(text), file(in_file), line(at_line) {}
  std::string_view name;
  const char* file;
  std::uint32_t line;
  std::atomic<std::uint32_t> name_id{0};  // 0: not yet
};

}  // namespace detail

// Does anyone listen now: a session that records, or, in a program under `stepscope run`, its agent (also between its
// windows, where it waits for the names that mark steps)? For work that only a recording needs, such as making a name.
[[nodiscard]] inline bool is_recording() { return detail::load_recorder_state() != 0; }

// One input of an operator.
struct OpInput {
  std::span<const std::int64_t> dims;  // empty: a scalar
  std::string_view type{};             // as PyTorch writes it: "float", "c10::BFloat16", "Scalar"; empty: unknown
};

// A dimension written in place: any integer type.
struct Dim {
  template <std::integral Integer>
  constexpr Dim(Integer count) : value(static_cast<std::int64_t>(count)) {}  // NOLINT: implicit by design
  std::int64_t value;
};
using DimLists = std::initializer_list<std::initializer_list<Dim>>;

namespace detail {
void open_span(OpenSpan& span, std::string_view name, const std::source_location& where);
void open_span(OpenSpan& span, SpanSite& site);
void open_operator(OpenSpan& span, std::string_view name, std::span<const OpInput> inputs, double flops,
                   const std::source_location& where);
void open_operator(OpenSpan& span, std::string_view name, DimLists dims, double flops,
                   const std::source_location& where);
void close_span(OpenSpan& span);
}  // namespace detail

// A stretch of this thread's time, shown as a user annotation. It has to end on the thread where it began; one that is
// moved to another thread and ends there is left out and counted as open (for those there is begin_async).
class [[nodiscard("a span lasts as long as its object")]] Span {
 public:
  // No span: ends without a trace.
  Span() = default;
  [[nodiscard]] explicit Span(std::string_view name, std::source_location where = std::source_location::current()) {
    if (is_recording()) [[unlikely]]
      detail::open_span(open_, name, where);
  }
  [[nodiscard]] explicit Span(detail::SpanSite& site) {
    if (is_recording()) [[unlikely]]
      detail::open_span(open_, site);
  }
  ~Span() { end(); }

  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  // The other is then no span any more.
  Span(Span&& other) noexcept : open_(other.open_) { other.open_.log = 0; }
  // Ends the present one first.
  Span& operator=(Span&& other) noexcept {
    if (this != &other) {
      end();
      open_ = other.open_;
      other.open_.log = 0;
    }
    return *this;
  }

  // Ends it now. Ending twice does nothing.
  void end() {
    if (open_.log != 0) [[unlikely]]
      detail::close_span(open_);
  }

 protected:
  detail::OpenSpan open_;
};

// A span that is an operator (cpu_op in a trace). Shapes, types and FLOPs are kept when the session asks for them.
// `flops`: what one call computes, all that is nested in it too; below 0: unknown. Told ones go before those that a
// formula would give (of aten::mm and the like, from shapes), in `stepscope ops` and in MFU.
//
//     stepscope::OpSpan op("aten::mm", {{64, 128}, {128, 32}}, 2.0 * 64 * 128 * 32);
//     const stepscope::OpInput inputs[] = {{a_sizes, "float"}, {b_sizes, "float"}};
//     stepscope::OpSpan op("aten::mm", inputs);
class [[nodiscard("an operator lasts as long as its object")]] OpSpan : public Span {
 public:
  [[nodiscard]] explicit OpSpan(std::string_view name, DimLists dims = {}, double flops = -1,
                                std::source_location where = std::source_location::current()) {
    if (is_recording()) [[unlikely]]
      detail::open_operator(open_, name, dims, flops, where);
  }
  [[nodiscard]] OpSpan(std::string_view name, std::span<const OpInput> inputs, double flops = -1,
                       std::source_location where = std::source_location::current()) {
    if (is_recording()) [[unlikely]]
      detail::open_operator(open_, name, inputs, flops, where);
  }
};

// Work that begins on one thread and may end on another: begin_async gives a token, a plain value to carry along;
// end_async takes it. One that does not end in the same recording is left out and counted as open; a second end of the
// same token is ignored.
//
//     request.token = stepscope::begin_async("load batch");   // here
//     stepscope::end_async(request.token);                    // on whichever thread finishes it
struct AsyncToken {
  std::uint64_t recording = 0;  // 0: nothing to end
  std::int64_t id = 0;
  std::uint32_t name = 0;
};

// One change of allocated memory, as PyTorch reports it to its profiler (a `[memory]` event).
struct Allocation {
  const void* address = nullptr;
  std::int64_t bytes = 0;                   // freed: negative
  std::int64_t total_allocated_bytes = -1;  // of the device, after this; -1: unknown
  std::int64_t total_reserved_bytes = -1;   // of the device, after this; -1: unknown
  bool is_cuda = false;                     // else CPU memory
  std::int32_t device_number = -1;          // of a CUDA device
};

namespace detail {
AsyncToken open_async(std::string_view name);
void close_async(const AsyncToken& token);
void write_counter(std::string_view name, double value);
void write_instant(std::string_view name);
void write_allocation(const Allocation& allocation, const std::source_location& where);
}  // namespace detail

[[nodiscard]] inline AsyncToken begin_async(std::string_view name) {
  return is_recording() ? detail::open_async(name) : AsyncToken{};
}
inline void end_async(const AsyncToken& token) {
  if (token.recording != 0) [[unlikely]]
    detail::close_async(token);
}

// The value of something from now on.
inline void record_counter(std::string_view name, double value) {
  if (is_recording()) [[unlikely]]
    detail::write_counter(name, value);
}

// Something that happened now.
inline void record_instant(std::string_view name) {
  if (is_recording()) [[unlikely]]
    detail::write_instant(name);
}

// Kept when the session records memory.
inline void record_allocation(const Allocation& allocation,
                              std::source_location where = std::source_location::current()) {
  if (is_recording()) [[unlikely]]
    detail::write_allocation(allocation, where);
}

// How traces call this thread, from now on and in every later recording. Without it they use the name that the system
// knows (pthread_setname_np), which this does not change.
void set_thread_name(std::string_view name);

namespace detail {

// "void ns::Net<T>::forward(int) [with T = float]" -> "ns::Net<T>::forward", given `plain` "forward". What does not
// look so (lambdas, operators that contain spaces) stays as it is.
constexpr std::string_view function_label(std::string_view pretty, std::string_view plain) {
  std::size_t name = std::string_view::npos;
  for (std::size_t at = pretty.find(plain); at != std::string_view::npos; at = pretty.find(plain, at + 1)) {
    const std::size_t after = at + plain.size();
    if (after < pretty.size() && (pretty[after] == '(' || pretty[after] == '<')) {
      name = at;
      break;
    }
  }
  if (name == std::string_view::npos) return pretty;
  std::size_t begin = name;
  for (int depth = 0; begin > 0; --begin) {
    const char before = pretty[begin - 1];
    if (before == '>') ++depth;
    if (before == '<') --depth;
    const bool is_part = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') ||
                         (before >= '0' && before <= '9') || before == '_' || before == ':' || before == '>' ||
                         before == '<' || before == '~' || before == '{' || before == '}';
    if (depth < 0 || (depth == 0 && !is_part && before != '<')) break;
  }
  if (pretty.substr(begin, 2) == "::") begin += 2;  // of clang's "(anonymous namespace)::"
  return pretty.substr(begin, name + plain.size() - begin);
}

}  // namespace detail
}  // namespace stepscope

#define STEPSCOPE_JOIN_INNER(a, b) a##b
#define STEPSCOPE_JOIN(a, b) STEPSCOPE_JOIN_INNER(a, b)
#define STEPSCOPE_SPAN_AT(name, where)                                                                          \
  static constinit ::stepscope::detail::SpanSite STEPSCOPE_JOIN(stepscope_site_, where)(name, __FILE__, where); \
  const ::stepscope::Span STEPSCOPE_JOIN(stepscope_span_, where)(STEPSCOPE_JOIN(stepscope_site_, where))

// A span from here to the end of the scope. `name` is a string literal. One a line.
#define STEPSCOPE_SPAN(name) STEPSCOPE_SPAN_AT(name, __LINE__)
// The same, named by the function with its class and namespaces.
#define STEPSCOPE_FUNCTION_SPAN() \
  STEPSCOPE_SPAN_AT(::stepscope::detail::function_label(__PRETTY_FUNCTION__, __func__), __LINE__)
