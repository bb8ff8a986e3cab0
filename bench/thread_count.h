// How many threads compute in this process: a body that starts some of its own is found by the difference.
#pragma once

namespace ampgate::bench {

// Threads of this process, but for LibTorch's pool that runs tasks beside each other (`fork` in TorchScript).
int thread_count();

}  // namespace ampgate::bench
