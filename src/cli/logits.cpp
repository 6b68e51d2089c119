// soma logits: the logits of every position of a token sequence, as a NumPy file.
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "cli/engine.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct LogitsVerb {
  EngineFlags engine;
  std::string tokens, tokens_file, out;
};

// "1,2,3" or the same with white space between.
std::vector<int32_t> parse_tokens(const std::string& list) {
  std::vector<int32_t> tokens;
  std::string word;
  const auto take = [&] {
    if (word.empty()) return;
    size_t used = 0;
    long value = -1;
    try {
      value = std::stol(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used != word.size() || value < 0 || value > INT32_MAX) {
      throw CLI::ValidationError("--tokens", "'" + word + "' is no token id");
    }
    tokens.push_back(static_cast<int32_t>(value));
    word.clear();
  };
  std::optional<size_t> at_comma;   // how many there were at the last one
  const auto end_field = [&] {
    take();
    if (tokens.size() > at_comma.value_or(0)) return;
    throw CLI::ValidationError("--tokens", "there is nothing where a comma asks for a token id");
  };
  for (const char c : list) {
    if (c == ',') {
      end_field();
      at_comma = tokens.size();
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      take();
    } else {
      word += c;
    }
  }
  at_comma ? end_field() : take();
  return tokens;
}

// The header of a .npy 1.0 file: magic, version, length, a Python dictionary padded to 64 bytes.
std::string npy_header(size_t rows, size_t columns) {
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) +
                     ", " + std::to_string(columns) + "), }";
  const size_t before = 10;
  while ((before + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw Failure{SOMA_NOT_FOUND, "can't read '" + path + "'"};
  return text.str();
}

// A file that takes its name only when it is whole: what stood there before a failure still does.
// What is there and no ordinary file (a device, a pipe) is written into as it is.
class OutputFile {
 public:
  explicit OutputFile(const std::string& name) : name_(name), part_(name) {
    struct stat status = {};
    if (stat(name.c_str(), &status) != 0 || S_ISREG(status.st_mode)) part_ += ".part";
    file_ = std::fopen(part_.c_str(), "wb");
    if (file_ == nullptr) fail();
  }
  OutputFile(const OutputFile&) = delete;
  ~OutputFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    if (part_ != name_) std::remove(part_.c_str());
  }
  void write(const void* data, size_t bytes) {
    if (std::fwrite(data, 1, bytes, file_) != bytes) fail();
  }
  void finish() {
    if (std::fflush(file_) != 0) fail();
    if (part_ != name_ && std::rename(part_.c_str(), name_.c_str()) != 0) fail();
    std::fclose(std::exchange(file_, nullptr));
  }

 private:
  [[noreturn]] void fail() const {
    throw Failure{SOMA_UNAVAILABLE, "can't write '" + name_ + "': " + std::strerror(errno)};
  }
  std::string name_, part_;
  FILE* file_ = nullptr;
};

void run(LogitsVerb verb) {
  const std::vector<int32_t> tokens =
      parse_tokens(verb.tokens_file.empty() ? verb.tokens : read_file(verb.tokens_file));
  if (tokens.empty()) throw CLI::ValidationError("--tokens", "no token ids given");
  if (verb.engine.context.empty()) verb.engine.context = std::to_string(tokens.size());
  OutputFile out(verb.out);
  const Engine engine = make_engine(verb.engine, true);
  const Sequence sequence = make_sequence(engine.session);
  // In pieces, so that memory holds the logits of a piece and not of all positions.
  const size_t piece = 256;
  for (size_t at = 0; at < tokens.size(); at += piece) {
    const size_t count = std::min(piece, tokens.size() - at);
    check([&](soma_error** error) {
      return soma_sequence_prefill(sequence, tokens.data() + at, count, SOMA_LOGITS_ALL,
                                   engine.cancel, error);
    });
    Tensor logits;
    check([&](soma_error** error) { return soma_sequence_logits(sequence, logits.out(), error); });
    const size_t columns = static_cast<size_t>(soma_tensor_shape(logits)[1]);
    const std::string header = npy_header(tokens.size(), columns);
    if (at == 0) out.write(header.data(), header.size());
    out.write(soma_tensor_data(logits), count * columns * sizeof(float));
  }
  clear_progress();
  out.finish();
}

}  // namespace

void add_logits(CLI::App& app) {
  auto verb = std::make_shared<LogitsVerb>();
  CLI::App* sub = app.add_subcommand("logits", "Write the logits of every position to a .npy file");
  add_engine_flags(*sub, verb->engine, true);
  CLI::Option_group* source = sub->add_option_group("tokens");
  source->add_option("--tokens", verb->tokens, "token ids: 1,2,3");
  source->add_option("--tokens-file", verb->tokens_file, "a file of token ids");
  source->require_option(1);
  sub->add_option("--out", verb->out, "the file to write: f32, positions × vocabulary")->required();
  sub->callback([verb] { run(*verb); });
}

}  // namespace cli
