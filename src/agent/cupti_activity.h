// From CUPTI's records to records of the capture file.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "agent/cupti_abi.h"
#include "agent/ledger.h"
#include "capture/capture_file.h"

namespace stepscope::agent {

class ActivityWriter {
 public:
  // Writes one record and tells the ledger of kernels, copies and sets. Kinds that nobody asked for are skipped.
  void write(const CuptiRecord& record, CaptureFile& file, Ledger& ledger);
  // Another file comes: numbers of names were this one's.
  void leave_file() { last_name_.clear(), last_id_ = 0; }

 private:
  WireString kernel_name(CaptureFile& file, const char* name);
  void write_event(const WireGpuEvent& event, CaptureFile& file, Ledger& ledger);

  // Demangled once: a name takes 2 to 20 us, and the same few hundred come again and again.
  std::unordered_map<std::string, std::string> readable_names_;
  std::string last_name_;
  WireString last_id_ = 0;
};

}  // namespace stepscope::agent
