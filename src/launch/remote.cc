#include "launch/remote.h"

#include <sstream>

namespace shoal {
namespace {

// On one line, so that it stays one word in shells that do not let quotes span lines. Its
// arguments: the directory, then those of env: settings, program, arguments of the program.
constexpr const char* kScript =
    "read -r token || exit 255; "
    "cd -- \"$1\" || exit 126; shift; "
    "exec 4<&0 </dev/null; "
    "printf \"%s\\n\" \"$token\" | setsid env SHOAL_TOKEN_FD=3 \"$@\" 3<&0 </dev/null 4<&- & "
    "program=$!; token=; "
    // In a session of its own: it must survive the processes that it watches.
    "setsid sh -c \"while read -r s <&4; do kill -s \\$s -- -$program || kill -s \\$s $program; "
    "done; kill -s KILL -- -$program; kill -s KILL $program\" >/dev/null 2>&1 & "
    "watcher=$!; exec 4<&-; "
    // From here on the shell only prints how its jobs ended.
    "exec 2>/dev/null; wait $program; status=$?; "
    "kill -s KILL -- -$program; kill -s KILL $watcher; exit $status";

}  // namespace

std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::vector<std::string> ssh_words(const std::string& shoal_ssh) {
  std::istringstream words(shoal_ssh);
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(word);
  if (result.empty()) result = {"ssh", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5"};
  return result;
}

std::string remote_script(const RemoteCommand& remote) {
  std::string text = "exec sh -c " + shell_quoted(kScript) + " shoal-rank";
  text += " " + shell_quoted(remote.directory);
  for (const std::string& setting : remote.environment) text += " " + shell_quoted(setting);
  for (const std::string& word : remote.command) text += " " + shell_quoted(word);
  return text;
}

}  // namespace shoal
