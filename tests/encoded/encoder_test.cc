// The encoder: its residuals, when they are committed, and what it refuses.
#include "encoded/encoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "collective/worlds.h"
#include "encoded/gradients.h"

namespace shoal {
namespace {

constexpr std::uint64_t kElements = 2'000;

struct Bench {
  explicit Bench(Node& node, const char* text = "topk:0.1+ef", double momentum = 0)
      : encoder(node.endpoint, {parse_encoding(text), Seed(3), momentum}, uneven_pieces(kElements),
                Substance::Real),
        g(node.endpoint, Elements(kElements), Substance::Real) {}

  // Returns the message of a gradient; the step is not committed.
  std::vector<std::byte> encode(std::uint64_t t) {
    encoder.begin(Step(t), 0, Rank(0));
    std::ranges::copy(gradient_of(0, t, kElements), g.all().data().begin());
    const MutBuf room = encoder.room(encoder.most(g.all()));
    const Bytes size = encoder.encode(g.all(), room);
    encoder.encoded(g.all());
    return {room.data, room.data + size.value()};
  }

  Encoder encoder;
  Arena g;
};

void alone(const std::function<void(Node&)>& f) {
  bool ran = false;
  run_in(WorldKind::Ideal, 1, [&](Node& node) -> Task<> {
    f(node);
    ran = true;
    co_return;
  });
  EXPECT_TRUE(ran);
}

TEST(Encoder, AStepThatIsGivenUpChangesNothing) {
  alone([](Node& node) {
    Bench given_up(node), straight(node);
    EXPECT_EQ(given_up.encode(1), straight.encode(1));
    given_up.encoder.commit();
    straight.encoder.commit();
    given_up.encode(5);  // and never committed
    EXPECT_EQ(given_up.encode(2), straight.encode(2));
  });
}

TEST(Encoder, WhatWasTakenIsWhatIsEncodedOtherwise) {
  alone([](Node& node) {
    Bench taken(node), encoded(node);
    const std::vector<std::byte> message = encoded.encode(1);
    taken.encoder.begin(Step(1), 0, Rank(0));
    taken.encoder.prepare_to_take();
    const std::vector<float> g = gradient_of(0, 1, kElements);
    EXPECT_FALSE(taken.encoder.taken(taken.g.all()).has_value());
    for (const Cut& cut : uneven_pieces(kElements))
      taken.encoder.take(cut.at, std::span(g).subspan(cut.at.value(), cut.n.value()));
    const auto whole = taken.encoder.taken(taken.g.all());
    ASSERT_TRUE(whole.has_value());
    const auto bytes = whole->bytes();
    EXPECT_EQ(std::vector<std::byte>(bytes.begin(), bytes.end()), message);
  });
}

TEST(Encoder, PartsThatWereNotEncodedKeepTheirResidual) {
  alone([](Node& node) {
    Bench bench(node);
    bench.encode(1);
    bench.encoder.commit();
    const std::span<const float> e = bench.encoder.residual().data();
    const std::vector<float> before(e.begin(), e.end());
    bench.encoder.begin(Step(2), 0, Rank(0));
    const Range half = bench.g.range(Elements(0), Elements(kElements / 2));
    bench.encoder.encode(half, bench.encoder.room(bench.encoder.most(half)));
    bench.encoder.encoded(half);
    bench.encoder.commit();
    const std::span<const float> after = bench.encoder.residual().data();
    EXPECT_TRUE(
        std::equal(after.begin() + kElements / 2, after.end(), before.begin() + kElements / 2));
    EXPECT_FALSE(std::equal(after.begin(), after.end(), before.begin()));
  });
}

TEST(Encoder, AloneItAddsWhatWaited) {
  alone([](Node& node) {
    Bench bench(node);
    bench.encode(1);
    bench.encoder.commit();
    const std::span<const float> e = bench.encoder.residual().data();
    const std::vector<float> waited(e.begin(), e.end());
    bench.encoder.begin(Step(2), 0, Rank(0));
    std::ranges::fill(bench.g.all().data(), 1.0F);
    bench.encoder.keep(bench.g.all());
    bench.encoder.commit();
    for (std::size_t i = 0; i < waited.size(); ++i) {
      EXPECT_EQ(bench.g.all().data()[i], 1.0F + waited[i]);
      EXPECT_EQ(bench.encoder.residual().data()[i], 0.0F);
    }
  });
}

TEST(Encoder, AMessageOfSomethingElseIsCorruptAndNamesItsSender) {
  alone([](Node& node) {
    Bench bench(node);
    const std::vector<std::byte> message = bench.encode(1);
    const Range all = bench.g.all();
    for (const std::size_t size : {std::size_t{0}, std::size_t{3}, message.size() - 4}) {
      const ConstBuf cut{message.data(), Bytes(size)};
      try {
        bench.encoder.decode({size == 0 ? nullptr : cut.data, cut.size}, all, NodeId(5));
        FAIL() << size << " bytes were taken";
      } catch (const Corrupt& error) {
        EXPECT_NE(std::string(error.what()).find("node 5"), std::string::npos) << error.what();
      }
    }
    std::vector<std::byte> longer = message;
    longer.resize(message.size() + 4);
    EXPECT_THROW(bench.encoder.decode({longer.data(), Bytes(longer.size())}, all, NodeId(5)),
                 Corrupt);
    // Each byte inverted in turn: an error that tells so, or other numbers, but no crash or
    // overrun.
    std::size_t refused = 0;
    for (std::size_t i = 0; i < message.size(); ++i) {
      std::vector<std::byte> wrong = message;
      wrong[i] ^= std::byte{0xff};
      try {
        bench.encoder.decode({wrong.data(), Bytes(wrong.size())}, all, NodeId(5));
      } catch (const Corrupt&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 0U);
  });
}

TEST(Encoder, APieceIsClippedToItsWorkersPart) {
  alone([](Node& node) {
    constexpr double kNorm = 0.5;
    Bench bench(node, "topk:0.1+ef", 0.9);
    bench.encoder.begin(Step(1), 0, Rank(0));
    bench.encoder.clip(kNorm, 4);
    const std::vector<float> g = gradient_of(0, 1, kElements);
    std::ranges::copy(g, bench.g.all().data().begin());
    const MutBuf room = bench.encoder.room(bench.encoder.most(bench.g.all()));
    const Bytes size = bench.encoder.encode(bench.g.all(), room);
    bench.encoder.encoded(bench.g.all());
    bench.encoder.commit();
    Arena sent(Elements(kElements), Substance::Real);
    bench.encoder.decode({room.data, size}, sent.all(), NodeId(0));
    for (const Cut& cut : uneven_pieces(kElements)) {
      double squares = 0;
      for (std::size_t i = cut.at.value(); i < (cut.at + cut.n).value(); ++i) {
        const double x = sent.data()[i] + bench.encoder.residual().data()[i];
        squares += x * x;
        EXPECT_EQ(std::signbit(x), std::signbit(g[i])) << i;
      }
      EXPECT_LE(std::sqrt(squares), kNorm / 2 * 1.0001) << "of 4 workers' sum";
    }
  });
}

// During four epochs of warm-up all momentum is sent or kept; afterwards sent elements forget
// theirs.
TEST(Encoder, WarmupKeepsTheMomentumOfWhatIsSent) {
  alone([](Node& node) {
    constexpr std::size_t kPiece = 1'000;
    for (const double epoch : {0.0, 3.9, 4.0}) {
      Encoder encoder(node.endpoint, {parse_encoding("dgc:0.001"), Seed(3), 0.9},
                      {{Elements(0), Elements(kPiece)}}, Substance::Real);
      Arena g(node.endpoint, Elements(kPiece), Substance::Real);
      encoder.begin(Step(1), epoch, Rank(0));
      const std::vector<float> values = gradient_of(0, 1, kPiece);
      std::ranges::copy(values, g.all().data().begin());
      encoder.encode(g.all(), encoder.room(encoder.most(g.all())));
      encoder.encoded(g.all());
      encoder.commit();
      std::size_t sent = 0, forgotten = 0;
      for (std::size_t i = 0; i < kPiece; ++i) {
        sent += encoder.residual().data()[i] == 0.0F ? 1 : 0;
        forgotten += encoder.velocity().data()[i] == 0.0F ? 1 : 0;
      }
      EXPECT_EQ(sent, epoch == 0 ? 250U : epoch < 4 ? 4U : 1U) << epoch;
      EXPECT_EQ(forgotten, epoch < 4 ? 0U : 1U) << epoch;
    }
  });
}

// u <- mu u + g; v <- v + u; both restart at zero where v was sent; tensors that are sent whole
// keep u.
TEST(Encoder, MomentumIsCorrectedAsInTheOracle) {
  alone([](Node& node) {
    constexpr double kMu = 0.9;
    Bench bench(node, "topk:0.1+ef", kMu);
    std::vector<float> u(kElements, 0.0F), v(kElements, 0.0F);
    std::vector<bool> whole(kElements, false);
    for (const Cut& cut : uneven_pieces(kElements))
      for (std::uint64_t i = 0; i < cut.n.value(); ++i)
        whole[cut.at.value() + i] = cut.n < Elements(64);
    for (std::uint64_t t = 1; t <= 5; ++t) {
      const std::vector<std::byte> message = bench.encode(t);
      Arena room(Elements(kElements), Substance::Real);
      bench.encoder.decode({message.data(), Bytes(message.size())}, room.all(), NodeId(0));
      bench.encoder.commit();
      const std::vector<float> g = gradient_of(0, t, kElements);
      for (std::size_t i = 0; i < kElements; ++i) {
        u[i] = static_cast<float>(kMu) * u[i] + g[i];
        v[i] += u[i];
        const float x = room.all().data()[i];
        if (x != 0.0F) {
          EXPECT_FLOAT_EQ(x, v[i]) << "t=" << t << " at " << i;
          v[i] = 0.0F;
          if (!whole[i]) u[i] = 0.0F;
        } else {
          EXPECT_FLOAT_EQ(bench.encoder.residual().data()[i], v[i]) << "t=" << t << " at " << i;
        }
      }
    }
  });
}

}  // namespace
}  // namespace shoal
