// Records of older schema versions as records of this one. What changes is data,
// results/migrations/record.json, which the report and the queries read as well:
//   "at": where, "*" for each element of an array; nothing happens where there is no such object
//   "remove": a key; with "unless_type" only a value of another type, with "unless_member" only an object
//   that is not
//       empty and has none of these keys, with "if_empty" only an empty one. "absent" says why it is gone
//   "move": a key, to the path "to" below the same object, unless something is there
//   "add": a key that is missing, with "value", or with a "copy" of another key's
// Added is only what the programs of that version had built in: a number that was not measured is never made.
#pragma once

#include "results/json.h"

namespace ampgate::results {

extern const char* const kRecordMigrations;

// A record of version 1 becomes one of version 2, but for its version number.
void migrate_record(Json& record);

}  // namespace ampgate::results
