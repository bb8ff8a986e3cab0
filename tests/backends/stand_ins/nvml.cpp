// Stands in for the driver's libnvidia-ml.so.1: one card, "GPU-stand-in", with chosen values. STAND_IN is
// "lost" (the card fell off the bus), "unsupported" or "no-driver"; compiled with STAND_IN_OLD it lacks what
// came later.
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int card = 0;

bool is(const char* what) {
  const char* const now = std::getenv("STAND_IN");
  return now != nullptr && std::strcmp(now, what) == 0;
}

// Of every question about a card.
int code(void* device) {
  if (device != &card) return 2;
  return is("lost") ? 15 : is("unsupported") ? 3 : 0;
}

template <typename Value>
int give(void* device, Value* to, Value value) {
  if (code(device) == 0) *to = value;
  return code(device);
}

int give(void* device, char* to, unsigned size, const char* value) {
  if (std::strlen(value) >= size) return 7;
  if (code(device) == 0) std::strcpy(to, value);
  return code(device);
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return is("no-driver") ? 9 : 0; }

const char* nvmlErrorString(int code) {
  switch (code) {
    case 3:
      return "Not Supported";
    case 9:
      return "Driver Not Loaded";
    case 15:
      return "GPU is lost";
    default:
      return "Not Found";
  }
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (std::string(uuid) != "GPU-stand-in") return 6;
  *device = &card;
  return 0;
}

int nvmlSystemGetDriverVersion(char* to, unsigned size) { return give(&card, to, size, "580.65.06"); }
int nvmlDeviceGetSerial(void* device, char* to, unsigned size) {
  return give(device, to, size, "1650522000001");
}
int nvmlDeviceGetVbiosVersion(void* device, char* to, unsigned size) {
  return give(device, to, size, "96.00.89.00.01");
}
int nvmlDeviceGetBoardPartNumber(void* device, char* to, unsigned size) {
  return give(device, to, size, "699-2G520-0282-600");
}
int nvmlDeviceGetClockInfo(void* device, int clock, unsigned* to) {
  return give(device, to, clock == 1 ? 1980U : clock == 2 ? 3201U : 0U);
}
int nvmlDeviceGetMaxClockInfo(void* device, int clock, unsigned* to) {
  return give(device, to, clock == 1 ? 2000U : clock == 2 ? 3300U : 0U);
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* to) {
  return give(device, to, sensor == 0 ? 41U : 0U);
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* to) { return give(device, to, 123'400U); }
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* to) { return give(device, to, 700'000U); }
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* to) {
  return give(device, to, 5'000'500ULL);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* to) {
  return give(device, to, 0x44ULL);
}
int nvmlDeviceGetEccMode(void* device, unsigned* now, unsigned* pending) {
  give(device, pending, 0U);
  return give(device, now, 1U);
}
int nvmlDeviceGetTotalEccErrors(void* device, int type, int counter, unsigned long long* to) {
  return give(device, to, type == 1 && counter == 0 ? 2ULL : 99ULL);
}
int nvmlDeviceGetRetiredPages(void* device, int cause, unsigned* count, unsigned long long* addresses) {
  if (addresses != nullptr || *count != 0) return 2;
  give(device, count, cause == 0 ? 3U : 4U);
  return code(device) == 0 ? 7 : code(device);
}
int nvmlDeviceGetCurrPcieLinkGeneration(void* device, unsigned* to) { return give(device, to, 5U); }
int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* to) { return give(device, to, 8U); }
int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* to) { return give(device, to, 16U); }

#ifndef STAND_IN_OLD
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* pending) {
  give(device, pending, 0U);
  return give(device, now, 0U);
}
int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
  give(device, corrected, 1U);
  give(device, uncorrected, 2U);
  give(device, pending, 1U);
  return give(device, failed, 0U);
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* list) {
  if (list != nullptr) return 2;
  give(device, count, 2U);
  return code(device) == 0 ? 7 : code(device);
}
#endif

}  // extern "C"
