#include "bench/peak.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <vector>

#include "bench/allocations.h"
#include "bench/autocast_frames.h"
#include "bench/call_observer.h"

namespace ampgate::bench {
namespace {

struct Block {
  void* address;
  std::int64_t bytes;
  std::string operator_name;  // that the body called when it was asked for; empty: none ran
  bool cast;
  bool outlived = false;  // the operator that asked for it: a result
};

class PeakWatch final : public CallObserver, public AllocationListener {
 public:
  explicit PeakWatch(c10::DeviceType device)
      : CallObserver(/*inputs=*/false), frames_(device), allocations_(*this) {}

  // With all that the call left still alive.
  PeakParts parts(const cases::Outputs& left) const {
    std::set<const void*> returned;
    for (const auto& output : left) returned.insert(output.storage().data());
    PeakParts parts;
    for (const std::size_t number : at_peak_) {
      const Block& block = blocks_[number];
      parts.bytes += block.bytes;
      const auto live = live_.find(block.address);
      if (live != live_.end() && live->second == number && returned.contains(block.address)) {
        parts.outputs += block.bytes;
      } else if (block.cast) {
        parts.casts += block.bytes;
      } else if (block.outlived) {
        parts.intermediates += block.bytes;
      } else {
        parts.workspaces[block.operator_name.empty() ? "no operator" : block.operator_name] += block.bytes;
      }
    }
    return parts;
  }

 private:
  void enter(const at::RecordFunction& function) override {
    if (frames_.depth() == 0) operator_name_ = function.name();
    frames_.enter(function);
  }
  void leave() override {
    frames_.leave();
    if (frames_.depth() == 0) end_operator();
  }
  void end_operator() {
    for (const auto& [address, number] : live_) blocks_[number].outlived = true;
    operator_name_.clear();
  }
  void allocated(void* address, std::int64_t bytes) override {
    live_[address] = blocks_.size();
    blocks_.push_back({address, bytes, operator_name_, frames_.in_cast()});
    live_bytes_ += bytes;
    if (live_bytes_ <= peak_bytes_) return;
    peak_bytes_ = live_bytes_;
    at_peak_.clear();
    for (const auto& [_, number] : live_) at_peak_.push_back(number);
  }
  void released(void* address) override {
    const auto found = live_.find(address);
    if (found == live_.end()) return;  // older than the watch
    live_bytes_ -= blocks_[found->second].bytes;
    live_.erase(found);
  }

  AutocastFrames frames_;
  std::string operator_name_;
  std::vector<Block> blocks_;
  std::unordered_map<void*, std::size_t> live_;  // numbers of blocks
  std::int64_t live_bytes_ = 0;
  std::int64_t peak_bytes_ = 0;
  std::vector<std::size_t> at_peak_;
  AllocationScope allocations_;
};

}  // namespace

PeakParts peak_parts(Body& body, backends::Backend& backend) {
  body.prepare(1);
  body.release();
  const PeakWatch watch(body.device());
  const auto outputs = run_calls(body, 1);
  backend.synchronize();
  return watch.parts(body.left_by_call(outputs));
}

}  // namespace ampgate::bench
