// What parts of the agent do around a fork of the program. pthread_atfork calls a child's handlers in the order of
// their registering, and parts come to life at any time: a child that began its own capture before a part had let go
// of its lock would wait for itself for ever. So all parts are called by the one handler of fork.cpp, the child's new
// beginning last.
#pragma once

namespace stepscope::agent {

struct ForkHooks {
  void (*before)() = nullptr;  // nullptr: nothing
  void (*in_parent)() = nullptr;
  void (*in_child)() = nullptr;
};
// Once a part, at most kMostForkHooks of them. Hooks of a part that comes while the program forks begin with the next.
inline constexpr int kMostForkHooks = 16;
void join_forks(const ForkHooks& hooks) noexcept;

}  // namespace stepscope::agent
