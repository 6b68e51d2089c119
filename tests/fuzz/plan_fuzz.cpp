// Feeds texts to the reader of plan documents: what is read is a plan, prints, is read again, and
// prints the same bytes; it can be shown, drawn and compared; what strict reading takes, lenient
// reading takes too.
#include "plan/diff.hpp"
#include "plan/picture.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace soma;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Plan> strict = Plan::parse(text);
  const Result<Plan> plan = Plan::parse(text, Plan::Reading::Lenient);
  if (!plan.ok()) {
    if (strict.ok() || plan.error().message().empty()) __builtin_trap();
    return 0;
  }
  if (!plan->verify().ok()) __builtin_trap();
  const std::string printed = plan->document();
  if (strict.ok() && strict->document() != printed) __builtin_trap();
  const Result<Plan> again = Plan::parse(printed);
  if (!again.ok() || again->document() != printed || again->items != plan->items) __builtin_trap();
  if (plan->display().empty() || plan->mermaid().empty() || plan->dot().empty()) __builtin_trap();
  if (plan_svg(*plan).empty() || plan_html(*plan) != plan_html(*again)) __builtin_trap();
  if (!diff(*plan, *again).none()) __builtin_trap();

  // Copying the tree item by item leaves it as it is: it is canonical.
  ItemWriter writer;
  writer.copy(plan->items, 0, static_cast<u32>(plan->items.size()));
  if (std::move(writer).take() != plan->items) __builtin_trap();

  // A plan with something wrong in it is refused, or is another plan, and never a crash.
  Plan broken = *again;
  const size_t at = size % broken.items.size();
  broken.items[at].node ^= static_cast<u32>(size);
  if (size > 0) broken.items[at].end += data[size / 2];
  if (broken.verify().ok() && broken.document() == printed && broken.items != plan->items) {
    __builtin_trap();
  }
  // Only the tables: their rows are still those of sound items.
  broken.items = again->items;
  if (!broken.nodes.empty()) broken.nodes[size % broken.nodes.size()].sources_end += 1;
  if (broken.verify().ok() && !broken.nodes.empty()) __builtin_trap();
  return 0;
}
