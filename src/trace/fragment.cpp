// Places of a fragment: found by the last one asked for, else by a small map.
#include "trace/builder.h"

namespace stepscope {
namespace {

std::uint64_t pair_key(std::uint32_t owner, StringId key) { return (std::uint64_t{owner} << 32) | key.value; }

}  // namespace

ProcessId Fragment::process(std::string_view pid) {
  if (last_process_.has_value() && strings[processes.key[last_process_]] == pid) return last_process_;
  const StringId key = strings.intern(pid);
  auto [at, is_new] = process_rows_.try_emplace(key.value, static_cast<std::uint32_t>(processes.size()));
  if (is_new) processes.push_back({.key = key, .name = {}, .labels = {}});
  return last_process_ = ProcessId(at->second);
}

ThreadId Fragment::thread(std::string_view pid, std::string_view tid) {
  if (last_thread_.has_value() && strings[threads.key[last_thread_]] == tid &&
      strings[processes.key[threads.process[last_thread_]]] == pid) {
    return last_thread_;
  }
  const ProcessId owner = process(pid);
  const StringId key = strings.intern(tid);
  auto [at, is_new] = thread_rows_.try_emplace(pair_key(owner.value, key), static_cast<std::uint32_t>(threads.size()));
  if (is_new) threads.push_back({.process = owner, .key = key, .name = {}});
  return last_thread_ = ThreadId(at->second);
}

DeviceId Fragment::device(std::int64_t number) {
  if (last_device_.has_value() && devices.number[last_device_] == number) return last_device_;
  auto [at, is_new] = device_rows_.try_emplace(number, static_cast<std::uint32_t>(devices.size()));
  if (is_new) {
    Devices::Row row;
    row.number = number;
    devices.push_back(row);
  }
  return last_device_ = DeviceId(at->second);
}

StreamId Fragment::stream(std::int64_t device_number, std::string_view key) {
  if (last_stream_.has_value() && strings[streams.key[last_stream_]] == key &&
      devices.number[streams.device[last_stream_]] == device_number) {
    return last_stream_;
  }
  const DeviceId owner = device(device_number);
  const StringId name = strings.intern(key);
  auto [at, is_new] = stream_rows_.try_emplace(pair_key(owner.value, name), static_cast<std::uint32_t>(streams.size()));
  if (is_new) streams.push_back({.device = owner, .key = name, .name = {}});
  return last_stream_ = StreamId(at->second);
}

}  // namespace stepscope
