// Workflow commands of GitHub Actions, as its runner parses them from standard output: `::error title=T::message`.
//
// The runner takes any line that begins with "::" for a command, also one that a file's name put there. So the rest of
// the text stands between ::stop-commands::TOKEN and ::TOKEN::, with a token that nobody could know when the file got
// its name.
#include <fmt/format.h>

#include <algorithm>

#include "report/gate_report.h"
#include "report/text.h"

namespace stepscope {
namespace {

// %, CR and LF everywhere; in properties also what ends one.
std::string escape(std::string_view text, bool is_property) {
  std::string out;
  for (const char character : text) {
    switch (character) {
      case '%':
        out += "%25";
        break;
      case '\r':
        out += "%0D";
        break;
      case '\n':
        out += "%0A";
        break;
      case ':':
        out += is_property ? "%3A" : ":";
        break;
      case ',':
        out += is_property ? "%2C" : ",";
        break;
      default:
        out += character;
    }
  }
  return out;
}

struct Annotation {
  const char* level;
  const char* title;
};

Annotation annotation_of(GateOutcome outcome) {
  switch (outcome) {
    case GateOutcome::kPassed:
      return {"notice", "Stepscope gate: passed"};
    case GateOutcome::kFailed:
      return {"error", "Stepscope gate: failed"};
    case GateOutcome::kNoBase:
      return {"notice", "Stepscope gate: no base yet"};
    case GateOutcome::kCannotTellAllowed:
      return {"warning", "Stepscope gate: cannot tell"};
    default:
      return {"error", "Stepscope gate: cannot tell"};
  }
}

}  // namespace

std::string write_gate_github_error(const std::string& message) {
  return fmt::format("::error title={}::{}\n", escape("Stepscope gate: nothing was judged", true),
                     escape(clean_text(message), false));
}

std::string write_gate_github(const GateReport& report, const std::string& text, const std::string& token) {
  Annotation annotation = annotation_of(gate_outcome(report));
  const bool has_tail = std::any_of(report.result.checks.begin(), report.result.checks.end(),
                                    [](const GateCheck& check) { return !check.tail.empty(); });
  if (has_tail && gate_outcome(report) == GateOutcome::kPassed) annotation.level = "warning";
  std::string message = gate_sentence(report);
  for (const std::string& remark : gate_remarks(report)) message += "\n" + remark;
  return fmt::format("::{} title={}::{}\n::stop-commands::{}\n{}::{}::\n", annotation.level,
                     escape(annotation.title, true), escape(message, false), token, text, token);
}

}  // namespace stepscope
