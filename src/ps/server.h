// The server: serves the shards of which it is the head, and follows the holder before it in the
// chains of the others. Li et al., "Scaling Distributed Machine Learning with the Parameter
// Server", OSDI 2014.
//
//   worker_handler.h       workers enter and leave
//   step_handler.h         a worker's step: push, read; read_gate.h, delay_compensation.h
//   share_handler.h        shares of samples
//   round_handler.h        rounds of logical shards
//   norm_handler.h         updates that need norms
//   epoch_end_handler.h    tasks at an epoch's end, snapshots
//   gradient_forms.h       a gradient in the form in which it was pushed
//   chain_replication.h    every change as a record, down the chain of holders
//
// A push:  read the gradient in place; wait until it is admitted; commit a record of it;
//          answer when the last holder has it, and the gate lets the worker read; parameters follow
//          in pieces, each as soon as the update has computed it.
//
// Symbols: S servers, R copies, N parameters; consistency.h has the gates.
// Cost of a push and a read, of all shards: 2S messages of N/S to and from the worker; R - 1 more
//   of N/S for each shard; the update of N/S at each holder.
// Deviations: a read is answered by the head, not by the last holder: it may see a push that is not
//   acknowledged yet, and that is repeated if all its holders are lost.
// Failure: a push that was acknowledged is at every holder; it is lost only with all of them, and
//   then the shard is loaded from its last checkpoint. A push is known by (worker, life, clock),
//   and is applied once, even if it is sent several times. No worker waits for a lost one: gates
//   count the clocks of the view's workers.
#pragma once

#include <optional>
#include <vector>

#include "ps/answer_sender.h"
#include "ps/chain_replication.h"
#include "ps/client.h"
#include "ps/epoch_end_handler.h"
#include "ps/gradient_forms.h"
#include "ps/norm_handler.h"
#include "ps/requests.h"
#include "ps/round_handler.h"
#include "ps/server_context.h"
#include "ps/shard_directories.h"
#include "ps/share_handler.h"
#include "ps/step_handler.h"
#include "ps/worker_handler.h"
#include "runtime/node.h"
#include "runtime/task.h"

namespace shoal {

class Server {
 public:
  Server(Node& node, ShardDirectories& directories, std::vector<ShardCut> cuts, Substance substance,
         const UpdatePlan& plan, const SampleScheduler& scheduler, ShardLoader& loader,
         ServerOptions options);

  // Serves until it is cancelled. It must live until kServing is retired for good.
  Task<void> run();
  std::vector<Holding> holdings() const;

 private:
  // ---- Requests
  Task<void> take_requests();
  Task<void> serve(NodeId from, AnyRequest request);
  Task<void> dispatch(NodeId from, AnyRequest request, std::optional<Gradient> part);
  Task<void> refuse(NodeId from, const AnyRequest& request, RequestOutcome outcome);

  // ---- Views
  Task<void> follow_directories();
  Task<void> watch_views();

  ShardDirectories& directories_;
  ServerContext context_;
  Client client_;
  ChainReplication chain_;
  AnswerSender answers_;
  GradientForms forms_;
  NormHandler norms_;
  WorkerHandler workers_;
  ShareHandler shares_;
  RoundHandler rounds_;
  StepHandler steps_;
  EpochEndHandler epoch_ends_;
  RequestFrame incoming_;
};

}  // namespace shoal
