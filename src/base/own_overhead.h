// Overhead of Stepscope's own making, as the agent names it in a capture and as analysis knows it again.
//
// Profilers' overhead stands in traces in the category `overhead`; most of it is a microsecond here and there, and part
// of what is measured. Where Stepscope itself stops the program (it writes a memory snapshot), the step is no step of
// the program, so it is left out of the accounts: what marks that is the name, which JSON keeps as it is.
#pragma once

#include <string_view>

namespace stepscope {

// Followed by what was done, as the rest of a sentence: "wrote a memory snapshot".
inline constexpr std::string_view kOwnOverheadPrefix = "Stepscope ";

}  // namespace stepscope
