#include "cases/operator_recorder.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "cases/schemas.h"
#include "precision/precision.h"

namespace ampgate::cases {
namespace {

struct Call {
  OperatorRecord record;
  bool superseded = false;  // an inner call of the same name ran
};

struct Log {
  std::vector<Call> calls;        // in the order of their starts
  std::vector<std::size_t> open;  // calls that have not returned
};

thread_local Log log;

struct Observed : at::ObserverContext {
  explicit Observed(std::size_t number_) : number(number_) {}
  std::size_t number;
};

void collect_types(const c10::IValue& value, std::vector<c10::ScalarType>& types) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) types.push_back(value.toTensor().scalar_type());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorList()) types.push_back(tensor.scalar_type());
  }
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  const auto schema = function.operator_schema();
  if (!schema || returns_alias(*schema) || is_allocation(function.name())) return nullptr;
  Call call;
  call.record.name = function.name();
  call.record.grad = c10::GradMode::is_enabled();
  for (const auto& input : function.inputs()) collect_types(input, call.record.inputs);
  for (const std::size_t outer : log.open) {
    if (log.calls[outer].record.name == call.record.name) log.calls[outer].superseded = true;
  }
  log.open.push_back(log.calls.size());
  log.calls.push_back(std::move(call));
  return std::make_unique<Observed>(log.open.back());
}

void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context == nullptr) return;
  const std::size_t number = static_cast<Observed*>(context)->number;
  for (const auto& output : function.outputs()) collect_types(output, log.calls[number].record.outputs);
  std::erase(log.open, number);
}

bool equal_types(const OperatorRecord& a, const OperatorRecord& b) {
  return a.name == b.name && a.inputs == b.inputs && a.outputs == b.outputs && a.grad == b.grad;
}

bool is_conversion(const OperatorRecord& record) {
  return record.name == "aten::_to_copy" || record.name == "aten::copy_" || record.name == "aten::clone";
}

bool has_type(const OperatorRecord& record, c10::ScalarType type) {
  const auto has = [&](const auto& types) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  return has(record.inputs) || has(record.outputs);
}

results::Json names_of(const std::vector<c10::ScalarType>& types) {
  results::Json names = results::Json::array();
  for (const auto type : types) names.push_back(precision::type_name(type));
  return names;
}

}  // namespace

OperatorRecorder::OperatorRecorder() {
  log = {};
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(on_start, on_end)
                                           .needsInputs(true)
                                           .needsOutputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
}

OperatorRecorder::~OperatorRecorder() { at::removeCallback(handle_); }

std::vector<OperatorRecord> OperatorRecorder::take() {
  std::vector<OperatorRecord> records;
  for (auto& call : log.calls) {
    if (call.superseded) continue;
    if (!records.empty() && equal_types(records.back(), call.record)) {
      ++records.back().count;
    } else {
      records.push_back(std::move(call.record));
    }
  }
  log = {};
  return records;
}

bool computed_in(const std::vector<OperatorRecord>& operators, c10::ScalarType type) {
  return std::any_of(operators.begin(), operators.end(), [&](const OperatorRecord& record) {
    return !is_conversion(record) && has_type(record, type);
  });
}

bool not_lowered(const OperatorRecord& record, c10::ScalarType type) {
  return type != at::kFloat && !is_conversion(record) && has_type(record, at::kFloat) &&
         !has_type(record, type);
}

results::Json to_json(const std::vector<OperatorRecord>& operators, c10::ScalarType asked) {
  results::Json list = results::Json::array();
  for (const auto& record : operators) {
    list.push_back({{"name", record.name},
                    {"inputs", names_of(record.inputs)},
                    {"outputs", names_of(record.outputs)},
                    {"count", record.count}});
    if (record.grad) list.back()["grad"] = true;
    if (not_lowered(record, asked)) list.back()["not_lowered"] = true;
  }
  return list;
}

}  // namespace ampgate::cases
