// A plain TCP socket, for behaviour that ControlLink would not allow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shoal {

// Blocking, with a limit on every wait. Closed with the object.
class RawSocket {
 public:
  static RawSocket connect_to(const std::string& address);
  static RawSocket listener();  // on loopback; connections stay pending until accept()
  RawSocket(RawSocket&& other) noexcept;
  RawSocket& operator=(RawSocket&&) = delete;
  ~RawSocket();

  std::string address() const;
  RawSocket accept();
  void write(std::string_view bytes);
  std::string read(std::size_t size);  // less at the end of the stream
  void close_with_reset();  // as the system does for a process that died with unread data

 private:
  explicit RawSocket(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace shoal
