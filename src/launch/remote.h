// Runs a rank on another host by ssh.
//
// ssh joins its arguments with spaces and a shell there splits them again, so every word is quoted.
// The command is a small script. It reads the token from its stdin, starts the program in a session
// of its own, and then reads lines: each is the name of a signal to pass on. At the end of stdin
// this process or the connection is gone, and the script kills the program.
#pragma once

#include <string>
#include <vector>

namespace shoal {

// Quotes any text as one word of a POSIX shell.
std::string shell_quoted(const std::string& word);

// The words before the host: $SHOAL_SSH, split at spaces, or ssh with defaults.
std::vector<std::string> ssh_words(const std::string& shoal_ssh);

struct RemoteCommand {
  std::string directory;
  std::vector<std::string> environment;  // "NAME=value", in addition to the variables there
  std::vector<std::string> command;
};
std::string remote_script(const RemoteCommand& remote);

}  // namespace shoal
