// Running a rank on another host, by ssh.
//
// ssh joins its arguments with spaces and a shell there takes them apart again, so every word is
// quoted. The command is a small script, which takes the token from its stdin, starts the program
// in a session of its own, and then listens: a line is the name of a signal to pass on, and the end
// of stdin means that we, or the connection, are gone, so the program is killed.
#pragma once

#include <string>
#include <vector>

namespace shoal {

// As one word of a POSIX shell, whatever is in it.
std::string shell_quoted(const std::string& word);

// The words before the host: $SHOAL_SSH, taken apart at spaces, or ssh with its defaults.
std::vector<std::string> ssh_words(const std::string& shoal_ssh);

struct RemoteCommand {
  std::string directory;
  std::vector<std::string> environment;  // "NAME=value", in addition to what is set there
  std::vector<std::string> command;
};
std::string remote_script(const RemoteCommand& remote);

}  // namespace shoal
