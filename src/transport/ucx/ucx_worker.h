// A UCX worker with our own settings, which contains UCX's assertions.
#pragma once

#include <ucp/api/ucp.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "transport/ucx/ucx_carrier.h"

namespace shoal {

// UCX found an internal state that it takes for impossible. In 1.13 that happens when a peer dies
// at the moment when it connects (its answer is purged from a connection that is refused: assertion
// in ucp_request_send_state_ff, fixed in 1.14). By default the process would abort. Here the
// library throws this exception through its own frames, and must not be called any more: the worker
// is abandoned, and its node's incarnation with it.
class UcxBroken : public Error {
 public:
  using Error::Error;
};

std::string ucx_text(ucs_status_t status);

// Thread safety: one thread.
class UcxWorker {
 public:
  explicit UcxWorker(const UcxOptions& options);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  ucp_worker_h get() const { return worker_; }
  int descriptor() const { return descriptor_; }
  std::string address() const;
  // Never uses the worker again, and does not destroy it either: it may be locked, or half changed.
  void abandon();
  bool abandoned() const { return worker_ == nullptr; }

 private:
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
};

}  // namespace shoal
