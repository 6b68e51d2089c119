// Sharing a wave that a strand is already walking through.
//
// Problem. Opening a wave to other threads costs more than most waves are worth, and what a wave is
// worth is seldom known beforehand. But a wave that turns out to be large, or whose branches wait
// for each other although nobody said so, has to be shared in the middle of it, even while its
// owner is stuck in a callback.
//
// Idea. Walking through a wave as if it were a sequence loses nothing: which branches are still to
// come follows from the tree and the place of the walk. So a wave can be opened at any node: the
// branch around that node stays the owner's, the rest is there to claim, and a frame between the
// owner's frames says where its branch ends. The outermost wave that has a rest is opened, since
// its rest is the largest. The owner does it when the bell says that a thread has nothing to do; a
// second later the same can be done to the next wave inwards.
//
// The sentinel does it for an owner that is in a call. What keeps the two apart: before each call,
// the owner stores which node it calls and then looks at the bell; before it touches its frames, it
// stores that it calls none and looks at the bell as well. The sentinel takes the strand's mutex,
// rings, and then looks at what the owner stored. With a fence between store and look on either
// side (base/fence.hpp), at least one sees the other: either the owner has heard the bell and waits
// for the mutex, or the sentinel sees where the owner is. If that is a call, the frames are the
// sentinel's until the owner has had the mutex, whatever becomes of the call meanwhile; otherwise
// it keeps its hands off, and the owner will do it. Who begins a walk takes the mutex as well, so
// that a ring from before the walk, which it will never hear, can't be about a call within it.
//
// Cost: as deep as the plan nests around the node.
#include <algorithm>

#include "base/fence.hpp"
#include "run/strand.hpp"

namespace soma {

void Strand::expose(u32 node) {
  const std::vector<PlanItem>& items = run_.plan.items;
  size_t frame = frames_.size() - 1;
  Wave::Terms terms;
  size_t place = 0;                 // of the new frame
  for (u32 branch = course().item_of(node); branch > 0 && branch >= frames_[0].region.item;
       branch = course().parent(branch)) {
    while (frames_[frame].region.item > branch) --frame;  // those lie in the branch
    const u32 item = course().parent(branch);
    const u32 item_end = std::min(items[item].end, frames_[frame].region.item_end);
    const bool has_rest = is_wave(items[item].variant) && items[branch].end < item_end;
    if (!has_rest || run_.crew.is_small(item)) continue;
    terms.item = item;
    terms.first = branch;
    terms.item_end = item_end;
    place = frame + 1;
  }
  if (place == 0) return;
  terms.owner = this;
  terms.is_begun = true;
  terms.in_loop = loops_ > 0;
  if (frames_.size() == frames_.capacity()) frames_.reserve(2 * frames_.size() + 1);
  Frame made;
  made.wave = run_.crew.open(terms);
  made.share = made.wave->begun();
  made.region = made.share.region;
  made.has_share = true;
  frames_.insert(frames_.begin() + static_cast<std::ptrdiff_t>(place), made);
  run_.crew.offer(*made.wave, false);
}

bool Strand::expose_if_calling() {
  // The mutex first: who hears this ring has to wait for it.
  const std::lock_guard lock(mutex_);
  run_.crew.bell().rings.fetch_add(1);
  fence_others();
  const u32 node = call_.called();
  if (node != no_node) expose(node);
  return std::exchange(seen_node_, node) == node && node != no_node;
}

}  // namespace soma
