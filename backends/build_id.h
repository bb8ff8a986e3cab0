// Which build this worker is: SHA-256 over the sources of the worker folders, compiler, flags and LibTorch's
// build.
#pragma once

namespace ampgate::backends {

const char* build_id();     // 64 hexadecimal digits; both workers of a build share it
const char* build_flags();  // compiler, version, type and flags, in words

}  // namespace ampgate::backends
