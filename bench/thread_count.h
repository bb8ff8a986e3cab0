// How many threads compute in this process: a body that starts some of its own is found by the difference.
#pragma once

namespace ampgate::bench {

// Starts the threads that operators share under the number of threads that is set now, so that a difference
// of thread_count() is what somebody else started.
void start_own_threads();

// Threads of this process, but for LibTorch's pool that runs tasks beside each other (`fork` in TorchScript).
int thread_count();

}  // namespace ampgate::bench
