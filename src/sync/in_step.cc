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
            "which algorithm sums the gradients; auto: by measured costs");
  list.named("order", r.order, kSendOrderNames,
             "when gradients are sent: fifo, all at the end of backward; wfbp, as backward makes "
             "them; priority, first layers first, and the next forward pass begins with them");
  list.choice("straggler-policy", r.stragglers, "which gradients of a step count");
  list.value("epoch-fraction", r.epoch_fraction,
             "part of its samples after which an epoch ends; the rest is dropped",
             {.least = 0, .most = 1, .above_least = true});
  list.value("accumulate", r.accumulate, "passes over as many smaller portions before an exchange",
             {1});
  list.named("balance", r.balance, kBalanceNames, "shares of a batch: equal, or by measured speed");
  list.named("keep-batch", r.keep, kKeepBatchNames,
             "which batch stays as it is when workers come and go");
  list.value("shards", r.shards,
             "logical shards summed in one fixed order: the same bits for any number of workers; "
             "0: none");
  list.form("batch-norm", r.batch_norm, parse_batch_norm, {"local", "group:32", "sync"},
            "samples of the statistics: local, a worker's; group:K, K of them; sync, all workers'");
  list.add(encode_setting(r.encode,
                          "how gradients, or differences of models, are sent; +ef: the error is "
                          "kept and added later; +zstd: also packed; LAYER=.., after a comma: for "
                          "some layers"));
  list.add(encoded_by_setting(r.encode));
  list.add(encode_after_setting(r.encode));
  return list.take();
}

}  // namespace shoal
