// What an effect costs that takes no time itself: without a journal, with one in memory, with one
// on the disk, alone and among many at the same time; beside what the disk takes to make a few
// bytes durable, which nobody can go below twice for an effect alone.
//
//   make bench-effects        build/release/bench/effects [FOLDER]
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <soma/soma.hpp>
#include <string>
#include <vector>

namespace {

double now_us() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(since).count();
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// One step that waits for `turns` effects, one after the other.
std::string in_turns(int turns) {
  return R"({"soma":"graph","version":1,"nodes":[{"id":"s","kind":"step","op":"turns",)"
         R"("max_turns":)" +
         std::to_string(turns + 1) + "}],\"edges\":[]}";
}

// So many steps side by side, with one effect each.
std::string at_once(int count) {
  std::string nodes;
  for (int i = 0; i < count; ++i) {
    nodes += (i > 0 ? "," : "") + ("{\"id\":\"s" + std::to_string(i)) +
             R"(","kind":"step","op":"turn"})";
  }
  return R"({"soma":"graph","version":1,"nodes":[)" + nodes + "],\"edges\":[]}";
}

// Microseconds an effect, of an execution under an id of its own.
double cost_us(const soma::runtime& runtime, const std::string& document, int effects,
               const soma::journal* journal) {
  static int runs = 0;
  soma::ops ops;
  ops.add_step("turns", [effects](soma::turn& turn) {
    if (turn.number() < static_cast<std::uint32_t>(effects)) turn.await("echo", turn.input());
  });
  ops.add_step("turn", [](soma::turn& turn) {
    if (turn.number() == 0) turn.await("echo", turn.input());
  });
  ops.add_handler("echo", SOMA_IN_DOUBT_RETRY,
                  [](const soma::effect& effect) { effect.complete(effect.payload()); });
  soma::run run(soma::plan(soma::graph::parse(runtime, document)), ops);
  if (journal) run.remember(*journal, "run " + std::to_string(++runs));
  const double begun = now_us();
  (void)run.execute(soma::value::of(runtime, "payload"));
  return (now_us() - begun) / effects;
}

double disk_us(const std::string& folder) {
  const std::string path = folder + "/floor";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) std::abort();
  constexpr int writes = 100;
  const std::string bytes(200, 'x');
  const double begun = now_us();
  for (int i = 0; i < writes; ++i) {
    if (::write(file, bytes.data(), bytes.size()) < 0 || ::fdatasync(file) != 0) std::abort();
  }
  const double took = (now_us() - begun) / writes;
  ::close(file);
  return took;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string folder = count > 1 ? arguments[1] : "build/bench-effects";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const soma::runtime runtime(soma::options("runtime").set("threads", 2));
  const soma::journal disk(runtime, folder + "/journal"), memory(runtime);
  constexpr int alone = 100, many = 1000, rounds = 5;
  struct Row {
    const char* name;
    const std::string document;
    int effects;
    const soma::journal* journal;
    std::vector<double> times = {};
  };
  Row rows[] = {
      {"one by one, no journal", in_turns(alone), alone, nullptr},
      {"one by one, journal in memory", in_turns(alone), alone, &memory},
      {"one by one, journal on disk", in_turns(alone), alone, &disk},
      {"a thousand at once, no journal", at_once(many), many, nullptr},
      {"a thousand at once, journal in memory", at_once(many), many, &memory},
      {"a thousand at once, journal on disk", at_once(many), many, &disk},
  };
  std::vector<double> floor;
  for (int round = 0; round < rounds; ++round) {
    for (Row& row : rows) {
      row.times.push_back(cost_us(runtime, row.document, row.effects, row.journal));
    }
    floor.push_back(disk_us(folder));
  }
  for (const Row& row : rows) {
    std::printf("%-40s %10.2f us an effect\n", row.name, median(row.times));
  }
  std::printf("%-40s %10.2f us\n", "a write of 200 bytes and fdatasync", median(floor));
  std::filesystem::remove_all(folder);
}
