#include "transport/ucx/ucx_carrier.h"

#include <fmt/core.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "transport/ucx/transfer_rate.h"
#include "transport/ucx/ucx_worker.h"

namespace shoal {
namespace {

constexpr std::uint32_t kLanesMax = 16;
// A lane has a connection for each direction. A large message begins when its receiver has asked
// for it. That request would wait behind messages to the same peer, so two nodes that send to each
// other would take turns.
constexpr std::size_t kDirections = 2;

// Thread safety: that of Carrier. Invariants:
// 1. Callbacks of UCX only record events, which are handled after ucp_worker_progress().
// 2. A failed endpoint is closed once, outside of its error callback.
// 3. Once the worker is abandoned, UCX is not called any more; everything it held has been
//    returned.
class UcxCarrier final : public Carrier, private Poller {
 public:
  UcxCarrier(LiveLoop& loop, const UcxOptions& options)
      : loop_(&loop), options_(options), worker_(options), contact_(worker_.address()) {}
  ~UcxCarrier() override;
  UcxCarrier(const UcxCarrier&) = delete;
  UcxCarrier& operator=(const UcxCarrier&) = delete;

  const char* name() const override { return "ucx"; }
  std::string contact() const override { return contact_; }
  bool reaches(const std::string& contact) const override { return !contact.empty(); }
  std::uint32_t lanes() const override { return options_.lanes; }
  void open(LifeId self, Sink& sink) override;
  void connect(LifeId peer, const std::string& contact) override;
  void close(LifeId peer) override;
  bool send(Flight& flight) override;
  bool fetch(Parcel& parcel, MutBuf room) override;
  bool stop(Parcel& parcel) override {
    (void)parcel;
    return false;  // a rendezvous that has begun cannot be withdrawn
  }
  std::optional<ConstBuf> in_place(Parcel& parcel) override;
  void release(Parcel& parcel) override;

 private:
  struct Message final : Parcel {
    HeaderBytes frame{};
    void* data = nullptr;     // a descriptor if `rendezvous`, else the payload
    bool rendezvous = false;  // the payload is still with its sender
    ucs_status_t status = UCS_INPROGRESS;
  };
  // One endpoint of UCX.
  struct Line {
    UcxCarrier* carrier = nullptr;
    LifeId peer;
    ucp_ep_h ep = nullptr;
    ucs_status_t error = UCS_OK;
    bool closed = false;
  };
  using LinePtr = std::unique_ptr<Line>;
  struct Sent {
    Flight* flight;
    ucs_status_t status;
  };
  struct Handler {
    UcxCarrier* carrier;
    std::uint32_t lane;
  };

  static ucs_status_t on_message(void* handler, const void* header, std::size_t header_size,
                                 void* data, std::size_t size, const ucp_am_recv_param_t* param);
  static void on_sent(void* request, ucs_status_t status, void* flight);
  static void on_fetched(void* request, ucs_status_t status, std::size_t size, void* message);
  static void on_error(void* line, ucp_ep_h ep, ucs_status_t status);

  bool poll() override;
  bool arm() override;
  Duration ahead() const override { return rate_.ahead(); }
  bool deliver();
  LinePtr make_line(LifeId peer, const std::string& contact);
  void close_line(LinePtr line);
  void reap();
  void broke(const std::string& why);

  LiveLoop* loop_;
  const UcxOptions options_;
  UcxWorker worker_;
  const std::string contact_;
  Sink* sink_ = nullptr;
  std::vector<std::unique_ptr<Handler>> handlers_;
  LifeId self_;
  std::map<LifeId, std::vector<LinePtr>> peers_;  // kDirections lines for each lane
  std::vector<LinePtr> closed_;                   // kept while UCX may refer to them
  std::vector<void*> closing_;                    // requests
  // Held by UCX.
  List<Flight, struct InCarrier> sending_;
  List<Parcel, struct InCarrier> fetching_;
  TransferRate rate_;  // of these
  // Recorded by the callbacks since the last turn.
  std::vector<Message*> arrived_;
  std::vector<Sent> sent_;
  std::vector<Message*> fetched_;
  std::vector<Line*> broken_;
  std::optional<std::string> broken_why_;
};

void UcxCarrier::open(LifeId self, Sink& sink) {
  self_ = self;
  sink_ = &sink;
  // Each lane has a number, so that the receiver knows which order applies.
  for (std::uint32_t lane = 0; lane < kLanesMax; ++lane) {
    Handler& handler = *handlers_.emplace_back(std::make_unique<Handler>(Handler{this, lane}));
    ucp_am_handler_param_t params{};
    params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                        UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    params.id = lane;
    params.flags = UCP_AM_FLAG_WHOLE_MSG | UCP_AM_FLAG_PERSISTENT_DATA;
    params.cb = &UcxCarrier::on_message;
    params.arg = &handler;
    const ucs_status_t s = ucp_worker_set_am_recv_handler(worker_.get(), &params);
    SHOAL_CHECK(s == UCS_OK, "UCX: active messages: {}", ucx_text(s));
  }
  loop_->watch(worker_.descriptor(), [] {});  // it only wakes the loop; the turn polls
  loop_->add_poller(*this, options_.spin);
}

UcxCarrier::~UcxCarrier() {
  if (sink_ != nullptr) {
    loop_->remove_poller(*this);
    if (!worker_.abandoned()) loop_->unwatch(worker_.descriptor());
  }
  try {
    while (!peers_.empty()) close(peers_.begin()->first);
    while (!closing_.empty()) {
      ucp_worker_progress(worker_.get());
      reap();
    }
  } catch (const UcxBroken&) {
    worker_.abandon();
  }
  for (Message* message : arrived_) release(*message);
}

// ---- Connections

UcxCarrier::LinePtr UcxCarrier::make_line(LifeId peer, const std::string& contact) {
  auto line = std::make_unique<Line>();
  line->carrier = this;
  line->peer = peer;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(contact.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &UcxCarrier::on_error;
  params.err_handler.arg = line.get();
  const ucs_status_t s = ucp_ep_create(worker_.get(), &params, &line->ep);
  if (s != UCS_OK) {
    line->ep = nullptr;
    line->error = s;
    broken_.push_back(line.get());
  }
  return line;
}

void UcxCarrier::connect(LifeId life, const std::string& contact) {
  std::vector<LinePtr>& lines = peers_[life];
  if (worker_.abandoned()) return;
  try {
    while (lines.size() < kDirections * options_.lanes) lines.push_back(make_line(life, contact));
  } catch (const UcxBroken& error) {
    broke(error.what());
  }
}

void UcxCarrier::on_error(void* arg, ucp_ep_h ep, ucs_status_t status) {
  (void)ep;
  Line& line = *static_cast<Line*>(arg);
  if (line.error != UCS_OK || line.closed) return;
  line.error = status;
  line.carrier->broken_.push_back(&line);
}

void UcxCarrier::close(LifeId life) {
  const auto it = peers_.find(life);
  if (it == peers_.end()) return;
  auto node = peers_.extract(it);
  for (LinePtr& line : node.mapped()) close_line(std::move(line));
}

// By force: transfers in flight end soon. Never call it inside a callback of UCX.
void UcxCarrier::close_line(LinePtr line) {
  line->closed = true;
  ucp_ep_h ep = line->ep;
  closed_.push_back(std::move(line));
  if (ep == nullptr || worker_.abandoned()) return;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  try {
    void* const request = ucp_ep_close_nbx(ep, &params);
    if (UCS_PTR_IS_PTR(request)) closing_.push_back(request);
  } catch (const UcxBroken& error) {
    broke(error.what());
  }
}

void UcxCarrier::reap() {
  std::erase_if(closing_, [](void* request) {
    if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
    ucp_request_free(request);
    return true;
  });
  if (closing_.empty() && broken_.empty()) closed_.clear();
}

// The end of this carrier: UCX holds nothing more because it is no longer called.
void UcxCarrier::broke(const std::string& why) {
  if (worker_.abandoned()) return;
  loop_->unwatch(worker_.descriptor());
  worker_.abandon();
  rate_ = TransferRate();
  closing_.clear();
  while (!sending_.empty()) sent_.push_back({&sending_.pop_front(), UCS_ERR_UNREACHABLE});
  while (!fetching_.empty()) {
    Message& message = static_cast<Message&>(fetching_.pop_front());
    message.status = UCS_ERR_UNREACHABLE;
    fetched_.push_back(&message);
  }
  broken_why_ = why;
}

// ---- Sending

bool UcxCarrier::send(Flight& flight) {
  const auto it = peers_.find(flight.to);
  const std::size_t line = kDirections * flight.lane + (self_ < flight.to ? 0 : 1);
  const bool connected = it != peers_.end() && line < it->second.size();
  ucp_ep_h ep = connected ? it->second[line]->ep : nullptr;
  if (ep == nullptr || worker_.abandoned()) {
    sent_.push_back({&flight, UCS_ERR_NOT_CONNECTED});
    return false;
  }
  const auto payload = flight.payload.bytes();
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = &UcxCarrier::on_sent;
  params.user_data = &flight;
  flight.request = this;
  sending_.push_back(flight);
  try {
    void* const request =
        ucp_am_send_nbx(ep, flight.lane, flight.header.data(), flight.header.size(), payload.data(),
                        payload.size(), &params);
    if (UCS_PTR_IS_PTR(request)) {
      rate_.began(flight.payload.size, loop_->turn_time());
      return false;
    }
    static_cast<ListHook<InCarrier>&>(flight).unlink();
    if (request == nullptr) return true;
    sent_.push_back({&flight, UCS_PTR_STATUS(request)});
  } catch (const UcxBroken& error) {
    broke(error.what());
  }
  return false;
}

void UcxCarrier::on_sent(void* request, ucs_status_t status, void* user) {
  Flight& flight = *static_cast<Flight*>(user);
  UcxCarrier& carrier = *static_cast<UcxCarrier*>(flight.request);
  static_cast<ListHook<InCarrier>&>(flight).unlink();
  carrier.rate_.ended(flight.payload.size, carrier.loop_->turn_time());
  carrier.sent_.push_back({&flight, status});
  ucp_request_free(request);
}

// ---- Receiving

ucs_status_t UcxCarrier::on_message(void* arg, const void* header, std::size_t header_size,
                                    void* data, std::size_t size,
                                    const ucp_am_recv_param_t* param) {
  const Handler& handler = *static_cast<Handler*>(arg);
  auto message = std::make_unique<Message>();
  const std::size_t kept = std::min(header_size, message->frame.size());
  std::copy_n(static_cast<const std::byte*>(header), kept, message->frame.begin());
  message->header = std::span<const std::byte>(message->frame).first(kept);
  message->payload_size = size;
  message->lane = handler.lane;
  message->carrier = handler.carrier;
  message->rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  const bool keep = message->rendezvous || (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
  SHOAL_CHECK(keep || size == 0, "UCX gave {} bytes that do not persist", size);
  if (keep) message->data = data;
  handler.carrier->arrived_.push_back(message.release());
  return keep ? UCS_INPROGRESS : UCS_OK;
}

std::optional<ConstBuf> UcxCarrier::in_place(Parcel& parcel) {
  const Message& message = static_cast<const Message&>(parcel);
  if (message.rendezvous) return std::nullopt;
  return ConstBuf{static_cast<const std::byte*>(message.data), Bytes(message.payload_size)};
}

bool UcxCarrier::fetch(Parcel& parcel, MutBuf room) {
  if (const auto here = in_place(parcel)) {
    copy(*here, room);
    return true;
  }
  Message& message = static_cast<Message&>(parcel);
  message.status = UCS_ERR_UNREACHABLE;
  if (worker_.abandoned()) {
    fetched_.push_back(&message);
    return false;
  }
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.recv_am = &UcxCarrier::on_fetched;
  params.user_data = &message;
  // From here on UCX owns the descriptor again, whatever the result.
  void* const data = std::exchange(message.data, nullptr);
  fetching_.push_back(message);
  try {
    void* const request =
        ucp_am_recv_data_nbx(worker_.get(), data, room.data, message.payload_size, &params);
    if (UCS_PTR_IS_PTR(request)) {
      rate_.began(Bytes(message.payload_size), loop_->turn_time());
      return false;
    }
    static_cast<ListHook<InCarrier>&>(message).unlink();
    if (request == nullptr) return true;
    message.status = UCS_PTR_STATUS(request);
    fetched_.push_back(&message);
  } catch (const UcxBroken& error) {
    broke(error.what());
  }
  return false;
}

void UcxCarrier::on_fetched(void* request, ucs_status_t status, std::size_t size, void* user) {
  (void)size;
  Message& message = *static_cast<Message*>(user);
  UcxCarrier& carrier = *static_cast<UcxCarrier*>(message.carrier);
  static_cast<ListHook<InCarrier>&>(message).unlink();
  carrier.rate_.ended(Bytes(message.payload_size), carrier.loop_->turn_time());
  message.status = status;
  carrier.fetched_.push_back(&message);
  ucp_request_free(request);
}

void UcxCarrier::release(Parcel& parcel) {
  Message& message = static_cast<Message&>(parcel);
  if (message.data != nullptr && !worker_.abandoned()) {
    try {
      ucp_am_data_release(worker_.get(), message.data);
    } catch (const UcxBroken& error) {
      broke(error.what());
    }
  }
  delete &message;
}

// ---- The loop's turn

bool UcxCarrier::poll() {
  constexpr int kProgressMax = 64;  // coroutines run in between
  int rounds = 0;
  if (!worker_.abandoned()) {
    try {
      // Messages are delivered before UCX looks for more.
      while (rounds < kProgressMax && arrived_.empty() && ucp_worker_progress(worker_.get()) != 0)
        ++rounds;
      reap();
    } catch (const UcxBroken& error) {
      broke(error.what());
    }
  }
  const bool delivered = deliver();
  return rounds > 0 || delivered;
}

bool UcxCarrier::arm() {
  if (!arrived_.empty() || !sent_.empty() || !fetched_.empty() || !broken_.empty()) return false;
  return worker_.abandoned() || ucp_worker_arm(worker_.get()) == UCS_OK;
}

// Messages before a loss are delivered before it.
bool UcxCarrier::deliver() {
  if (broken_why_) sink_->broken(*std::exchange(broken_why_, std::nullopt));
  if (arrived_.empty() && sent_.empty() && fetched_.empty() && broken_.empty()) return false;
  for (Message* message : std::exchange(arrived_, {})) sink_->arrived(*message);
  for (Message* message : std::exchange(fetched_, {}))
    sink_->fetched(*message, message->status == UCS_OK ? "" : ucx_text(message->status));
  for (const Sent& s : std::exchange(sent_, {})) {
    if (s.status == UCS_OK) {
      sink_->sent(*s.flight);
    } else {
      sink_->failed(*s.flight, ucx_text(s.status));
    }
  }
  for (Line* line : std::exchange(broken_, {}))
    if (!line->closed) sink_->lost(line->peer, ucx_text(line->error));
  return true;
}

}  // namespace

std::unique_ptr<Carrier> make_ucx_carrier(LiveLoop& loop, const UcxOptions& options) {
  if (options.lanes == 0 || options.lanes > kLanesMax)
    throw ConfigError(
        fmt::format("{} connections per peer: choose 1 to {}", options.lanes, kLanesMax));
  return std::make_unique<UcxCarrier>(loop, options);
}

}  // namespace shoal
