#include "sync/in_step.h"

#include "base/setting_list.h"
#include "encoded/encode_settings.h"

namespace shoal {
namespace {

std::vector<std::string> exchanges() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kExchanges; ++i)
    names.emplace_back(to_string(static_cast<Exchange>(i)));
  return names;
}

}  // namespace

std::vector<Setting> settings_of(InStep& r) {
  SettingList list;
  list.form("exchange", r.exchange, parse_exchange, exchanges(),
            "algorithm that sums gradients, or models; auto: chosen by measured costs");
  list.named("order", r.order, kSendOrderNames,
             "order of sending gradients: fifo, all after the backward pass; wfbp, as the backward "
             "pass produces them; priority, first layers first, overlapped with the next forward "
             "pass; magnitude, largest changes first (pushes to servers: --filter magnitude:RATE)");
  list.choice("straggler-policy", r.stragglers, "which gradients of a step count");
  list.value("epoch-fraction", r.epoch_fraction,
             "fraction of the samples after which an epoch ends; the others are dropped",
             {.least = 0, .most = 1, .above_least = true});
  list.value("accumulate", r.accumulate, "number of smaller passes per exchange", {1});
  list.named("balance", r.balance, kBalanceNames, "shares of a batch: equal, or by measured speed");
  list.named("keep-batch", r.keep, kKeepBatchNames,
             "the batch size that stays constant when workers come and go: global, or per worker");
  list.value(
      "shards", r.shards,
      "logical shards, summed in a fixed order: the same bits for any number of workers; 0: none");
  list.form("batch-norm", r.batch_norm, parse_batch_norm, {"local", "group:32", "sync"},
            "samples of a statistic: local, the worker's batch; group:K, K of its samples; sync, "
            "the batches of all workers");
  list.add(encode_setting(r.encode,
                          "encoding of gradients, or of differences of models; +ef: error "
                          "feedback; +zstd: compressed; LAYER=.. after a comma: for some layers"));
  list.add(encoded_by_setting(r.encode));
  list.add(encode_after_setting(r.encode));
  return list.take();
}

}  // namespace shoal
