// Proves that tokens are drawn from the distribution that the parameters describe, by the random
// numbers that seed, stream and position name.
#include "backend/cpu/launch/sample.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "backend/cpu/launch/philox.hpp"

using namespace soma;
using namespace soma::cpu;

namespace {

i32 sample(const std::vector<float>& logits, const Sampling& sampling, i64 position = 0,
           std::vector<i32> history = {}) {
  std::vector<Candidate> candidates(logits.size());
  return sample_token(logits.data(), static_cast<i64>(logits.size()), sampling, history, position,
                      candidates.data());
}

// How often each token comes in `draws` positions.
std::vector<double> frequencies(const std::vector<float>& logits, const Sampling& sampling,
                                i64 draws) {
  std::vector<double> out(logits.size());
  for (i64 i = 0; i < draws; ++i) out[static_cast<size_t>(sample(logits, sampling, i))] += 1;
  for (double& count : out) count /= static_cast<double>(draws);
  return out;
}

// Pearson's statistic against the expected probabilities; tokens of probability 0 must not come.
double chi_square(const std::vector<double>& got, const std::vector<double>& expected, i64 draws) {
  double sum = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (expected[i] == 0) {
      if (got[i] != 0) return std::numeric_limits<double>::infinity();
      continue;
    }
    sum += (got[i] - expected[i]) * (got[i] - expected[i]) / expected[i];
  }
  return sum * static_cast<double>(draws);
}

std::vector<double> softmax(const std::vector<double>& logits) {
  std::vector<double> out(logits.size());
  double sum = 0;
  for (size_t i = 0; i < out.size(); ++i) sum += out[i] = std::exp(logits[i]);
  for (double& p : out) p /= sum;
  return out;
}

const std::vector<float> eight = {0.5F, 2.0F, -1.0F, 1.0F, 0.0F, 1.5F, -3.0F, 2.0F};
constexpr i64 draws = 20000;
constexpr double unlikely = 24.3;  // 7 degrees of freedom exceed it once in 1000

Sampling warm(float temperature) {
  Sampling sampling;
  sampling.temperature = temperature;
  sampling.seed = 42;
  return sampling;
}

}  // namespace

TEST_CASE("Philox gives the numbers that its authors publish") {
  CHECK(philox({0, 0, 0, 0}, 0, 0) ==
        PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff) ==
        PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random numbers differ by seed, stream and position, and lie in [0, 1)") {
  const double one = random_unit(1, 2, 3);
  CHECK(one == random_unit(1, 2, 3));
  CHECK(one != random_unit(2, 2, 3));
  CHECK(one != random_unit(1, 3, 3));
  CHECK(one != random_unit(1, 2, 4));
  CHECK(one != random_unit(1, 2, 3 + (u64{1} << 32)));
  double sum = 0;
  for (u64 i = 0; i < 10000; ++i) {
    const double unit = random_unit(7, 0, i);
    CHECK((unit >= 0 && unit < 1));
    sum += unit;
  }
  CHECK(std::fabs(sum / 10000 - 0.5) < 0.02);
}

TEST_CASE("without a temperature it is the lowest of the largest, whatever else is set") {
  Sampling sampling;
  sampling.top_k = 3;
  sampling.repetition_penalty = 100;
  CHECK(sample(eight, sampling, 0, {1, 1, 1}) == 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(sample({nan, -5, nan, -4, -4}, sampling) == 3);
  CHECK(sample({nan, nan}, sampling) == 0);
}

TEST_CASE("the temperature scales the logits") {
  for (const float temperature : {0.5F, 1.0F, 2.0F}) {
    std::vector<double> scaled;
    for (const float logit : eight) scaled.push_back(double{logit} / double{temperature});
    CHECK(chi_square(frequencies(eight, warm(temperature), draws), softmax(scaled), draws) <
          unlikely);
  }
}

TEST_CASE("top-k keeps the k largest, of equals the lower tokens") {
  Sampling sampling = warm(1);
  sampling.top_k = 1;
  CHECK(frequencies(eight, sampling, 200)[1] == 1);
  sampling.top_k = 3;
  const double e2 = std::exp(2.0), e15 = std::exp(1.5), sum = 2 * e2 + e15;
  const std::vector<double> expected = {0, e2 / sum, 0, 0, 0, e15 / sum, 0, e2 / sum};
  CHECK(chi_square(frequencies(eight, sampling, draws), expected, draws) < unlikely);
  sampling.top_k = 100;  // more than there are: all
  std::vector<double> all(eight.begin(), eight.end());
  CHECK(chi_square(frequencies(eight, sampling, draws), softmax(all), draws) < unlikely);
}

TEST_CASE("top-p keeps the fewest that make up p, at least one") {
  std::vector<float> logits;
  for (const float p : {0.05F, 0.5F, 0.15F, 0.3F}) logits.push_back(std::log(p));
  Sampling sampling = warm(1);
  sampling.top_p = 0.75F;
  const std::vector<double> two = {0, 0.5 / 0.8, 0, 0.3 / 0.8};
  CHECK(chi_square(frequencies(logits, sampling, draws), two, draws) < unlikely);
  sampling.top_p = 0;
  CHECK(frequencies(logits, sampling, 200)[1] == 1);
  // Behind top-k, p is a part of what top-k left: of 0.5 and 0.3, 0.6 is not met by one but
  // 0.625 is.
  sampling.top_k = 2;
  sampling.top_p = 0.62F;
  CHECK(frequencies(logits, sampling, 200)[1] == 1);
  sampling.top_p = 0.63F;
  CHECK(chi_square(frequencies(logits, sampling, draws), two, draws) < unlikely);
}

TEST_CASE("min-p keeps what is at least that part of the largest") {
  std::vector<float> logits;
  for (const float p : {0.05F, 0.5F, 0.15F, 0.3F}) logits.push_back(std::log(p));
  Sampling sampling = warm(1);
  sampling.min_p = 0.59F;
  const std::vector<double> two = {0, 0.5 / 0.8, 0, 0.3 / 0.8};
  CHECK(chi_square(frequencies(logits, sampling, draws), two, draws) < unlikely);
  sampling.min_p = 0.61F;
  CHECK(frequencies(logits, sampling, 200)[1] == 1);
}

TEST_CASE("the repetition penalty divides positive and multiplies negative logits, once a token") {
  const std::vector<float> logits = {2.0F, 1.0F, -1.0F};
  Sampling sampling = warm(1);
  sampling.repetition_penalty = 2;
  sampling.penalty_window = 3;
  // The window sees the last three: token 2 twice, token 0 once; token 1 is out of it.
  const std::vector<i32> history = {1, 1, 2, 0, 2};
  std::vector<double> got(3);
  for (i64 i = 0; i < draws; ++i) {
    got[static_cast<size_t>(sample(logits, sampling, i, history))] += 1.0 / double{draws};
  }
  CHECK(chi_square(got, softmax({1.0, 1.0, -2.0}), draws) < unlikely);
  // Tokens that are none are no reason to write anywhere.
  CHECK(sample(logits, sampling, 0, {-1, 1000000}) >= 0);
}

TEST_CASE("a draw depends on its key and the logits alone") {
  std::vector<float> logits(5000);
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(i * 2654435761U % 977) / 100;
  }
  Sampling sampling = warm(0.8F);
  sampling.top_p = 0.9F;
  std::vector<i32> first;
  for (i64 i = 0; i < 50; ++i) first.push_back(sample(logits, sampling, i));
  for (i64 i = 49; i >= 0; --i) CHECK(sample(logits, sampling, i) == first[static_cast<size_t>(i)]);
  sampling.stream = 1;
  std::vector<i32> second;
  for (i64 i = 0; i < 50; ++i) second.push_back(sample(logits, sampling, i));
  CHECK(first != second);
}

TEST_CASE("extreme logits and temperatures end in a token that may be chosen") {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float temperature : {1e-30F, 1.0F, 1e30F}) {
    Sampling sampling = warm(temperature);
    CHECK(sample({1, infinity, 2}, sampling) == 1);
    CHECK(sample({-infinity, -infinity}, sampling) == 0);
    CHECK(sample({nan, nan, -3}, sampling) == 2);
    CHECK(sample({nan, -infinity, -3, nan}, sampling) == 2);
    CHECK(sample({-3e38F, 3e38F}, sampling) >= 0);
  }
  Sampling cold = warm(1e-30F);
  CHECK(sample({1, 2, 1.9999F}, cold) == 1);
}
