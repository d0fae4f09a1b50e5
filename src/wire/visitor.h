// Who takes records: the file writer, the importer, tests. One method a record kind; all do nothing by default.
#pragma once

#include "wire/records.h"

namespace stepscope {

class WireVisitor {
 public:
  virtual ~WireVisitor() = default;
  virtual void on(const CaptureInfo&) {}
  virtual void on(const WireStringDefinition&) {}
  virtual void on(const WireFrameDefinition&) {}
  virtual void on(const WireStackDefinition&) {}
  virtual void on(const WireThread&) {}
  virtual void on(const WireDevice&) {}
  virtual void on(const WireOp&) {}
  virtual void on(const WireSpan&) {}
  virtual void on(const WireCall&) {}
  virtual void on(const WireGpuEvent&) {}
  virtual void on(const WireGraphNode&) {}
  virtual void on(const WireSync&) {}
  virtual void on(const WireOverhead&) {}
  virtual void on(const WireMemory&) {}
  virtual void on(const WireSample&) {}
  virtual void on(const WireCounter&) {}
  virtual void on(const WireWindow&) {}
  virtual void on(const WireLedger&) {}
  virtual void on(const WireRemark&) {}
  virtual void on(const WireEnd&) {}
  virtual void on(const WireMemoryLevel&) {}
};

}  // namespace stepscope
