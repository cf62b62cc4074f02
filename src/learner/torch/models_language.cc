// Networks that predict the next symbol.
//
// lstm: Hochreiter & Schmidhuber 1997. gru: Cho et al. 2014. transformer: Vaswani et al. 2017, only
// the decoder as in Radford et al. 2019, with normalization before each part.
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/rnn.h>

#include <cmath>

#include "base/error.h"
#include "learner/torch/models.h"
#include "learner/torch/module.h"

namespace shoal {
namespace {

// Cell is torch::nn::LSTM or torch::nn::GRU.
template <class Cell, class CellOptions>
struct Recurrent final : torch::nn::Module {
  Recurrent(std::int64_t alphabet, std::int64_t width, std::int64_t layers)
      : embed(register_module("embed", torch::nn::Embedding(alphabet, width))),
        cell(register_module("cell",
                             Cell(CellOptions(width, width).num_layers(layers).batch_first(true)))),
        head(register_module("head", torch::nn::Linear(width, alphabet))) {}
  at::Tensor forward(const at::Tensor& tokens) {
    return head->forward(std::get<0>(cell->forward(embed->forward(tokens))));
  }
  torch::nn::Embedding embed;
  Cell cell;
  torch::nn::Linear head;
};
using LstmModel = Recurrent<torch::nn::LSTM, torch::nn::LSTMOptions>;
using GruModel = Recurrent<torch::nn::GRU, torch::nn::GRUOptions>;

// B batch, T length, C width, H heads.
struct TransformerBlock final : torch::nn::Module {
  TransformerBlock(std::int64_t width, std::int64_t head_count)
      : heads(head_count),
        norm1(register_module("norm1", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        qkv(register_module("qkv", torch::nn::Linear(width, 3 * width))),
        project(register_module("project", torch::nn::Linear(width, width))),
        norm2(register_module("norm2", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        fc1(register_module("fc1", torch::nn::Linear(width, 4 * width))),
        fc2(register_module("fc2", torch::nn::Linear(4 * width, width))) {}
  at::Tensor attention(const at::Tensor& x, const at::Tensor& future) {
    const std::int64_t B = x.size(0), T = x.size(1), C = x.size(2);
    const auto parts = qkv->forward(x).view({B, T, 3, heads, C / heads}).permute({2, 0, 3, 1, 4});
    const at::Tensor q = parts[0], k = parts[1], v = parts[2];  // each (B, H, T, C/H)
    const double scale = 1 / std::sqrt(static_cast<double>(C / heads));
    const at::Tensor weights =
        (q.matmul(k.transpose(-2, -1)) * scale).masked_fill(future, -INFINITY).softmax(-1);
    return project->forward(weights.matmul(v).transpose(1, 2).reshape({B, T, C}));
  }
  at::Tensor forward(const at::Tensor& input, const at::Tensor& future) {
    const at::Tensor x = input + attention(norm1->forward(input), future);
    return x + fc2->forward(at::gelu(fc1->forward(norm2->forward(x))));
  }
  std::int64_t heads;
  torch::nn::LayerNorm norm1;
  torch::nn::Linear qkv, project;
  torch::nn::LayerNorm norm2;
  torch::nn::Linear fc1, fc2;
};

struct Transformer final : torch::nn::Module {
  Transformer(std::int64_t alphabet, std::int64_t length, std::int64_t width, std::int64_t layers,
              std::int64_t heads)
      : embed(register_module("embed", torch::nn::Embedding(alphabet, width))),
        place(register_module("place", torch::nn::Embedding(length, width))),
        norm(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        head(register_module("head", torch::nn::Linear(width, alphabet))) {
    for (std::int64_t i = 0; i < layers; ++i)
      blocks.push_back(register_module(fmt::format("block{}", i + 1),
                                       std::make_shared<TransformerBlock>(width, heads)));
  }
  at::Tensor forward(const at::Tensor& tokens) {
    const std::int64_t T = tokens.size(1);
    const at::Tensor future = at::ones({T, T}, at::kBool).triu(1);
    at::Tensor x = embed->forward(tokens) + place->forward(at::arange(T, at::kLong));
    for (const auto& block : blocks) x = block->forward(x, future);
    return head->forward(norm->forward(x));
  }
  torch::nn::Embedding embed, place;
  torch::nn::LayerNorm norm;
  torch::nn::Linear head;
  std::vector<std::shared_ptr<TransformerBlock>> blocks;
};

}  // namespace

// The numbers are width, layers and (transformer) heads.
ModelFactory language_model(const ModelArguments& a) {
  if (a.shape.input != InputKind::Tokens || a.shape.target != TargetKind::Next)
    throw ConfigError(fmt::format("--model {} reads symbols (--data text:FILE); the data has {}",
                                  a.name, describe(a.shape)));
  const auto number = [&](std::size_t i, std::int64_t otherwise) {
    return a.numbers.size() > i ? a.numbers[i] : otherwise;
  };
  const std::int64_t alphabet = a.shape.classes, length = a.shape.shape[0];
  const std::int64_t width = number(0, 128), layers = number(1, a.name == "transformer" ? 4 : 1);
  if (a.name == "lstm")
    return [=] { return model_of(std::make_shared<LstmModel>(alphabet, width, layers)); };
  if (a.name == "gru")
    return [=] { return model_of(std::make_shared<GruModel>(alphabet, width, layers)); };
  const std::int64_t heads = number(2, 4);
  if (width % heads != 0)
    throw ConfigError(fmt::format(
        "--model transformer: a width of {} cannot be split among {} heads", width, heads));
  return [=] {
    return model_of(std::make_shared<Transformer>(alphabet, length, width, layers, heads));
  };
}

}  // namespace shoal
