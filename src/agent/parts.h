// The agent's parts and how they call each other. One process has one agent; all of it is noexcept at its edges: on any
// failure a part disarms itself, says why in a remark, and the training goes on.
//
//   hooks (torch_hook, nvtx, cupti callbacks)  --emit_event-->  rings  --drain-->  worker  -->  CaptureFile
//   CUPTI buffers ---------------------------------------------------------------^
//   step marks of hooks  -->  controller (schedule, control socket, signal)  -->  open / close a window
//
// All times come from now_ns(): one clock for operators, calls and the device. Each function says who calls it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "capture/agent_options.h"
#include "capture/capture_file.h"
#include "capture/names.h"

namespace stepscope::agent {

// python_frames.cpp: the calling thread's Python stack.

// Finds the interpreter of this process (none: false, and python_stack_now() stays 0 at the cost of one load). Proves
// the frame layout of this version on a frame of its own, or refuses with a remark.
bool attach_python() noexcept;
// Number of the calling thread's stack in the process-wide table; 0: no Python, no thread state, or stacks are off.
// Walks raw frames without the GIL's help and without references; remembers (code, instruction) and copies names and
// line tables of code objects the first time they are seen.
// Without the `left_out` innermost frames, which are ours.
[[nodiscard]] std::uint32_t python_stack_now(std::uint32_t left_out = 0) noexcept;
// Stack of another thread of this process, for the sampler; 0 when it cannot be had safely.
[[nodiscard]] std::uint32_t python_stack_of(std::int64_t thread_id) noexcept;
// Worker: writes the definitions that `stack` needs into `file` and gives its number there.
[[nodiscard]] WireStack write_python_stack(CaptureFile& file, std::uint32_t stack);
[[nodiscard]] std::string python_version() noexcept;  // "3.12.3"; empty without Python

// torch_hook.cpp: operators by PyTorch's record-function callbacks.

// kWarmUp: everything is done as in full but the writing, so that names, stacks and memory are there when a window
// opens.
enum class TorchDetail : std::uint8_t { kOff, kUserScopes, kWarmUp, kFull };
// Looks for libtorch_cpu.so among the loaded objects, finds the symbols, proves them with one operator. False: no torch
// yet (may be called again) or refused (a remark says why).
bool attach_torch() noexcept;
// Outside windows kUserScopes, only record_function spans, while they may mark steps; else kOff.
void set_torch_detail(TorchDetail detail) noexcept;
[[nodiscard]] NameId innermost_op() noexcept;  // of the calling thread; empty id if none
// Stack of the forward operator whose backward the calling thread is in, or has just ended while autograd's engine
// still works for it; 0: none, or not known (--graphs alone knows).
[[nodiscard]] std::uint32_t forward_stack_now() noexcept;
[[nodiscard]] std::string torch_version() noexcept;

// nvtx.cpp: ranges of NVTX (exports InitializeInjectionNvtx2).

// window.cpp: what a window switches on and off.

// Does what is slow the first time (CUPTI loaded and started, 20 ms; operators, their names and stacks met once), so
// that the window's first step does not pay for it: at the start of the first warm-up step, on the thread that steps.
void prepare_window() noexcept;
// Opens a window now: rings, operators in full, GPU. `first_step` as WireWindow; -1: not known. False: one is open
// already, or the agent is disarmed. Takes 0.1 ms once everything is attached; the caller is the thread whose step
// begins, or any thread for a start on request.
bool open_window(std::int64_t first_step) noexcept;
// Switches all of it off again and returns without waiting for the device: the worker collects what is under way.
bool close_window(std::int64_t last_step) noexcept;
[[nodiscard]] bool is_window_open() noexcept;
// The window that prepare_window() made ready does not come: nothing stays registered for it.
void cancel_window() noexcept;
// Controller: whether the program's spans are to be heard where no window is open.
void hear_spans_between_windows(bool are_wanted) noexcept;

// controller.cpp: decides when windows open and close.

// Once, when the first of torch, CUDA or NVTX is attached (never in a program that has none of them): opens the first
// window unless the schedule or start_paused says later, and listens at the control socket. stop: at exit, before the
// file is closed; no request comes after it. A forked child that records on its own calls start again.
void start_controller() noexcept;
void stop_controller() noexcept;
// A hook saw the end of a step: `ProfilerStep#N`, an optimizer's step, the NVTX range or name the user gave. Cheap; any
// thread. `place`: the Python stack of the span's begin, 0 unknown.
void note_step_mark(std::string_view name, TimeNs start_ns, TimeNs end_ns, std::uint32_t place = 0) noexcept;
// optimizer_calls.cpp: the outermost step() of an optimizer has ended, and an optimizer is no more.
void note_optimizer_step(std::string_view name, TimeNs end_ns, std::uint32_t place, std::uint64_t object) noexcept;
void forget_optimizer(std::uint64_t object) noexcept;
// Does the controller want to see a user scope of this name (so that hooks may filter)?
[[nodiscard]] bool is_step_mark(std::string_view name) noexcept;
void request_start(std::string_view who) noexcept;  // control socket, signal, API
void request_stop(std::string_view who) noexcept;

// agent.cpp

// Reads the options from the environment and arms what they ask for. From InitializeInjection ("cuda"), from the
// constructor of a preloaded agent ("preload"), from NVTX's entry ("nvtx") or from the import hook ("import"). The
// first call reads the options; each attaches what has appeared since (torch, Python, CUDA). False: disarmed.
bool arm(const char* who) noexcept;
// What the environment asked for; the defaults before arm().
[[nodiscard]] const AgentOptions& options() noexcept;
// Now, on the one clock of every record (recorder_now_ns).
[[nodiscard]] TimeNs now_ns() noexcept;

// remarks.cpp

// A sentence for the capture file. Each is kept once.
void remark(std::string_view sentence) noexcept;
// The same, and said on stderr in one line when the process ends: something that was asked for is missing.
void complain(std::string_view sentence) noexcept;

}  // namespace stepscope::agent
