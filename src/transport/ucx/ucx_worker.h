// A UCX worker of our own settings, and the containment of its assertions.
#pragma once

#include <ucp/api/ucp.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "transport/ucx/ucx_carrier.h"

namespace shoal {

// UCX found itself in a state that it takes for impossible. In 1.13 that happens when a peer dies
// within the moment in which it connects (its answer is purged from a connection that is refused:
// assertion in ucp_request_send_state_ff, gone in 1.14). As shipped the process would abort. Here
// the library throws this through its own frames instead, and must not be called any more: the
// worker is abandoned, and the life of its node with it.
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
  // Never touch it again, and do not give it back either: it may be locked, or half changed.
  void abandon();
  bool abandoned() const { return worker_ == nullptr; }

 private:
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
};

}  // namespace shoal
