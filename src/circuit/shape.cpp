// The shape rules of the ops: which widths, formats and rows a node's edges and weights must have.
#include "circuit/validate.hpp"

namespace soma {

namespace {

// The rules of one node. Operands and parameters are known to be there.
class ShapeCheck {
 public:
  ShapeCheck(const Circuit& circuit, const Node& node, Problems& problems)
      : circuit_(circuit), node_(node), problems_(problems) {}

  void run() {
    for (const EdgeId output : node_.outputs) storable(circuit_.edges[output]);
    for (const WeightRef& weight : node_.weights) storable(weight);
    switch (node_.op) {
      case Op::Embed: return embed();
      case Op::RmsNorm: return rms_norm();
      case Op::ActQuant: return act_quant();
      case Op::Linear: return linear();
      case Op::Rope: return rope();
      case Op::KvWrite: return kv_write();
      case Op::Attend: return attend();
      case Op::SiluMul: return silu_mul();
      case Op::ResidualAdd: return residual_add();
      case Op::GatherRows: return gather_rows();
      case Op::Sample: return sample();
    }
  }

 private:
  void embed() { edge(out(), Format::F32, RowsOf::Step, weight().columns); }

  void rms_norm() {
    edge(in(0), Format::F32, in(0).rows, weight().columns);
    edge(out(), Format::F32, in(0).rows, in(0).width);
    if (weight().format != Format::F32 || weight().rows != 1) {
      complain(text("its weight '{}' must be one row of f32, is {} rows of {}", weight().tensor,
                    weight().rows, format_info(weight().format).name));
    }
  }

  void act_quant() {
    edge(in(0), Format::F32, in(0).rows, in(0).width);
    const bool twice = out().format == Format::Q8A2;
    edge(out(), twice ? Format::Q8A2 : Format::Q8A, in(0).rows, in(0).width);
  }

  void linear() {
    const bool quantized = format_info(weight().format).block_elements > 1;
    const bool reads_int8 = int8_terms(in(0).format) != 0 && quantized;
    edge(in(0), reads_int8 ? in(0).format : Format::F32, in(0).rows, weight().columns);
    edge(out(), Format::F32, in(0).rows, weight().rows);
  }

  void rope() {
    edge(in(0), Format::F32, RowsOf::Step, heads("heads"));
    edge(out(), Format::F32, RowsOf::Step, in(0).width);
    const u64 dims = count("dims");
    if (dims % 2 != 0 || dims > count("head_dim")) {
      complain(text("dims must be even and at most head_dim = {}, is {}", count("head_dim"), dims));
    }
  }

  void kv_write() {
    edge(in(0), Format::F32, RowsOf::Step, heads("kv_heads"));
    edge(in(1), Format::F32, RowsOf::Step, heads("kv_heads"));
    edge(out(), out().format, RowsOf::Step, 0);
    kv_state();
  }

  void attend() {
    edge(in(0), Format::F32, RowsOf::Step, heads("heads"));
    edge(in(1), in(1).format, RowsOf::Step, 0);
    edge(out(), Format::F32, RowsOf::Step, in(0).width);
    kv_state();
    if (count("heads") % count("kv_heads") != 0) {
      complain(text("{} heads can't share {} KV heads evenly", count("heads"), count("kv_heads")));
    }
    if (in(1).producer >= circuit_.nodes.size()) return;  // reported as wiring
    const Node& writer = circuit_.nodes[in(1).producer];
    if (writer.op != Op::KvWrite || writer.layer != node_.layer) {
      complain(text("'{}' must come from the kv_write of layer {}", in(1).id, node_.layer));
    }
  }

  void silu_mul() {
    edge(in(0), Format::F32, in(0).rows, out().width);
    edge(in(1), Format::F32, in(0).rows, out().width);
    edge(out(), Format::F32, in(0).rows, out().width);
  }

  void residual_add() {
    edge(in(0), Format::F32, RowsOf::Step, out().width);
    edge(in(1), Format::F32, RowsOf::Step, out().width);
    edge(out(), Format::F32, RowsOf::Step, out().width);
    if (!in(0).is_stream || !out().is_stream) {
      complain(text("it adds to the stream: '{}' and '{}' must both be stream edges", in(0).id,
                    out().id));
    }
  }

  void gather_rows() {
    edge(in(0), Format::F32, RowsOf::Step, in(0).width);
    edge(out(), Format::F32, RowsOf::Logits, in(0).width);
  }

  void sample() {
    edge(in(0), Format::F32, RowsOf::Logits, in(0).width);
    edge(out(), Format::I32, RowsOf::Logits, 1);
  }

  // ---- What the rules are made of

  const Edge& in(size_t i) const { return circuit_.edges[node_.inputs[i]]; }
  const Edge& out() const { return circuit_.edges[node_.outputs[0]]; }
  const WeightRef& weight() const { return node_.weights[0]; }
  u64 count(std::string_view param) const { return static_cast<u64>(node_.param(param)); }
  u64 heads(std::string_view param) const { return count(param) * count("head_dim"); }

  void complain(std::string_view what) {
    problems_.add(
        fail(Reason::circuit_shape, "node '{}' ({}): {}", node_.id, canonical_name(node_), what));
  }

  void edge(const Edge& edge, Format format, RowsOf rows, u64 width) {
    if (edge.format == format && edge.rows == rows && edge.width == width) return;
    const auto shape = [](Format of, RowsOf r, u64 w) {
      return text("{} of {} x {}", format_info(of).name, r == RowsOf::Step ? "step" : "logits", w);
    };
    complain(text("edge '{}' must be {}, is {}", edge.id, shape(format, rows, width),
                  shape(edge.format, edge.rows, edge.width)));
  }

  void kv_state() {
    if (count("kv_heads") != static_cast<u64>(circuit_.kv_heads) ||
        count("head_dim") != static_cast<u64>(circuit_.head_dim)) {
      complain(text("the KV state has {} heads of {}, the node says {} of {}", circuit_.kv_heads,
                    circuit_.head_dim, count("kv_heads"), count("head_dim")));
    }
  }

  void storable(const Edge& edge) {
    const FormatInfo& info = format_info(edge.format);
    if (!info.on_edge) complain(text("edge '{}' can't be stored as {}", edge.id, info.name));
    if (edge.width > edge_width_max || (edge.width == 0 && node_.op != Op::KvWrite)) {
      complain(text("edge '{}' must be 1..{} wide, is {}", edge.id, edge_width_max, edge.width));
    }
    if (edge.width % info.block_elements != 0) {
      complain(text("edge '{}' is {} wide, which {} can't hold in blocks of {}", edge.id,
                    edge.width, info.name, info.block_elements));
    }
  }

  void storable(const WeightRef& weight) {
    const FormatInfo& info = format_info(weight.format);
    if (weight.tensor.empty()) complain("it has a weight without a name");
    if (!info.on_weight)
      complain(text("weight '{}' can't be stored as {}", weight.tensor, info.name));
    const bool sized = weight.rows >= 1 && weight.rows <= edge_width_max && weight.columns >= 1 &&
                       weight.columns <= edge_width_max;
    if (!sized || weight.columns % info.block_elements != 0) {
      complain(text("weight '{}' can't be {} x {} in blocks of {}", weight.tensor, weight.rows,
                    weight.columns, info.block_elements));
    }
  }

  const Circuit& circuit_;
  const Node& node_;
  Problems& problems_;
};

}  // namespace

void check_shape(const Circuit& circuit, const Node& node, Problems& problems) {
  ShapeCheck(circuit, node, problems).run();
}

}  // namespace soma
