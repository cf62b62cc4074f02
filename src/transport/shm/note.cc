#include "transport/shm/note.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/check.h"
#include "base/error.h"

namespace shoal::shm {
namespace {

constexpr std::size_t kDescriptorsMax = 2;

struct SocketName {
  sockaddr_un at{};
  socklen_t size = 0;
};

SocketName socket_name(const std::string& name) {
  SocketName address;
  address.at.sun_family = AF_UNIX;
  SHOAL_CHECK_LT(name.size(), sizeof address.at.sun_path - 1);
  // A first byte of 0 makes the name abstract: it is in no file system and ends with its socket.
  std::memcpy(address.at.sun_path + 1, name.data(), name.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

std::vector<UniqueFd> take_descriptors(msghdr& message) {
  std::vector<UniqueFd> descriptors;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(descriptor);
    }
  }
  return descriptors;
}

}  // namespace

Note make_note(NoteKind kind, LifeId from, LifeId to) {
  Note note;
  note.kind = kind;
  note.from_node = from.node.value();
  note.from_incarnation = from.incarnation.value();
  note.to_node = to.node.value();
  note.to_incarnation = to.incarnation.value();
  return note;
}

Note make_refusal(std::string_view why) {
  Note note;
  note.kind = NoteKind::Refusal;
  why = why.substr(0, note.text.size() - 1);
  std::copy(why.begin(), why.end(), note.text.begin());
  return note;
}

std::string text_of(const Note& note) {
  return {note.text.begin(), std::find(note.text.begin(), note.text.end(), '\0')};
}

Nonce fresh_nonce() {
  Nonce nonce;
  SHOAL_CHECK_EQ(getrandom(nonce.data(), nonce.size(), 0), ssize_t{nonce.size()});
  return nonce;
}

Mac mac_of(const std::string& key, const Note& note, const Nonce& challenge, const Nonce& hello) {
  struct {
    Nonce challenge;
    Nonce hello;
    std::array<std::uint32_t, 6> who;
  } const proven{challenge,
                 hello,
                 {note.version, static_cast<std::uint32_t>(note.kind), note.from_node,
                  note.from_incarnation, note.to_node, note.to_incarnation}};
  static_assert(sizeof proven == 88);
  Mac mac{};
  unsigned size = 0;
  SHOAL_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                   reinterpret_cast<const unsigned char*>(&proven), sizeof proven, mac.data(),
                   &size) != nullptr);
  SHOAL_CHECK_EQ(size, mac.size());
  return mac;
}

bool same_mac(const Mac& a, const Mac& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

UniqueFd make_socket() {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd)
    throw Error(fmt::format("cannot make a unix socket: {}; ulimit -n?", std::strerror(errno)));
  return fd;
}

UniqueFd listen_at(const std::string& name) {
  UniqueFd fd = make_socket();
  const SocketName address = socket_name(name);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.at), address.size) != 0 ||
      listen(fd.get(), SOMAXCONN) != 0)
    throw Error(fmt::format("the unix socket @{}: {}", name, std::strerror(errno)));
  return fd;
}

int connect_to(const UniqueFd& fd, const std::string& name) {
  const SocketName address = socket_name(name);
  const int result =
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.at), address.size);
  return result == 0 ? 0 : errno;
}

Other other_end(const UniqueFd& fd) {
  ucred who{};
  socklen_t size = sizeof who;
  SHOAL_CHECK_EQ(getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &who, &size), 0);
  return {who.uid, who.pid};
}

Sent send_note(const UniqueFd& fd, const Note& note, std::span<const int> descriptors) {
  iovec part{const_cast<Note*>(&note), sizeof note};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    SHOAL_CHECK_LE(descriptors.size(), kDescriptorsMax);
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(c), descriptors.data(), descriptors.size_bytes());
  }
  if (sendmsg(fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) == ssize_t{sizeof note})
    return Sent::Yes;
  // Too many descriptors in flight is as temporary as a full buffer.
  const bool full = errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS || errno == EINTR;
  return full ? Sent::Full : Sent::Broken;
}

ReceivedNote receive_note(const UniqueFd& fd) {
  ReceivedNote received;
  iovec part{&received.note, sizeof received.note};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t n = recvmsg(fd.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  // A peer that ended without reading all our messages resets the connection; its earlier messages
  // are still there.
  if (n < 0 && errno == ECONNRESET) {
    message.msg_controllen = control.size();
    n = recvmsg(fd.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return received;
  if (n <= 0) {
    received.got = Got::End;
    received.why = n == 0 ? "its process ended or closed the connection" : std::strerror(errno);
    return received;
  }
  received.descriptors = take_descriptors(message);
  received.got = Got::Note;
  const Note expected;
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    received.got = Got::Nonsense;
    received.why = "it passes more file descriptors than this process can take (ulimit -n?)";
  } else if (n != ssize_t{sizeof(Note)} || (message.msg_flags & MSG_TRUNC) != 0 ||
             received.note.magic != expected.magic) {
    received.got = Got::Nonsense;
    received.why = fmt::format("corrupt connection: {} bytes that are not a note", n);
  } else if (received.note.version != expected.version) {
    received.got = Got::Nonsense;
    received.why = fmt::format(
        "it speaks version {} of shared memory, we speak {}; run the same build everywhere",
        received.note.version, expected.version);
  }
  return received;
}

UniqueFd make_doorbell() {
  UniqueFd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) throw Error(fmt::format("eventfd: {}; ulimit -n?", std::strerror(errno)));
  return fd;
}

bool is_doorbell(const UniqueFd& descriptor) {
  std::array<char, 64> target{};
  const std::string link = fmt::format("/proc/self/fd/{}", descriptor.get());
  const ssize_t n = readlink(link.c_str(), target.data(), target.size());
  const int flags = fcntl(descriptor.get(), F_GETFL);
  return n > 0 &&
         std::string_view(target.data(), static_cast<std::size_t>(n)) == "anon_inode:[eventfd]" &&
         flags >= 0 && (flags & O_NONBLOCK) != 0;
}

void ring(const UniqueFd& doorbell) {
  const std::uint64_t one = 1;
  // A full counter was rung often enough.
  [[maybe_unused]] const ssize_t n = write(doorbell.get(), &one, sizeof one);
}

}  // namespace shoal::shm
