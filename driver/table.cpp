#include "driver/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "driver/islands.h"

namespace ampgate::driver {
namespace {

using results::Json;

enum class Colour { kNone, kGreen, kYellow, kRed };

struct Cell {
  std::string text;
  Colour colour = Colour::kNone;
};

constexpr std::array<std::string_view, 10> kHeads{"case",   "shape",       "precision", "verdict",
                                                  "margin", "median time", "rate",      "speed-up",
                                                  "memory", "measurement"};
constexpr std::array<bool, 10> kRight{false, false, false, false, true, true, true, true, true, false};

using Row = std::array<Cell, kHeads.size()>;

// Columns that a terminal shows, not bytes: UTF-8 continuation bytes take none.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string three_digits(double value) {
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

Colour colour_of(const std::string& word) {
  if (word == "pass" || word == "measured") return Colour::kGreen;
  if (word == "unsupported" || word == "suspect" || word == "ambiguous" || word == "below-target")
    return Colour::kYellow;
  return Colour::kRed;
}

std::string margin(const Json& trial) {
  const Json accuracy = trial.value("accuracy", Json::object());
  const Json kernel = accuracy.value("kernel_error", Json());  // null where nothing was compared
  const auto found = kernel.find("margin");
  if (found == kernel.end()) return "-";
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() ? fmt::format("{:.2f}", found->get<double>()) : "-";
}

// "1.23 ms ±2.1%": the interval's half width in percent of the median.
std::string median(const Json& measurement) {
  const Json& time = measurement.at("time_ns");
  const double value = time.at("median").get<double>();
  std::string text = time_words(value);
  if (!time.contains("interval")) return text + " (no interval)";
  const double half = (time["interval"][1].get<double>() - time["interval"][0].get<double>()) / 2;
  return text + fmt::format(" ±{:4.1f}%", 100 * half / value);
}

std::string rate(const Json& measurement) {
  if (measurement.contains("tflops")) {
    const double tflops = measurement["tflops"].at("value");
    return tflops < 0.1 ? three_digits(1e3 * tflops) + " GFLOP/s" : three_digits(tflops) + " TFLOP/s";
  }
  if (measurement.contains("gbps")) return three_digits(measurement["gbps"].at("value")) + " GB/s";
  return "-";
}

Row row(const Json& trial) {
  Row cells;
  cells.fill({"-", Colour::kNone});
  const auto verdict = trial.at("verdict").get<std::string>();
  cells[0].text = trial.at("case");
  cells[1].text = trial.at("shape").at("name");
  cells[2].text = trial.at("precision");
  if (trial.value("not_lowered", false)) cells[2].text += ", not lowered";
  cells[3] = {verdict, colour_of(verdict)};
  cells[4].text = margin(trial);
  if (!trial.contains("measurement")) return cells;
  const Json& measurement = trial.at("measurement");
  const auto measured = measurement.at("verdict").get<std::string>();
  cells[9] = {measured, colour_of(measured)};
  if (!measurement.contains("time_ns")) return cells;
  cells[5].text = median(measurement);
  cells[6].text = rate(measurement);
  if (measurement.contains("speedup_over_fp32")) {
    cells[7].text = ratio_words(measurement["speedup_over_fp32"].at("value").get<double>()) + "x";
  }
  if (measurement.contains("memory") && measurement["memory"].contains("peak_bytes")) {
    cells[8].text = bytes_words(measurement["memory"]["peak_bytes"].get<double>());
  }
  return cells;
}

std::string painted(const Cell& cell, bool colour) {
  constexpr std::array<std::string_view, 4> kCodes{"", "\033[32m", "\033[33m", "\033[31m"};
  if (!colour || cell.colour == Colour::kNone) return cell.text;
  return fmt::format("{}{}\033[0m", kCodes[static_cast<std::size_t>(cell.colour)], cell.text);
}

}  // namespace

std::string time_words(double nanoseconds) {
  if (nanoseconds >= 1e9) return three_digits(nanoseconds / 1e9) + " s ";
  if (nanoseconds >= 1e6) return three_digits(nanoseconds / 1e6) + " ms";
  if (nanoseconds >= 1e3) return three_digits(nanoseconds / 1e3) + " us";
  return three_digits(nanoseconds) + " ns";
}

std::string bytes_words(double bytes) {
  constexpr std::array<std::string_view, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : three_digits(bytes) + " " + std::string(kUnits[unit]);
}

std::string ratio_words(double ratio) {
  return ratio < 0.1 ? fmt::format("{:.2g}", ratio) : fmt::format("{:.2f}", ratio);
}

std::string table(const Json& record, bool colour) {
  const bool measures = record.contains("bench");
  const std::size_t columns = measures ? kHeads.size() : 5;
  std::vector<Row> rows(1);
  for (std::size_t i = 0; i < columns; ++i) rows[0][i].text = kHeads[i];
  for (const auto& trial : record.at("trials")) {
    if (!is_needless(trial)) rows.push_back(row(trial));
  }

  std::array<std::size_t, kHeads.size()> widths{};
  for (const auto& cells : rows) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], width(cells[i].text));
  }
  std::string text;
  for (const auto& cells : rows) {
    std::string line;
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string padding(widths[i] - width(cells[i].text), ' ');
      if (i > 0) line += "  ";
      line += kRight[i] ? padding + painted(cells[i], colour) : painted(cells[i], colour) + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace ampgate::driver
