// Seals what a journal says: a chain of digests, so that no link can be changed, moved or dropped.
#include "journal/seal.hpp"

#include "base/hash.hpp"

namespace soma {

std::string seal_of(const RunIdentity& identity) {
  return Digest().text("journal").number(journal_version).text(identity.run).text(identity.plan)
      .text(identity.input).hex();
}

std::string seal_of(const Record& record, u64 number, const std::string& before) {
  return Digest().text(before).number(number).text(record_kind_name(record.kind))
      .text(record.site.path).number(record.site.turn).number(record.site.index)
      .text(record.effect).text(record.digest).text(record.content)
      .number(static_cast<u64>(record.at_ns)).hex();
}

}  // namespace soma
