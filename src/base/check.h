// Checks for bugs, on in release. User input gets an Error (base/error.h) instead.
//
//   SHOAL_CHECK(ready, "bucket {} left before it was ready", bucket);
//   SHOAL_CHECK_EQ(received.size, expected.size, "chunk {}", chunk);    // prints both values
#pragma once

#include <fmt/core.h>

#include <functional>
#include <string>
#include <string_view>

namespace shoal {

// Hooks run in reverse order of registration, after the message of a failed check is printed and
// before the process aborts: they dump the flight recorder, print the seed, or remove files.
class CrashHook {
 public:
  explicit CrashHook(std::function<void()> hook);
  ~CrashHook();
  CrashHook(const CrashHook&) = delete;
  CrashHook& operator=(const CrashHook&) = delete;

 private:
  std::function<void()> hook_;
};

namespace detail {
[[noreturn]] void check_failed(const char* file, int line, const char* expression,
                               std::string_view values, std::string_view message);

inline std::string check_message() { return {}; }
template <class... Args>
std::string check_message(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}
}  // namespace detail

}  // namespace shoal

#define SHOAL_CHECK(condition, ...)                                               \
  do {                                                                            \
    if (!(condition)) [[unlikely]]                                                \
      ::shoal::detail::check_failed(__FILE__, __LINE__, #condition, {},           \
                                    ::shoal::detail::check_message(__VA_ARGS__)); \
  } while (false)

#define SHOAL_CHECK_OP_(a, op, b, ...)                                                \
  do {                                                                                \
    const auto& check_a_ = (a);                                                       \
    const auto& check_b_ = (b);                                                       \
    if (!(check_a_ op check_b_)) [[unlikely]]                                         \
      ::shoal::detail::check_failed(__FILE__, __LINE__, #a " " #op " " #b,            \
                                    fmt::format("{} against {}", check_a_, check_b_), \
                                    ::shoal::detail::check_message(__VA_ARGS__));     \
  } while (false)

#define SHOAL_CHECK_EQ(a, b, ...) SHOAL_CHECK_OP_(a, ==, b __VA_OPT__(, ) __VA_ARGS__)
#define SHOAL_CHECK_NE(a, b, ...) SHOAL_CHECK_OP_(a, !=, b __VA_OPT__(, ) __VA_ARGS__)
#define SHOAL_CHECK_LE(a, b, ...) SHOAL_CHECK_OP_(a, <=, b __VA_OPT__(, ) __VA_ARGS__)
#define SHOAL_CHECK_LT(a, b, ...) SHOAL_CHECK_OP_(a, <, b __VA_OPT__(, ) __VA_ARGS__)
#define SHOAL_CHECK_GE(a, b, ...) SHOAL_CHECK_OP_(a, >=, b __VA_OPT__(, ) __VA_ARGS__)
#define SHOAL_CHECK_GT(a, b, ...) SHOAL_CHECK_OP_(a, >, b __VA_OPT__(, ) __VA_ARGS__)
