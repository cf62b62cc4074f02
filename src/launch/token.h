// The job's secret: 256 bits, written as 64 hexadecimal digits.
//
// It is never on a command line or in the environment, which others can read. shoal launch passes
// it by a descriptor; otherwise by a file that only its owner can read; and on one host under
// another launcher, by a file that rank 0 makes for the others.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "launch/place.h"

namespace shoal {

std::string new_token();  // from the system's random numbers

// Throws ConfigError, without repeating the text, if it is not a token (and perhaps a newline).
std::string parse_token(const std::string& text, const std::string& where);

// A descriptor, to be inherited, from which the token can be read repeatedly.
int token_descriptor(const std::string& token);

// Reads the file; throws ConfigError if others could read it too, or it belongs to another user.
std::string read_token_file(const std::string& path);

// The token of a job on one host whose launcher passes none: a file named after job and user. Rank
// 0 makes it, the others read it, and rank 0 removes it when all have joined, at the latest with
// this object. A file left by a dead job is replaced. Thread safety: none.
class SharedToken {
 public:
  // Waits for rank 0, but at most `patience`. Throws ConfigError.
  SharedToken(const Place& place, const std::string& folder, std::chrono::milliseconds patience);
  ~SharedToken();
  SharedToken(const SharedToken&) = delete;
  SharedToken& operator=(const SharedToken&) = delete;

  const std::string& token() const { return token_; }
  void all_have_joined();  // the file may be removed

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

// The secret of a process. `shared` is set if it came from a shared file.
struct Secret {
  std::string token;
  std::unique_ptr<SharedToken> shared;
};

// From SHOAL_TOKEN_FD, else SHOAL_TOKEN_FILE, else by a shared file, which requires a job on one
// host that listens on loopback. The descriptor is closed for programs that this one starts.
Secret find_secret(const Lookup& lookup, const Place& place,
                   std::chrono::milliseconds patience = std::chrono::seconds(30));

}  // namespace shoal
