// What went wrong in a session, kept for who asks later and told at once to who wants to hear it.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/result.h"

namespace stepscope {

// Safe to use from several threads. Callbacks run outside of its lock, so they may ask it.
class Problems {
 public:
  using OnError = std::function<void(const Error&)>;
  using OnWarning = std::function<void(const std::string&)>;
  Problems(OnError on_error, OnWarning on_warning)
      : on_error_(std::move(on_error)), on_warning_(std::move(on_warning)) {}

  void add(const Error& error);
  // The same sentence a second time is not news.
  void warn(const std::string& sentence);

  [[nodiscard]] std::vector<Error> errors() const;
  [[nodiscard]] std::vector<std::string> warnings() const;
  // Done, or the first error.
  [[nodiscard]] Status status() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Error> errors_;
  std::vector<std::string> warnings_;
  OnError on_error_;
  OnWarning on_warning_;
};

}  // namespace stepscope
