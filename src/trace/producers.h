// Names of TraceInfo::producer that others than the importer of that name ask for.
//
// Who recorded decides what is advised: a capture has the switches of `stepscope run`, a session the options of the C++
// program that ran it. So both names travel with the trace into the files that are written of it.
#pragma once

#include <string_view>

namespace stepscope {

inline constexpr std::string_view kCaptureProducer = "capture";
inline constexpr std::string_view kSessionProducer = "stepscope session";

}  // namespace stepscope
