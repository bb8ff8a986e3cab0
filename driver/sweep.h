// --sweep: cases over a geometric range of sizes.
#pragma once

#include <vector>

#include "driver/own_shapes.h"
#include "driver/worker_folder.h"
#include "results/json.h"

namespace ampgate::driver {

// The sizes of `--sweep m,n=64:1024:2` for every case that --case names: 64, 128, ... and the upper end
// itself. The case's other sizes are those of --shape, else of its first shape in suite standard. Throws
// results::UsageError.
std::vector<CaseShape> sweep_shapes(const Manifest& manifest, const Options& options);

// What a plan says of a sweep: its range, the memory there is, and for each size what it asks for. Sizes that
// the case cannot have or the memory cannot hold are taken out of `shapes` and stay with the reason; larger
// ones than were asked for, to predict what fits, follow. Throws results::UsageError when fewer than two
// sizes are left.
results::Json plan_sweep(const Options& options, const WorkerFolder& folder, const std::string& device,
                         std::vector<CaseShape>& shapes);

}  // namespace ampgate::driver
