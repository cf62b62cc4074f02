// OwnCarrier: messages of a node to itself. The payload is copied when it is sent.
#pragma once

#include <vector>

#include "base/check.h"
#include "transport/wire/carrier.h"

namespace shoal {

class OwnCarrier final : public Carrier {
 public:
  const char* name() const override { return "own"; }
  std::string contact() const override { return {}; }
  bool reaches(const std::string& contact) const override {
    (void)contact;
    return false;
  }
  void open(LifeId self, Sink& sink) override {
    self_ = self;
    sink_ = &sink;
  }
  void connect(LifeId peer, const std::string& contact) override {
    (void)contact;
    SHOAL_CHECK_EQ(peer.node, self_.node, "the own carrier reaches no other node");
  }
  void close(LifeId peer) override { (void)peer; }

  // The only carrier that calls the sink at once, because sender and receiver are the same.
  bool send(Flight& flight) override {
    auto parcel = std::make_unique<Own>();
    const auto bytes = flight.payload.bytes();
    parcel->frame = flight.header;
    parcel->bytes.assign(bytes.begin(), bytes.end());
    parcel->header = parcel->frame;
    parcel->payload_size = bytes.size();
    parcel->sender = self_;
    parcel->carrier = this;
    sink_->arrived(*parcel.release());
    return true;
  }
  bool fetch(Parcel& parcel, MutBuf room) override {
    copy(*in_place(parcel), room);
    return true;
  }
  bool stop(Parcel& parcel) override {
    (void)parcel;
    return true;
  }
  std::optional<ConstBuf> in_place(Parcel& parcel) override {
    const Own& own = static_cast<const Own&>(parcel);
    return ConstBuf{own.bytes.data(), Bytes(own.bytes.size())};
  }
  void release(Parcel& parcel) override { delete &parcel; }

 private:
  struct Own final : Parcel {
    HeaderBytes frame{};
    std::vector<std::byte> bytes;
  };
  LifeId self_;
  Sink* sink_ = nullptr;
};

}  // namespace shoal
