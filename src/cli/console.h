// The program's three streams: what a command may print, and how the terminal looks.
//
// Output goes out by write(2) in one piece, so that a full disk or a closed pipe is seen where it happens; stdio
// was rejected because it reports such errors at exit, when nobody looks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/page.h"

namespace stepscope {

// Of every command: 0 read whole, 1 a gate failed, 2 wrong usage, 3 nothing usable, 4 something lost or the headline
// withheld.
enum ExitCode : int { kExitComplete = 0, kExitGate = 1, kExitUsage = 2, kExitUnusable = 3, kExitPartial = 4 };

class Console {
 public:
  // False: the reader is gone or the disk is full; said on stderr unless the reader just closed its pipe.
  [[nodiscard]] bool write(std::string_view text);
  // Was anything written, or tried to be? Of the process: it has one standard output.
  [[nodiscard]] static bool has_written();
  // Did the reader of standard output close its pipe before all was written?
  [[nodiscard]] static bool reader_has_gone();
  // "stepscope: MESSAGE" on stderr, safe for any name in it: one line, whatever the message holds, and a second only
  // for the hint "\nType `stepscope ..." at its end. A line of another's making could be a command to the CI that reads
  // it.
  void complain(std::string_view message);
  void complain(const Error& error);
  // What was complained about last, for the document that a failing command prints.
  [[nodiscard]] const std::optional<Error>& last_error() const { return last_error_; }
  // For messages that are no errors; one line.
  void remark(std::string_view message);
  // The same for text of several lines, in which every foreign word has gone through clean_text.
  void complain_lines(std::string_view message);
  void remark_lines(std::string_view text);

  // `colour` is auto, always or never. `width`: given by the user.
  [[nodiscard]] static Style style(std::string_view colour, std::optional<std::size_t> width);
  [[nodiscard]] static bool stderr_is_terminal();
  // Why `-` cannot take a file that is no text to be read: standard output is a terminal. Empty: it can.
  [[nodiscard]] static std::string refuse_terminal(std::string_view option);

 private:
  std::optional<Error> last_error_;
};

}  // namespace stepscope
