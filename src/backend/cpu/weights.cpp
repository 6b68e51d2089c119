// Checks weight sources and packs them with the whole team.
//
// The matrices are cut into pieces of about `piece_bytes`, numbered through all tensors, and
// claimed one after the other: so the team finishes together, whatever the tensors' sizes. Each
// piece is written by whoever claims it, into zeroed memory that nobody has touched before, so
// its pages are made by the team as well.
#include "backend/cpu/weights.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "backend/cpu/pack.hpp"
#include "base/problems.hpp"

namespace soma::cpu {

namespace {

constexpr u64 piece_bytes = u64{256} << 10;

// One source on its way to its place.
struct Item {
  const WeightSource* source = nullptr;
  std::optional<PackPlan> plan;  // of matrices
  u64 offset = 0;                // in the memory
  i64 piece_groups = 0;          // matrices: groups a piece
  u32 first_piece = 0;           // vectors are one piece

  u64 packed_bytes() const { return plan ? plan->bytes : source->ref.columns * sizeof(float); }
  u32 pieces() const {
    return plan ? static_cast<u32>((plan->groups + piece_groups - 1) / piece_groups) : 1;
  }
};

Status check_source(const WeightSource& source) {
  const WeightRef& ref = source.ref;
  const FormatInfo& format = format_info(ref.format);
  const std::optional<u64> row = row_bytes(ref.format, ref.columns);
  const std::optional<u64> all = row ? checked_mul(*row, ref.rows) : std::nullopt;
  if (!all || ref.rows == 0 || ref.columns == 0) {
    return fail(Reason::model_tensor_shape, "tensor '{}' of {} × {} in {} can't be packed",
                ref.tensor, ref.rows, ref.columns, format.name);
  }
  if (source.bytes.size() != *all) {
    return fail(Reason::model_tensor_shape, "tensor '{}' of {} × {} in {} takes {} bytes, got {}",
                ref.tensor, ref.rows, ref.columns, format.name, *all, source.bytes.size());
  }
  const bool usable = ref.rows == 1 ? ref.format == Format::F32 : format.on_weight;
  if (!usable) {
    return fail(Reason::model_tensor_format, "tensor '{}': no kernel reads {} in {}",
                ref.tensor, ref.rows == 1 ? "vectors" : "matrices", format.name);
  }
  return {};
}

// The team's common work.
struct Packing {
  std::vector<Item> items;
  u8* memory = nullptr;
  u32 pieces = 0;
  u64 total_bytes = 0;  // of the sources
  Backend::Progress progress;
  const FileBytes* file = nullptr;
  const Cancel* cancel = nullptr;
  std::atomic<u32> next{0};
  std::atomic<u64> done_bytes{0};
  std::atomic<bool> stopped{false};
  std::optional<Error> error;  // of the calling thread

  static void body(void* user, i32 member) { static_cast<Packing*>(user)->work(member); }
  void work(i32 member);
  void pack(u32 piece);
  void leave(std::span<const u8> bytes);
  bool goes_on();
};

void Packing::work(i32 member) {
  while (!stopped.load(std::memory_order_relaxed)) {
    const u32 piece = next.fetch_add(1, std::memory_order_relaxed);
    if (piece >= pieces) return;
    pack(piece);
    if (member == 0 && !goes_on()) stopped.store(true, std::memory_order_relaxed);
  }
}

void Packing::pack(u32 piece) {
  const auto after = std::upper_bound(items.begin(), items.end(), piece,
                                      [](u32 p, const Item& item) { return p < item.first_piece; });
  const Item& item = *(after - 1);
  const std::span<const u8> bytes = item.source->bytes;
  u8* out = memory + item.offset;
  if (!item.plan) {
    std::memcpy(out, bytes.data(), bytes.size());
    return leave(bytes);
  }
  const i64 begin = i64{piece - item.first_piece} * item.piece_groups;
  const i64 end = std::min(begin + item.piece_groups, item.plan->groups);
  pack_groups(*item.plan, bytes.data(), begin, end, out);
  const u64 row = bytes.size() / item.source->ref.rows;
  const i64 rows = std::min(end * kGroup, item.plan->rows) - begin * kGroup;
  leave(bytes.subspan(row * static_cast<u64>(begin * kGroup), row * static_cast<u64>(rows)));
}

void Packing::leave(std::span<const u8> bytes) {
  if (file != nullptr) file->discard(bytes);
  done_bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
}

// On the calling thread: tells the host how far it is and asks whether to go on.
bool Packing::goes_on() {
  const u64 done = done_bytes.load(std::memory_order_relaxed);
  if (progress.call != nullptr && !progress.call(progress.user, done, total_bytes)) {
    error = fail(Reason::cancelled, "packing was stopped by its progress function after {} of {} "
                 "bytes", done, total_bytes);
    return false;
  }
  Status status = cancel != nullptr ? cancel->check() : Status();
  if (status.ok()) return true;
  error = std::move(status).error();
  return false;
}

Result<u64> place(std::vector<Item>& items, std::span<const WeightSource> sources, u32* pieces) {
  u64 bytes = 0;
  for (const WeightSource& source : sources) {
    Item item;
    item.source = &source;
    if (source.ref.rows != 1) {
      item.plan = plan_pack(source.ref.format, static_cast<i64>(source.ref.rows),
                            static_cast<i64>(source.ref.columns));
      if (!item.plan) {
        return fail(Reason::model_tensor_shape, "tensor '{}' can't be packed", source.ref.tensor);
      }
      item.piece_groups =
          std::max<i64>(1, static_cast<i64>(piece_bytes) / item.plan->group_bytes);
    }
    item.offset = bytes;
    item.first_piece = *pieces;
    const std::optional<u64> end = checked_add(bytes, to_lines(item.packed_bytes()));
    if (!end) return fail(Reason::out_of_memory, "the packed weights don't fit the address space");
    bytes = *end;
    *pieces += item.pieces();
    items.push_back(item);
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<CpuWeights>> CpuWeights::pack(Team& team,
                                                     std::span<const WeightSource> sources,
                                                     const FileBytes* file,
                                                     Backend::Progress progress,
                                                     const Cancel* cancel) {
  std::unique_ptr<CpuWeights> weights(new CpuWeights());
  Problems problems;
  Packing packing;
  for (const WeightSource& source : sources) {
    if (Status status = check_source(source); !status.ok()) {
      problems.add(std::move(status).error());
    }
    packing.total_bytes += source.bytes.size();
  }
  SOMA_TRY(std::move(problems).status());
  SOMA_ASSIGN(const u64 bytes, place(packing.items, sources, &packing.pieces));
  SOMA_ASSIGN(weights->memory_, Mapping::create(bytes, "packed weights"));

  packing.memory = weights->memory_.data();
  packing.progress = progress;
  packing.file = file;
  packing.cancel = cancel;
  if (!packing.goes_on()) return *std::move(packing.error);
  team.run(Packing::body, &packing);
  if (packing.error || !packing.goes_on()) return *std::move(packing.error);

  for (const Item& item : packing.items) {
    const u8* data = weights->memory_.data() + item.offset;
    PackedWeight weight;
    weight.ref = item.source->ref;
    if (item.plan) weight.matrix = packed_matrix(*item.plan, data);
    else weight.vector = reinterpret_cast<const float*>(data);
    const std::string& name = item.source->ref.tensor;
    if (!weights->weights_.emplace(name, std::move(weight)).second) {
      return fail(Reason::program_binding, "tensor '{}' is to be packed twice", name);
    }
  }
  return weights;
}

const PackedWeight* CpuWeights::find(std::string_view tensor) const {
  const auto found = weights_.find(tensor);
  return found == weights_.end() ? nullptr : &found->second;
}

}  // namespace soma::cpu
