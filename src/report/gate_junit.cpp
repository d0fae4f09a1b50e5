// JUnit's XML as CI systems read it: a testsuite of testcases, each plain, or with a failure, an error or skipped.
//
// There is no one schema; what is written is in all of them (Jenkins, GitLab, Surefire): names, counts, a `time` in
// seconds. The time of the step's case is NEW's step, so that a CI's chart of test times shows it.
#include <fmt/format.h>

#include <algorithm>

#include "report/gate_report.h"
#include "report/text.h"

namespace stepscope {
namespace {

// For attributes and text alike. Control characters are gone already; what XML forbids even when escaped, the
// non-characters U+FFFE and U+FFFF, becomes U+FFFD.
std::string xml(std::string_view raw) {
  const std::string clean = clean_text(raw);
  std::string out;
  for (std::size_t at = 0; at < clean.size(); ++at) {
    const std::string_view rest = std::string_view(clean).substr(at);
    if (rest.starts_with("\xEF\xBF\xBE") || rest.starts_with("\xEF\xBF\xBF")) {
      out += "\xEF\xBF\xBD";
      at += 2;
      continue;
    }
    switch (clean[at]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      default:
        out += clean[at];
    }
  }
  return out;
}

struct Case {
  std::string name;
  double time_s = 0;
  std::string element;  // "failure", "error", "skipped"; empty: passed
  std::string type;
  std::string message;
  std::string text;
  bool has_warning = false;  // of one that passed: JUnit has no element for it but what was printed
};

std::string case_name(GateQuantity quantity) {
  return quantity == GateQuantity::kStepTime ? "step time" : gate_quantity_words(quantity);
}

Case case_of(const GateCheck& check, const GateReport& report, const std::string& remarks) {
  Case test{case_name(check.quantity), 0, "", "", gate_check_sentence(check, report.result), ""};
  if (check.quantity == GateQuantity::kStepTime && check.other) test.time_s = *check.other / 1e9;
  if (check.verdict == GateVerdict::kFailed) {
    test.element = "failure";
    test.type = check.quantity == GateQuantity::kStepTime ? "slower" : "more_memory";
    const bool is_explained = check.quantity == GateQuantity::kStepTime && !report.result.explanation.empty();
    if (is_explained) test.message += "; " + report.result.explanation;
  } else if (check.verdict == GateVerdict::kCannotTell) {
    test.element = gate_outcome(report) == GateOutcome::kCannotTellAllowed ? "skipped" : "error";
    test.type = gate_doubt_name(check.doubt);
  }
  test.text = test.message + remarks;
  test.has_warning = !check.tail.empty();
  return test;
}

std::vector<Case> cases_of(const GateReport& report) {
  if (!report.has_base) return {{"step time", 0, "skipped", "no_base", gate_sentence(report), ""}};
  std::string remarks;
  for (const std::string& remark : gate_remarks(report)) remarks += "\n" + remark;
  std::vector<Case> cases;
  for (const GateCheck& check : report.result.checks) {
    if (check.verdict != GateVerdict::kNotAsked) cases.push_back(case_of(check, report, remarks));
  }
  if (cases.empty()) cases.push_back({"gate", 0, "error", "not_asked", gate_sentence(report), ""});
  return cases;
}

// Line by line, since cleaning would join the lines.
std::string xml_lines(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += xml(text.substr(0, end));
    if (end >= text.size()) return out;
    out += "\n";
    text.remove_prefix(end + 1);
  }
}

std::string case_xml(const Case& test) {
  std::string out = fmt::format("    <testcase classname=\"stepscope.gate\" name=\"{}\" time=\"{:.9f}\"",
                                xml(test.name), test.time_s);
  if (test.element.empty() && test.has_warning) {
    return out + fmt::format(">\n      <system-out>warning: {}</system-out>\n    </testcase>\n", xml_lines(test.text));
  }
  if (test.element.empty()) return out + "/>\n";
  // `type` is not an attribute of skipped.
  const std::string type = test.element == "skipped" ? "" : fmt::format(" type=\"{}\"", xml(test.type));
  return out + fmt::format(">\n      <{0} message=\"{1}\"{2}>{3}</{0}>\n    </testcase>\n", test.element,
                           xml(test.message), type, xml_lines(test.text));
}

std::string properties_xml(const GateReport& report) {
  std::string out = "    <properties>\n";
  const auto add = [&out](const char* name, const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      out += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, xml(file));
    }
  };
  add("base", report.base_files);
  add("new", report.other_files);
  return out + "    </properties>\n";
}

std::string document_of(const std::vector<Case>& cases, const GateReport& report) {
  const auto count = [&cases](std::string_view element) {
    return std::count_if(cases.begin(), cases.end(), [element](const Case& test) { return test.element == element; });
  };
  double time_s = 0;
  for (const Case& test : cases) time_s += test.time_s;
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  out += fmt::format(
      "  <testsuite name=\"stepscope gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"{:.9f}\">\n",
      cases.size(), count("failure"), count("error"), count("skipped"), time_s);
  out += properties_xml(report);
  for (const Case& test : cases) out += case_xml(test);
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace

std::string write_gate_junit(const GateReport& report) { return document_of(cases_of(report), report); }

std::string write_gate_junit_error(const GateReport& report, const std::string& message) {
  return document_of({{"gate", 0, "error", "unusable", message, message}}, report);
}

}  // namespace stepscope
