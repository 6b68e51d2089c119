// The numbers of NUMERICS.md that all kernel sets share.
#pragma once

namespace soma::cpu {

// exp(x) = 2^n e^r with n = x / ln 2 rounded to even and |r| <= ln 2 / 2. kRound is added and taken
// away again to round to a whole number; the low bits of the sum are that number.
static constexpr float kRound = 0x1.8p23f;
static constexpr float kLog2E = 0x1.715476p+0f;
static constexpr float kLn2High = 0x1.62e43p-1f;
static constexpr float kLn2Low = -0x1.05c61p-29f;
// e^r = 1 + r + r² (c2 + c3 r + …): relative error at most 3.8e-9 before roundings. Fitted by us.
static constexpr float kExp2 = 0x1.fffffcp-2f;
static constexpr float kExp3 = 0x1.555492p-3f;
static constexpr float kExp4 = 0x1.5558f2p-5f;
static constexpr float kExp5 = 0x1.1239f2p-7f;
static constexpr float kExp6 = 0x1.6a241ap-10f;
// Below: 0. Above: infinity. Between them every result is a normal number.
static constexpr float kExpLowest = -87.0f;
static constexpr float kExpHighest = 88.72f;

static constexpr float kInfinity = __builtin_inff();
static constexpr float kCodeLimit = 127.0f;  // activations are -127..127

}  // namespace soma::cpu
