// The seals by which every store notices that a run's records are not those that were written.
#pragma once

#include "journal/record.hpp"

namespace soma {

// Of all that format.md describes; goes into the first seal.
inline constexpr u64 journal_version = 1;

// 32 hexadecimal digits: of what a journal begins with, and of each record after it. `number`
// counts the records from 1, `before` is the seal of the one before, or of the identity.
std::string seal_of(const RunIdentity& identity);
std::string seal_of(const Record& record, u64 number, const std::string& before);

}  // namespace soma
