// A LibTorch that is installed on this machine, for workers that come without one (a slim bundle).
#pragma once

#include <filesystem>
#include <string>

namespace ampgate::driver {

// The folder of the `torch` package, with lib/ in it: `wanted` (--torch, or the variable AMPGATE_TORCH), else
// that of the python3 on PATH. Throws results::EnvironmentError where there is none, or one of another version
// than `version`, which is named as its version.py does ("2.11.0+cu130").
std::filesystem::path installed_torch(const std::string& wanted, const std::string& version);

// Folders of it that hold shared libraries, its own first: those of the vendor's packages lie beside it.
std::string library_path(const std::filesystem::path& torch);

}  // namespace ampgate::driver
