// A status is read as it was written, whatever is around it.
#include "capture/agent_status.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

AgentStatus some_status() {
  AgentStatus status;
  status.process_id = 4711;
  status.rank = 3;
  status.step_count = 12;
  status.window_count = 2;
  status.window_is_open = true;
  status.step_name = "Optimizer.step#SGD.step";
  status.directory = "/tmp/a=b";
  return status;
}

TEST(AgentStatus, IsReadAsItWasWritten) {
  EXPECT_EQ(parse_agent_status(format_agent_status(some_status())), some_status());
  EXPECT_EQ(parse_agent_status(format_agent_status({})), AgentStatus{});
  EXPECT_EQ(parse_agent_status("newer=1\n" + format_agent_status(some_status())), some_status());
}

TEST(AgentStatus, AnyBytesGiveAStatus) {
  const std::string text = format_agent_status(some_status());
  for (std::size_t size = 0; size < text.size(); ++size) (void)parse_agent_status(text.substr(0, size));
  EXPECT_EQ(parse_agent_status("step_count=x\nprocess_id=\n\n=\nrank"), AgentStatus{});
  EXPECT_EQ(parse_agent_status("step_count=99999999999999999999999\n"), AgentStatus{});
  AgentStatus odd;
  odd.step_name = "a\nis_over=1";
  EXPECT_FALSE(parse_agent_status(format_agent_status(odd)).is_over);
}

TEST(AgentStatus, FilesAreNamedByTheProcess) {
  const std::string socket = agent_socket_path("/run/user/0/%px/%p.sock", 12);
  EXPECT_EQ(socket, "/run/user/0/%px/12.sock");
  EXPECT_EQ(agent_status_path(socket), "/run/user/0/%px/12.status");
}

}  // namespace
}  // namespace stepscope
