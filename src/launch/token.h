// The job's secret as a launcher hands it on: 256 bits, written as 64 hexadecimal digits.
//
// It is never on a command line nor in the environment: those can be read by others. shoal launch
// passes a descriptor; without it, a file that only its owner can read; and on one host under
// another launcher, a file that rank 0 makes for the others.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "launch/place.h"

namespace shoal {

std::string new_token();  // from the system's random numbers

// Throws ConfigError when the text, less a newline at its end, is no token; does not repeat it.
std::string parse_token(const std::string& text, const std::string& where);

// A descriptor, to be inherited, from which the token can be read again and again.
int token_descriptor(const std::string& token);

// Reads the file; throws ConfigError when others could read it too, or it is another user's.
std::string read_token_file(const std::string& path);

// The token of a job on one host whose launcher passes none: a file named after job and user, made
// by rank 0, read by the others, removed by rank 0 when all have joined, at the latest when this
// ends. A file that a dead job has left is replaced.
// Thread safety: none.
class SharedToken {
 public:
  // Waits for rank 0, but no longer than `patience`. Throws ConfigError.
  SharedToken(const Place& place, const std::string& folder, std::chrono::milliseconds patience);
  ~SharedToken();
  SharedToken(const SharedToken&) = delete;
  SharedToken& operator=(const SharedToken&) = delete;

  const std::string& token() const { return token_; }
  void all_have_joined();  // the file may go

 private:
  void make(const std::string& folder);
  void wait_for(std::chrono::milliseconds patience);

  Place place_;
  std::string path_;
  bool ours_ = false;
  std::string token_;
};

// $XDG_RUNTIME_DIR, or /tmp.
std::string shared_token_folder(const Lookup& lookup);

// What a process of a job begins with. `shared` is set when the job meets by a shared file.
struct Secret {
  std::string token;
  std::unique_ptr<SharedToken> shared;
};

// From SHOAL_TOKEN_FD, else SHOAL_TOKEN_FILE, else by a shared file, which only a job on one host
// can use that meets on loopback. The descriptor is closed for programs that this one starts.
Secret find_secret(const Lookup& lookup, const Place& place,
                   std::chrono::milliseconds patience = std::chrono::seconds(30));

}  // namespace shoal
