#include "membership/messages.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "base/error.h"

namespace shoal {
namespace {

// One description of each struct serves both directions: an Archive writes or reads its argument,
// so the two cannot differ. Numbers are little-endian, strings and lists are counted.
class Writer {
 public:
  static constexpr bool kReads = false;
  template <class T>
  void number(const T& value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xffU));
  }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  void number(T& value) {
    const std::string_view bytes = next(sizeof(T));
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      all |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    value = static_cast<T>(all);
  }
  void text(std::string& value) {
    std::uint32_t size = 0;
    number(size);
    value = next(size);
  }
  std::size_t left() const { return rest_.size(); }
  [[noreturn]] static void fail(const std::string& what) {
    throw Corrupt("a message about membership " + what);
  }

 private:
  std::string_view next(std::size_t size) {
    if (size > rest_.size())
      fail(fmt::format("is cut off: {} bytes of {} are there", rest_.size(), size));
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string_view rest_;
};

// In the order of the fields; A is a Writer and T const, or A is a Reader.
template <class A, class T>
void pass(A& archive, T& value);

template <class A, class T>
void pass_list(A& archive, T& list) {
  auto count = static_cast<std::uint32_t>(list.size());
  archive.number(count);
  if constexpr (A::kReads) {
    // Every element takes at least a byte, so a count cannot make us allocate more than was sent.
    if (count > archive.left()) A::fail(fmt::format("claims a list of {}", count));
    list.resize(count);
  }
  for (auto& item : list) pass(archive, item);
}

template <class A, class E>
void pass_enum(A& archive, E& value, std::remove_const_t<E> last) {
  auto number = static_cast<std::uint8_t>(value);
  archive.number(number);
  if constexpr (A::kReads) {
    if (number > static_cast<std::uint8_t>(last)) A::fail(fmt::format("has a kind {}", number));
    value = static_cast<E>(number);
  }
}

template <class A, class... Fields>
void pass_all(A& archive, Fields&... fields) {
  (pass(archive, fields), ...);
}

template <class T>
inline constexpr bool kIsId = false;
template <class Name, class Rep>
inline constexpr bool kIsId<Id<Name, Rep>> = true;
template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <class A, class T>
void pass(A& archive, T& value) {
  using Bare = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Bare, bool>) {
    auto number = static_cast<std::uint8_t>(value);
    archive.number(number);
    if constexpr (A::kReads) {
      if (number > 1) A::fail(fmt::format("has {} instead of yes or no", number));
      value = number == 1;
    }
  } else if constexpr (std::is_integral_v<Bare>) {
    archive.number(value);
  } else if constexpr (std::is_same_v<Bare, std::string>) {
    archive.text(value);
  } else if constexpr (kIsId<Bare>) {
    typename Bare::rep number = value.value();
    archive.number(number);
    if constexpr (A::kReads) value = Bare(number);
  } else if constexpr (kIsList<Bare>) {
    pass_list(archive, value);
  } else if constexpr (std::is_same_v<Bare, Role>) {
    pass_enum(archive, value, Role::Server);
  } else if constexpr (std::is_same_v<Bare, Ending>) {
    pass_enum(archive, value, Ending::Complete);
  } else if constexpr (std::is_same_v<Bare, Refusal>) {
    pass_enum(archive, value, Refusal::NotCoordinator);
  } else if constexpr (std::is_same_v<Bare, Member>) {
    pass_all(archive, value.node, value.role, value.process, value.host, value.incarnation);
  } else if constexpr (std::is_same_v<Bare, ProcessInfo>) {
    pass_all(archive, value.host, value.process, value.instance);
  } else if constexpr (std::is_same_v<Bare, Admitted>) {
    pass_all(archive, value.member, value.process, value.contact);
  } else if constexpr (std::is_same_v<Bare, Roster>) {
    pass_all(archive, value.generation, value.rows, value.reason, value.ending);
  } else if constexpr (std::is_same_v<Bare, Accusation>) {
    pass_all(archive, value.node, value.incarnation, value.why);
  } else if constexpr (std::is_same_v<Bare, Applicant>) {
    pass_all(archive, value.node, value.role, value.incarnation, value.contact);
  } else if constexpr (std::is_same_v<Bare, Join>) {
    archive.number(value.protocol);
    if (value.protocol != kMembershipProtocol) return;
    pass_all(archive, value.job, value.process, value.host, value.attempt, value.seen, value.nodes,
             value.accusations);
  } else if constexpr (std::is_same_v<Bare, Heartbeat>) {
    pass(archive, value.lives);
  } else if constexpr (std::is_same_v<Bare, Heartbeat::Life>) {
    pass_all(archive, value.node, value.incarnation);
  } else if constexpr (std::is_same_v<Bare, Accuse>) {
    pass_all(archive, value.by, value.accusation);
  } else if constexpr (std::is_same_v<Bare, EndJob>) {
    pass_all(archive, value.by, value.how, value.why);
  } else if constexpr (std::is_same_v<Bare, Leave> || std::is_same_v<Bare, Farewell>) {
    pass(archive, value.node);
  } else if constexpr (std::is_same_v<Bare, Published>) {
    pass(archive, value.roster);
  } else if constexpr (std::is_same_v<Bare, Evicted>) {
    pass_all(archive, value.node, value.incarnation, value.why);
  } else {
    static_assert(std::is_same_v<Bare, Refused>);
    pass_all(archive, value.kind, value.why);
  }
}

template <std::size_t I = 0>
Message message_of_kind(std::size_t kind) {
  if constexpr (I == std::variant_size_v<Message>) {
    Reader::fail(fmt::format("is of an unknown kind, {}", kind));
  } else {
    return I == kind ? Message(std::in_place_index<I>) : message_of_kind<I + 1>(kind);
  }
}

}  // namespace

std::string describe(const ProcessInfo& process) {
  return fmt::format("process {} on {}", process.process, process.host);
}

View Roster::view() const {
  View view;
  view.generation = generation;
  view.ending = ending;
  for (const Admitted& row : rows) view.members.push_back(row.member);
  return view;
}

Contacts contacts_of(const Roster& roster) {
  Contacts contacts;
  for (const Admitted& row : roster.rows)
    contacts[row.member.node] = Contact{row.member.incarnation, row.contact};
  return contacts;
}

std::string encode(const Message& message) {
  Writer writer;
  writer.number(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& m) { pass(writer, m); }, message);
  return writer.take();
}

Message decode(std::string_view bytes) {
  Reader reader(bytes);
  std::uint8_t kind = 0;
  reader.number(kind);
  Message message = message_of_kind(kind);
  std::visit([&](auto& m) { pass(reader, m); }, message);
  const Join* const join = std::get_if<Join>(&message);
  const bool foreign = join != nullptr && join->protocol != kMembershipProtocol;
  if (reader.left() > 0 && !foreign)
    Reader::fail(fmt::format("has {} bytes too many", reader.left()));
  return message;
}

}  // namespace shoal
