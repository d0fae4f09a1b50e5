// The words of a finding's severity, as they stand in the JSON.
#include "rules/finding.h"

namespace stepscope {

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kFault:
      return "fault";
    case Severity::kNote:
      return "note";
    case Severity::kInformation:
      return "information";
  }
  return "information";
}

}  // namespace stepscope
