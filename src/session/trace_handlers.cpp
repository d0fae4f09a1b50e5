// Handlers that write files.
//
// A name of the directory handler must never be one that is taken: many processes write into one directory, perhaps
// with one worker name, and clocks of containers can agree to the nanosecond. So the whole file is made under a name of
// the process's own and then given its final name by link(), which refuses a taken one where rename() would replace it;
// the next nanosecond is free. Asking first whether the name is free was rejected: two processes can ask at the same
// time. File systems without links (FAT, some of FUSE) get the rename.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>

#include "export/chrome_trace.h"
#include "session/recorded_trace.h"
#include "stepscope/session.h"

namespace stepscope {
namespace {

Error failed(const std::string& path, const char* what, const std::error_code& reason) {
  const bool refused = reason == std::errc::permission_denied || reason == std::errc::operation_not_permitted ||
                       reason == std::errc::read_only_file_system;
  return {refused ? ErrorCode::kPermission : ErrorCode::kIo, std::string(what) + ": " + reason.message(), path, {}};
}

// Now, and later than all that it gave before, on any thread.
std::int64_t next_time_ns() {
  static std::atomic<std::int64_t> last{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::int64_t time_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  std::int64_t before = last.load();
  do {
    if (time_ns <= before) time_ns = before + 1;
  } while (!last.compare_exchange_weak(before, time_ns));
  return time_ns;
}

// Gives `from` the name `to` if that is free. An error_code of file_exists: it is not.
std::error_code move_to_free_name(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) {
    ::unlink(from.c_str());
    return {};
  }
  if (errno == EEXIST) return std::make_error_code(std::errc::file_exists);
  std::error_code ignored;
  if (std::filesystem::exists(to, ignored)) return std::make_error_code(std::errc::file_exists);
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return {errno, std::generic_category()};
}

// The file's final path.
Result<std::string> write_new_file(const RecordedTrace::Content& content, const std::string& directory,
                                   const std::string& worker, bool gzip) {
  const std::string suffix = gzip ? ".pt.trace.json.gz" : ".pt.trace.json";
  const auto path_for = [&](const std::string& name) {
    return directory + "/" + name + "." + std::to_string(next_time_ns()) + suffix;
  };
  std::string path = path_for(worker);
  const std::string whole = path_for("." + content.trace.info.host_name + "_" + std::to_string(content.process_id));
  if (const Status written = write_chrome_trace_file(content.trace, whole); !written) {
    Error error = written.error();
    error.file = path;  // the name that its reader expects
    return error;
  }
  std::error_code moved;
  while ((moved = move_to_free_name(whole, path)) == std::errc::file_exists) path = path_for(worker);
  if (moved) {
    ::unlink(whole.c_str());
    return failed(path, "cannot be given its name", moved);
  }
  return path;
}

}  // namespace

TraceHandler directory_handler(std::string directory, std::string worker_name, bool gzip) {
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  return
      [directory = std::move(directory), given = std::move(worker_name), gzip](const RecordedTrace& trace) -> Status {
        const std::string& worker = given.empty() ? trace.worker_name() : given;
        if (worker.find('/') != std::string::npos) {
          return Error{ErrorCode::kInvalidArgument,
                       "the worker name `" + worker + "` names files and so cannot have a `/`",
                       directory,
                       {}};
        }
        std::error_code reason;
        std::filesystem::create_directories(directory, reason);
        if (reason) return failed(directory, "the directory cannot be made", reason);
        const Result<std::string> path = write_new_file(*trace.content_, directory, worker, gzip);
        if (!path) return path.error();
        trace.content_->files->add(*path);
        return Done{};
      };
}

TraceHandler chrome_trace_handler(std::string path) {
  auto count = std::make_shared<std::atomic<int>>(0);
  return [path = std::move(path), count](const RecordedTrace& trace) -> Status {
    const int number = ++*count;
    if (number == 1) return trace.write_chrome_trace(path);
    // "run.1/trace.json.gz" -> "run.1/trace.2.json.gz": before the first dot of the last part, but not a leading one.
    const std::size_t name = path.rfind('/') + 1;
    const std::size_t dot = std::min(path.find('.', name + 1), path.size());
    return trace.write_chrome_trace(path.substr(0, dot) + "." + std::to_string(number) + path.substr(dot));
  };
}

}  // namespace stepscope
