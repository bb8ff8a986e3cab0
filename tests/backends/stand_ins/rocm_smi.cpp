// Stands in for librocm_smi64.so: two cards, at 0000:03:00.0 and 0000:c3:00.0, the second with chosen values.
// STAND_IN is "no-kfd" or "unsupported".
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

bool is(const char* what) {
  const char* const now = std::getenv("STAND_IN");
  return now != nullptr && std::strcmp(now, what) == 0;
}

int code(std::uint32_t index) { return index != 1 ? 1 : is("unsupported") ? 2 : 0; }

template <typename Value>
int give(std::uint32_t index, Value* to, Value value) {
  if (code(index) == 0) *to = value;
  return code(index);
}

int give(std::uint32_t index, char* to, std::uint32_t size, const char* value) {
  if (std::strlen(value) >= size) return 11;
  if (code(index) == 0) std::strcpy(to, value);
  return code(index);
}

}  // namespace

extern "C" {

int rsmi_init(std::uint64_t) { return is("no-kfd") ? 4 : 0; }
int rsmi_status_string(int code, const char** words) {
  *words = code == 2 ? "not supported" : code == 4 ? "permission denied" : "invalid arguments";
  return 0;
}
int rsmi_num_monitor_devices(std::uint32_t* count) {
  *count = 2;
  return 0;
}
int rsmi_dev_pci_id_get(std::uint32_t index, std::uint64_t* id) {
  *id = index == 0 ? 0x300 : 0x2000c300;  // the second is partition 2 of its card
  return 0;
}
int rsmi_dev_serial_number_get(std::uint32_t index, char* to, std::uint32_t size) {
  return give(index, to, size, "0x1a2b3c");
}
int rsmi_dev_brand_get(std::uint32_t index, char* to, std::uint32_t size) {
  return give(index, to, size, "AMD Instinct MI300X");
}
int rsmi_dev_vbios_version_get(std::uint32_t index, char* to, std::uint32_t size) {
  return give(index, to, size, "113-M3000100-102");
}
int rsmi_dev_power_cap_get(std::uint32_t index, std::uint32_t sensor, std::uint64_t* to) {
  return give(index, to, sensor == 0 ? std::uint64_t{750'000'000} : std::uint64_t{0});
}
int rsmi_dev_power_ave_get(std::uint32_t index, std::uint32_t sensor, std::uint64_t* to) {
  return give(index, to, sensor == 0 ? std::uint64_t{141'000'000} : std::uint64_t{0});
}
int rsmi_dev_temp_metric_get(std::uint32_t index, std::uint32_t sensor, int metric, std::int64_t* to) {
  return give(index, to, sensor == 1 && metric == 0 ? std::int64_t{47'000} : std::int64_t{0});
}
int rsmi_dev_ecc_count_get(std::uint32_t index, std::uint64_t block, std::uint64_t* counts) {
  if (code(index) == 0 && block == 1) counts[0] = 9;
  return give(index, counts + 1, std::uint64_t{1});
}
int rsmi_dev_memory_reserved_pages_get(std::uint32_t index, std::uint32_t* count, void* list) {
  return list != nullptr ? 1 : give(index, count, std::uint32_t{6});
}

}  // extern "C"
