// How long work shows itself and is stopped: one cancel object for the whole process, which Ctrl-C
// sets, and a tick that draws a bar on a terminal, or now and then writes a line into a pipe.
#pragma once

#include "cli/client.hpp"

namespace cli {

// Makes the process's cancel object and lets SIGINT and SIGTERM set it. Its tick writes to stderr.
Cancel make_cancel(const Runtime& runtime, bool show_progress);

// For what is shown from now on: in how many nanoseconds the work will have ended, about; negative:
// nobody knows. From any thread.
void expect_end(int64_t from_now_ns);

// Removes an unfinished progress line before other text is written. No-op when there is none.
void clear_progress();

}  // namespace cli
