// Recording a stream instead of running it: whatever waits for the device, or asks the driver for memory, in
// any thread of the process fails meanwhile.
#pragma once

namespace ampgate::backends::kernels {

// Returns "" or the runtime's error.
const char* begin_capture(void* stream);

// Ends it and throws away what was recorded. Returns "" or why the recording became invalid.
const char* end_capture(void* stream);

}  // namespace ampgate::backends::kernels
