// Puts a faulty operator under a run: sees every operator that this thread calls, below phase 1's
// interceptor and above autograd and autocast, so that whoever looks on sees the faulty results as the
// operator's own.
#pragma once

#include "validate/interceptor.h"

namespace ampgate::validate::selftest {

// The next key below that of the interceptor.
using FaultScope = HookScope<c10::DispatchKey::TESTING_ONLY_GenericWrapper>;

}  // namespace ampgate::validate::selftest
