#include "launch/token.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "base/parse.h"
#include "launch/descriptor.h"

namespace shoal {
namespace {

constexpr std::size_t kDigits = 64;
constexpr std::size_t kReadMax = 1024;

// Reads to the end, or until the text is too long for a token. Works for files and pipes; a file is
// read from its beginning, even if another process has read from the same open file.
std::string read_all(int descriptor, const std::string& where) {
  std::string text;
  std::array<char, 256> room;
  while (text.size() < kReadMax) {
    ssize_t n = pread(descriptor, room.data(), room.size(), static_cast<off_t>(text.size()));
    if (n < 0 && errno == ESPIPE) n = read(descriptor, room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw ConfigError(
          fmt::format("the token cannot be read from {}: {}", where, std::strerror(errno)));
    if (n == 0) break;
    text.append(room.data(), static_cast<std::size_t>(n));
  }
  return text;
}

std::string token_of_descriptor(const std::string& number) {
  const std::string where = "SHOAL_TOKEN_FD=" + number;
  const auto descriptor = parse_number<int>(number, {.least = 0});
  if (!descriptor) throw ConfigError(where + " is not the number of a descriptor");
  std::string text = read_all(*descriptor, where);
  fcntl(*descriptor, F_SETFD, FD_CLOEXEC);
  return parse_token(text, where);
}

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

}  // namespace

std::string new_token() {
  std::array<unsigned char, kDigits / 2> bits;
  SHOAL_CHECK_EQ(getrandom(bits.data(), bits.size(), 0), static_cast<ssize_t>(bits.size()));
  std::string token;
  for (const unsigned char b : bits) token += fmt::format("{:02x}", b);
  return token;
}

std::string parse_token(const std::string& text, const std::string& where) {
  std::string token = text;
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.size() != kDigits || token.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw ConfigError(
        fmt::format("{} does not contain a token, which is {} hexadecimal digits as written by "
                    "`openssl rand -hex 32`",
                    where, kDigits));
  return token;
}

int token_descriptor(const std::string& token) {
  Descriptor memory(memfd_create("shoal-token", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  SHOAL_CHECK(memory.valid(), "memfd_create: {}", std::strerror(errno));
  write_all(memory.get(), token + "\n");
  lseek(memory.get(), 0, SEEK_SET);  // for processes that just read
  fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return memory.release();
}

std::string read_token_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid())
    throw ConfigError(
        fmt::format("the token file {} cannot be opened: {}", path, std::strerror(errno)));
  struct stat facts {};
  SHOAL_CHECK_EQ(fstat(file.get(), &facts), 0);
  if (!S_ISREG(facts.st_mode)) throw ConfigError(fmt::format("{} is not a plain file", path));
  if (facts.st_uid != geteuid())
    throw ConfigError(
        fmt::format("the token file {} belongs to user {}, not to user {}, who reads it", path,
                    facts.st_uid, geteuid()));
  if ((facts.st_mode & 077U) != 0)
    throw ConfigError(
        fmt::format("the token file {} has mode {:o}, so other users can read it; "
                    "chmod 600 it",
                    path, facts.st_mode & 0777U));
  return parse_token(read_all(file.get(), path), path);
}

std::string shared_token_folder(const Lookup& lookup) {
  const auto runtime = lookup("XDG_RUNTIME_DIR");
  return runtime && !runtime->empty() ? *runtime : "/tmp";
}

Secret find_secret(const Lookup& lookup, const Place& place, std::chrono::milliseconds patience) {
  if (const auto number = lookup("SHOAL_TOKEN_FD"); number && !number->empty())
    return {token_of_descriptor(*number), nullptr};
  if (const auto path = lookup("SHOAL_TOKEN_FILE"); path && !path->empty())
    return {read_token_file(*path), nullptr};
  if (place.world == 1) return {new_token(), nullptr};
  if (!is_loopback(place.master_addr))
    throw ConfigError(fmt::format(
        "rank {} of {} ({}) has no secret to join the others at {}; put one into a file "
        "(umask 077; openssl rand -hex 32 > FILE), on every host, and set SHOAL_TOKEN_FILE",
        place.rank, place.world, place.source, place.master_addr));
  auto shared = std::make_unique<SharedToken>(place, shared_token_folder(lookup), patience);
  std::string token = shared->token();
  return {std::move(token), std::move(shared)};
}

}  // namespace shoal
