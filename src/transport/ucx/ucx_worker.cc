#include "transport/ucx/ucx_worker.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <ucs/config/global_opts.h>
#include <ucs/sys/event_set.h>

#include <cstdarg>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

// These functions override the library's own of the same name.

// The original prints a backtrace and aborts.
extern "C" [[noreturn]] void ucs_fatal_error_format(const char* file, unsigned line,
                                                    const char* function, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::string text(512, '\0');
  const int size = std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  text.resize(std::min(text.size() - 1, static_cast<std::size_t>(std::max(size, 0))));
  throw shoal::UcxBroken(fmt::format("UCX broke at {}:{} ({}): {}", file, line, function, text));
}

namespace {

// The callback of a wait, and the events reported to it.
struct Told {
  ucs_event_set_handler_t handler;
  void* argument;
  bool left_out = false;
};

void tell_of_one_thing(void* connection, ucs_event_set_types_t events, void* argument) {
  Told& told = *static_cast<Told*>(argument);
  if ((events & UCS_EVENT_SET_EVREAD) != 0 && (events & UCS_EVENT_SET_EVWRITE) != 0) {
    told.left_out = true;
    events &= ~static_cast<unsigned>(UCS_EVENT_SET_EVWRITE);
  }
  told.handler(connection, events, told.argument);
}

void tell_of_writing(void* connection, ucs_event_set_types_t events, void* argument) {
  const Told& told = *static_cast<const Told*>(argument);
  if ((events & UCS_EVENT_SET_EVWRITE) != 0)
    told.handler(connection, UCS_EVENT_SET_EVWRITE, told.argument);
}

}  // namespace

// UCX's TCP reads from a connection that is ready for both directions, then writes to it, although
// the data read may have ended the connection: the peer's farewell, after we closed in the middle
// of a message. It continued in freed memory. Here a connection that is ready for writing is looked
// up again after the reading.
extern "C" ucs_status_t ucs_event_set_wait(ucs_sys_event_set_t* set, unsigned* count,
                                           int timeout_ms, ucs_event_set_handler_t handler,
                                           void* argument) {
  static const auto wait =
      reinterpret_cast<decltype(&ucs_event_set_wait)>(dlsym(RTLD_NEXT, "ucs_event_set_wait"));
  const unsigned most = *count;
  Told told{handler, argument};
  const ucs_status_t status = wait(set, count, timeout_ms, &tell_of_one_thing, &told);
  if (status != UCS_OK || !told.left_out) return status;
  unsigned writers = most;
  return wait(set, &writers, 0, &tell_of_writing, &told);
}

namespace shoal {
namespace {

[[noreturn]] void refuse(const std::string& what, ucs_status_t status) {
  throw ConfigError(fmt::format("UCX: {}: {}; see `shoal doctor` for what this machine offers",
                                what, ucx_text(status)));
}

sockaddr_storage parse_address(const std::string& text) {
  sockaddr_storage storage{};
  auto* const four = reinterpret_cast<sockaddr_in*>(&storage);
  auto* const six = reinterpret_cast<sockaddr_in6*>(&storage);
  if (inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
  } else if (inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
  } else {
    throw ConfigError(
        fmt::format("'{}' is not an address to listen on; give one such as 127.0.0.1", text));
  }
  return storage;
}

std::string_view bytes_of(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return {reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr),
            sizeof(in_addr)};
  if (address->sa_family == AF_INET6)
    return {
        reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr),
        sizeof(in6_addr)};
  return {};
}

// The network device with this address.
std::string device_of(const std::string& address) {
  const sockaddr_storage wanted = parse_address(address);
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw ConfigError("the network devices cannot be listed");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next)
    if (i->ifa_addr != nullptr &&
        bytes_of(i->ifa_addr) == bytes_of(reinterpret_cast<const sockaddr*>(&wanted)))
      return i->ifa_name;
  throw ConfigError(
      fmt::format("no network device of this machine has the address {} to listen on", address));
}

ucp_context_h make_context(const UcxOptions& options) {
  // Errors, above all lost peers, come back as a status, and we report them ourselves.
  ucs_global_opts_set_value("LOG_LEVEL", "fatal");
  ucp_config_t* config = nullptr;
  // Not from the environment: a job behaves the same wherever it is started.
  if (const ucs_status_t s = ucp_config_read(nullptr, nullptr, &config); s != UCS_OK)
    refuse("reading its configuration", s);
  const std::unique_ptr<ucp_config_t, decltype(&ucp_config_release)> owner(config,
                                                                           &ucp_config_release);
  const std::string segment = std::to_string(options.segment.value());
  std::vector<std::pair<std::string, std::string>> settings = {
      {"TLS", options.transports},
      {"NET_DEVICES", device_of(options.listen)},
      {"TX_SEG_SIZE", segment},  // UCX_TCP_TX_SEG_SIZE, which 1.13 knows only by this name
      {"RX_SEG_SIZE", segment},
      {"RNDV_THRESH", std::to_string(options.rendezvous.value())}};
  settings.insert(settings.end(), options.settings.begin(), options.settings.end());
  for (const auto& [name, value] : settings) {
    const ucs_status_t s = ucp_config_modify(config, name.c_str(), value.c_str());
    if (s != UCS_OK) refuse(fmt::format("setting {} to '{}'", name, value), s);
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  if (const ucs_status_t s = ucp_init(&params, config, &context); s != UCS_OK)
    refuse(fmt::format("no transport of '{}' at address {}", options.transports, options.listen),
           s);
  return context;
}

ucp_worker_h make_worker(ucp_context_h context) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  ucp_worker_h worker = nullptr;
  if (const ucs_status_t s = ucp_worker_create(context, &params, &worker); s != UCS_OK)
    refuse("making a worker", s);
  return worker;
}

}  // namespace

std::string ucx_text(ucs_status_t status) { return ucs_status_string(status); }

UcxWorker::UcxWorker(const UcxOptions& options)
    : context_(make_context(options)), worker_(make_worker(context_)) {
  if (const ucs_status_t s = ucp_worker_get_efd(worker_, &descriptor_); s != UCS_OK)
    refuse("a descriptor to sleep on", s);
}

std::string UcxWorker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t size = 0;
  if (const ucs_status_t s = ucp_worker_get_address(worker_, &address, &size); s != UCS_OK)
    refuse("its address", s);
  std::string bytes(reinterpret_cast<const char*>(address), size);
  ucp_worker_release_address(worker_, address);
  return bytes;
}

void UcxWorker::abandon() {
  worker_ = nullptr;
  context_ = nullptr;
}

UcxWorker::~UcxWorker() {
  if (abandoned()) return;
  try {
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  } catch (const UcxBroken&) {
    // The destructor may fail inside UCX: the rest is leaked.
  }
}

}  // namespace shoal
