// Operators of PyTorch: not there yet. The agent goes on without them and captures the GPU alone.
#include "agent/parts.h"

namespace stepscope::agent {

bool attach_torch() noexcept { return false; }
void set_torch_detail(TorchDetail) noexcept {}
NameId innermost_op() noexcept { return {}; }
std::string torch_version() noexcept { return {}; }

}  // namespace stepscope::agent
