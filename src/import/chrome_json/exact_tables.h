// Tables of a block in exactly the memory they need.
//
// Columns grow by doubling, so a fragment would hold a third more than its rows, for each of a thousand blocks until
// the end of the file. So rows are collected in columns that a thread uses again and again, and copied out: also
// faster, since those columns stay in the cache and are never grown anew.
#pragma once

#include "trace/builder.h"

namespace stepscope::chrome_json {

// Before a block: gives the fragment the roomy columns of `spare`.
void lend_columns(Fragment& fragment, Fragment& spare);
// After it: takes them back and leaves exact copies.
void take_columns_back(Fragment& fragment, Fragment& spare);

}  // namespace stepscope::chrome_json
