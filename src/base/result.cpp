// Text of an Error, in the one form that every output uses.
#include "base/result.h"

namespace stepscope {

std::string Error::to_string() const {
  std::string text = file.empty() ? message : file + ": " + message;
  if (byte_offset) text += " (at byte " + std::to_string(*byte_offset) + ")";
  return text;
}

}  // namespace stepscope
