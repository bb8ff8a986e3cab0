#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "backends/management/card.h"

namespace ampgate::backends::management {
namespace {

namespace fs = std::filesystem;

const std::string kFolder = AMPGATE_STAND_INS;
const std::string kNvml = kFolder + "/libstand_in_nvml.so";
const std::string kOldNvml = kFolder + "/libstand_in_old_nvml.so";
const std::string kRocmSmi = kFolder + "/libstand_in_rocm_smi.so";
constexpr auto kCard = "GPU-stand-in";

class ManagementTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("STAND_IN"); }
  static void stand_in(const char* as) { setenv("STAND_IN", as, 1); }
  static std::map<std::string, std::string> facts(const Card& card) {
    const auto fields = card.facts();
    return {fields.begin(), fields.end()};
  }
  template <typename Open>
  static std::string problem(const Open& open) {
    try {
      open();
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "no problem";
  }
};

TEST_F(ManagementTest, WhatNvmlSaysOfACard) {
  const auto card = nvidia_card(kCard, kNvml);
  auto now = card->telemetry();
  EXPECT_EQ(now.clock_mhz, 1980);
  EXPECT_EQ(now.temperature_c, 41);
  EXPECT_DOUBLE_EQ(now.power_w.value(), 123.4);
  EXPECT_DOUBLE_EQ(now.energy_j.value(), 5000.5);
  EXPECT_EQ(now.throttled, "power limit, heat (hardware)");
  auto said = facts(*card);
  EXPECT_EQ(said["serial_number"], "1650522000001");
  EXPECT_EQ(said["board_part_number"], "699-2G520-0282-600");
  EXPECT_EQ(said["vbios"], "96.00.89.00.01");
  EXPECT_EQ(said["driver"], "580.65.06");
  EXPECT_EQ(said["highest_sm_clock"], "2000 MHz");
  EXPECT_EQ(said["memory_clock"], "3201 MHz");
  EXPECT_EQ(said["power_limit"], "700.0 W");
  EXPECT_EQ(said["ecc"], "on, other after a restart");
  EXPECT_EQ(said["mig"], "off");
  EXPECT_EQ(said["uncorrected_ecc_errors"], "2");
  EXPECT_EQ(said["retired_pages"], "7");
  EXPECT_EQ(said["remapped_rows"], "3, more after a restart");
  EXPECT_EQ(said["pcie_generation"], "5");
  EXPECT_EQ(said["pcie_width"], "8");
  EXPECT_EQ(said["highest_pcie_width"], "16");
  EXPECT_EQ(said["processes"], "2");
}

TEST_F(ManagementTest, ACardThatIsLostTellsNothingAndSaysWhy) {
  const auto card = nvidia_card(kCard, kNvml);
  stand_in("lost");
  EXPECT_FALSE(card->telemetry().clock_mhz);
  EXPECT_FALSE(card->telemetry().throttled);
  for (const auto& [name, value] : facts(*card)) EXPECT_EQ(value, "not told: GPU is lost") << name;
}

TEST_F(ManagementTest, WhatACardDoesNotSupportIsAbsent) {
  const auto card = nvidia_card(kCard, kNvml);
  stand_in("unsupported");
  EXPECT_FALSE(card->telemetry().power_w);
  EXPECT_EQ(facts(*card)["ecc"], "not told: Not Supported");
}

TEST_F(ManagementTest, AnOldLibraryLacksWhatCameLater) {
  const auto card = nvidia_card(kCard, kOldNvml);
  EXPECT_EQ(card->telemetry().temperature_c, 41);
  auto said = facts(*card);
  EXPECT_EQ(said["mig"], "not told: this NVML has no nvmlDeviceGetMigMode");
  EXPECT_EQ(said["processes"], "not told: this NVML has no nvmlDeviceGetComputeRunningProcesses_v3");
  EXPECT_EQ(said["serial_number"], "1650522000001");
}

TEST_F(ManagementTest, WithoutLibraryDriverOrCard) {
  EXPECT_NE(problem([] { nvidia_card(kCard, "libno-such.so.1"); }).find("libno-such.so.1 cannot be loaded"),
            std::string::npos);
  EXPECT_EQ(problem([] { nvidia_card("GPU-other", kNvml); }),
            "NVML does not know the card GPU-other: Not Found");
  stand_in("no-driver");
  EXPECT_EQ(problem([] { nvidia_card(kCard, kNvml); }),
            "NVML does not start: Driver Not Loaded; check the driver");
  EXPECT_NE(problem([] { nvidia_card(kCard, kRocmSmi); }).find("nvmlInit_v2"), std::string::npos)
      << "another library under that name";
}

TEST_F(ManagementTest, WhatRocmSmiSaysOfACard) {
  const fs::path devices = fs::path(::testing::TempDir()) / "pci_devices";
  const fs::path monitor = devices / "0000:c3:00.0" / "hwmon" / "hwmon4";
  fs::create_directories(monitor);
  std::ofstream(monitor / "freq1_input") << "2100000000\n";
  std::ofstream(monitor / "temp1_input") << "40000\n";
  std::ofstream(devices / "0000:c3:00.0" / "current_link_width") << "16\n";
  const auto card = amd_card("0000:C3:00.0", kRocmSmi, devices.string());
  auto now = card->telemetry();
  EXPECT_EQ(now.clock_mhz, 2100);
  EXPECT_EQ(now.temperature_c, 47) << "ROCm SMI's junction before the file's edge";
  EXPECT_EQ(now.power_w, 141);
  EXPECT_FALSE(now.energy_j);
  auto said = facts(*card);
  EXPECT_EQ(said["serial_number"], "0x1a2b3c");
  EXPECT_EQ(said["board"], "AMD Instinct MI300X");
  EXPECT_EQ(said["vbios"], "113-M3000100-102");
  EXPECT_EQ(said["power_limit"], "750.0 W");
  EXPECT_EQ(said["uncorrected_ecc_errors"], "1");
  EXPECT_EQ(said["retired_pages"], "6");
  EXPECT_EQ(said["pcie_width"], "16");
  EXPECT_EQ(said["partition"], "not told: there is no current_compute_partition");
  stand_in("unsupported");
  EXPECT_EQ(card->telemetry().temperature_c, 40) << "the file's, where ROCm SMI does not tell";
  EXPECT_EQ(facts(*card)["retired_pages"], "not told: not supported");
  fs::remove_all(devices);
}

TEST_F(ManagementTest, ACardThatRocmSmiDoesNotKnow) {
  EXPECT_EQ(problem([] { amd_card("0000:04:00.0", kRocmSmi); }),
            "ROCm SMI does not know the card at 0000:04:00.0");
  EXPECT_EQ(problem([] { amd_card("nowhere", kRocmSmi); }), "'nowhere' is no PCI address");
  stand_in("no-kfd");
  EXPECT_EQ(problem([] { amd_card("0000:c3:00.0", kRocmSmi); }),
            "ROCm SMI does not start: permission denied; is /dev/kfd readable for this user?");
}

}  // namespace
}  // namespace ampgate::backends::management
