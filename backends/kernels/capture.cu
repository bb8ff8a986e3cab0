#include "backends/kernels/capture.h"
#include "backends/kernels/gpu_runtime.h"

namespace ampgate::backends::kernels {

const char* begin_capture(void* stream) {
  return gpu::text_of(AMPGATE_GPU(StreamBeginCapture)(static_cast<gpu::Stream>(stream),
                                                      AMPGATE_GPU(StreamCaptureModeGlobal)));
}

const char* end_capture(void* stream) {
  AMPGATE_GPU(Graph_t) graph = nullptr;
  const gpu::Error ended = AMPGATE_GPU(StreamEndCapture)(static_cast<gpu::Stream>(stream), &graph);
  const gpu::Error destroyed = graph == nullptr ? gpu::kSuccess : AMPGATE_GPU(GraphDestroy)(graph);
  // An invalid recording leaves its error behind, where the next launch would find it.
  static_cast<void>(AMPGATE_GPU(GetLastError)());
  return gpu::text_of(ended != gpu::kSuccess ? ended : destroyed);
}

}  // namespace ampgate::backends::kernels
