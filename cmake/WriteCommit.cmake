# Writes OUTPUT, a source file that knows the commit of SOURCE_DIR. Run with cmake -P at every build.
execute_process(
  COMMAND git --no-optional-locks -C "${SOURCE_DIR}" describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE failed ERROR_QUIET)
if(failed)
  set(commit "unknown")  # An unpacked archive, or a tree without its first commit.
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT [[
#include "app/build_info.h"

namespace shoal {

const char* build_commit() { return "${commit}"; }

}  // namespace shoal
]])
