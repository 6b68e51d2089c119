// libsoma for C++17: soma.h with owners in place of references, exceptions in place of codes, and
// containers in place of pointers. It adds nothing; soma.h is the manual, and for what is not
// wrapped here (log sink, allocator, steps of several sequences, …) get() gives the C handle.
//
// Header only, over soma.h alone: programs depend on the C ABI and on no C++ ABI. Objects are
// cheap to copy (one reference more). A failing call throws soma::error. Callbacks may throw: it
// stops the call, and what a token callback throws comes out of generate, what a node's function
// throws out of the run. No exception passes through the library.
#ifndef SOMA_SOMA_HPP
#define SOMA_SOMA_HPP

#include "soma/base.hpp"
#include "soma/graph.hpp"
#include "soma/journal.hpp"
#include "soma/model.hpp"
#include "soma/run.hpp"

#endif
