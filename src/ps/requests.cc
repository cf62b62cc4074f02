#include "ps/requests.h"

namespace shoal {
namespace {

struct AttachmentOf {
  Attachment operator()(const TrainRequest& request) const {
    return {request.push.samples > 0, request.push.form, false};
  }
  Attachment operator()(const PushSumRequest&) const { return {true, {}, false}; }
  Attachment operator()(const EndOfEpochRequest& request) const {
    return {false, {}, request.done == EndOfEpochTask::SendBuffers};
  }
  template <class Other>
  Attachment operator()(const Other&) const {
    return {};
  }
};

}  // namespace

Attachment attachment_of(const AnyRequest& request) { return std::visit(AttachmentOf{}, request); }

}  // namespace shoal
