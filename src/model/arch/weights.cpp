// Binds an architecture's tensors: missing, of another shape or format, or not known at all.
#include "model/arch/weights.hpp"

#include "base/text.hpp"

namespace soma {

namespace {

std::string shape_text(const gguf::Tensor& tensor) {
  std::string out = text("{}", tensor.dims[0]);
  for (u32 i = 1; i < tensor.rank; ++i) out += text(" × {}", tensor.dims[i]);
  return out;
}

std::string weight_formats() {
  std::string out;
  for (u32 i = 0; i <= static_cast<u32>(Format::Other); ++i) {
    const FormatInfo& info = format_info(static_cast<Format>(i));
    if (!info.on_weight) continue;
    out += out.empty() ? "" : ", ";
    out += info.name;
  }
  return out;
}

Error wrong(Reason reason, const gguf::Tensor& tensor, std::string_view what,
            std::string_view expected, std::string_view got, std::string_view what_now) {
  return fail(reason, "tensor {}: {}: expected {}, got {}; {}", quoted(tensor.name), what, expected,
              got, what_now)
      .with("tensor", tensor.name)
      .with("expected", expected)
      .with("got", got);
}

}  // namespace

WeightBinder::WeightBinder(const gguf::File& file)
    : file_(file), known_(file.tensors().size(), false) {}

const gguf::Tensor* WeightBinder::take(std::string_view name) {
  const gguf::Tensor* tensor = file_.find_tensor(name);
  if (tensor != nullptr) known_[static_cast<size_t>(tensor - file_.tensors().data())] = true;
  return tensor;
}

WeightRef WeightBinder::vector(std::string name, i64 width) {
  return bind(std::move(name), 1, width, true);
}

WeightRef WeightBinder::matrix(std::string name, i64 rows, i64 columns) {
  return bind(std::move(name), rows, columns, false);
}

WeightRef WeightBinder::bind(std::string name, i64 rows, i64 columns, bool is_vector) {
  WeightRef ref;
  ref.tensor = std::move(name);
  ref.rows = static_cast<u64>(rows);
  ref.columns = static_cast<u64>(columns);
  const gguf::Tensor* tensor = take(ref.tensor);
  if (tensor == nullptr) {
    problems_.add(fail(Reason::model_tensor_missing,
                       "the file has no tensor '{}'; get it again, or convert the model again",
                       ref.tensor)
                      .with("tensor", ref.tensor));
    return ref;
  }
  const bool same = tensor->dims[0] == ref.columns && tensor->dims[1] == ref.rows &&
                    tensor->dims[2] == 1 && tensor->dims[3] == 1;
  if (!same) {
    problems_.add(wrong(Reason::model_tensor_shape, *tensor, "shape",
                        is_vector ? text("{}", columns) : text("{} × {}", columns, rows),
                        shape_text(*tensor), "the file is damaged or was converted wrongly"));
  }
  const bool usable = is_vector ? tensor->format == Format::F32
                                : format_info(tensor->format).on_weight;
  if (!usable) {
    problems_.add(wrong(Reason::model_tensor_format, *tensor, "format",
                        is_vector ? std::string("f32") : "one of " + weight_formats(),
                        gguf::tensor_type_name(tensor->file_type),
                        "use a file of the model in one of these formats"));
    return ref;
  }
  ref.format = tensor->format;
  return ref;
}

void WeightBinder::refuse(std::string_view name, std::string_view why) {
  if (take(name) == nullptr) return;
  problems_.add(fail(Reason::model_unsupported, "tensor '{}': {}", name, why).with("tensor", name));
}

Status WeightBinder::finish() && {
  for (size_t i = 0; i < known_.size(); ++i) {
    if (known_[i]) continue;
    const gguf::Tensor& tensor = file_.tensors()[i];
    problems_.add(fail(Reason::model_tensor_extra,
                       "tensor {} ({}, {}) is none that the architecture has; leaving it out would "
                       "give wrong results, so use another file of the model",
                       quoted(tensor.name), shape_text(tensor),
                       gguf::tensor_type_name(tensor.file_type))
                      .with("tensor", tensor.name));
  }
  return std::move(problems_).status();
}

}  // namespace soma
