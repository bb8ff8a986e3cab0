#include "driver/own_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>

#include "driver/names.h"
#include "driver/shapes_file.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

std::string sizes_of(const CaseInfo& info) {
  return fmt::format("{} size{}: {}", info.dims.size(), info.dims.size() == 1 ? "" : "s",
                     join(info.dims, " x "));
}

void check_count(const CaseInfo& info, std::size_t given) {
  if (given == info.dims.size()) return;
  std::string what =
      fmt::format("case {} has {}; {} {} given", info.name, sizes_of(info), given, given == 1 ? "is" : "are");
  if (info.model && !info.shape_prefix.empty())
    what += "; what else it is made of is fixed by its trained weights";
  refuse(what);
}

// Programs multiply them in 64 bits.
void check_product(const CaseInfo& info, const std::vector<std::int64_t>& sizes) {
  std::int64_t product = 1;
  for (const auto size : sizes) {
    if (__builtin_mul_overflow(product, size, &product))
      refuse(fmt::format("case {}: the product of {} is beyond 64 bits", info.name, info.shape_name(sizes)));
  }
}

std::vector<std::int64_t> by_name(const CaseInfo& info, const std::vector<std::string>& pieces) {
  std::vector<std::int64_t> sizes(info.dims.size(), 0);
  for (const auto& piece : pieces) {
    const auto equals = piece.find('=');
    const std::string dim = piece.substr(0, equals);
    const auto found = std::find(info.dims.begin(), info.dims.end(), dim);
    if (equals == std::string::npos || found == info.dims.end())
      refuse(fmt::format("'{}' names no size of case {}, which has {}", piece, info.name, sizes_of(info)));
    auto& size = sizes[static_cast<std::size_t>(found - info.dims.begin())];
    if (size != 0) refuse(fmt::format("size {} is given twice", dim));
    size = parse_size(dim, piece.substr(equals + 1));
  }
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) missing.push_back(info.dims[i]);
  }
  if (!missing.empty())
    refuse(fmt::format("case {} has {}; {} is missing", info.name, sizes_of(info), join(missing, ", ")));
  return sizes;
}

std::vector<std::int64_t> in_order(const CaseInfo& info, std::string text) {
  if (!info.shape_prefix.empty() && text.starts_with(info.shape_prefix))
    text.erase(0, info.shape_prefix.size());
  std::vector<std::string> pieces(1);
  for (const char c : text) {
    if (c == 'x') {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  check_count(info, pieces.size());
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < pieces.size(); ++i) sizes.push_back(parse_size(info.dims[i], pieces[i]));
  return sizes;
}

std::vector<CaseShape> given_shapes(const Manifest& manifest, const Options& options) {
  const auto cases = cases_meant(manifest, options.cases);
  std::vector<CaseShape> shapes;
  for (const auto& text : options.shapes) {
    if (options.cases.empty()) {
      throw results::UsageError("--shape " + text + ": whose shape?", "name its case with --case");
    }
    for (const auto* info : cases) {
      try {
        shapes.push_back({info, parse_shape(*info, text), "--shape " + text});
      } catch (const std::invalid_argument& error) {
        throw results::UsageError(
            fmt::format("--shape {}: {}", text, error.what()),
            cases.size() == 1
                ? "see the case in: ampgate list"
                : "a shape must fit every case that --case names: ask for others in a run of their own");
      }
    }
  }
  return shapes;
}

}  // namespace

std::int64_t parse_size(const std::string& dim, const std::string& text) {
  std::int64_t size = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), size);
  const bool all = read.ptr == text.data() + text.size();
  if (read.ec == std::errc::result_out_of_range && all)
    refuse(fmt::format("{} = {} is beyond 64 bits", dim, text));
  if (read.ec != std::errc() || !all) refuse(fmt::format("{} = '{}' is no whole number", dim, text));
  if (size < 1) refuse(fmt::format("{} = {}: a size must be at least 1", dim, text));
  return size;
}

std::vector<std::int64_t> parse_shape(const CaseInfo& info, const std::string& text) {
  std::vector<std::int64_t> sizes =
      text.find('=') == std::string::npos ? in_order(info, text) : by_name(info, split(text, ','));
  check_product(info, sizes);
  return sizes;
}

const CaseInfo& case_named(const Manifest& manifest, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& info : manifest.cases) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  throw std::invalid_argument(fmt::format("no case is called '{}'; {}", name, suggest(name, names)));
}

std::vector<const CaseInfo*> cases_meant(const Manifest& manifest, const std::vector<std::string>& patterns) {
  std::vector<const CaseInfo*> meant;
  for (const auto& info : manifest.cases) {
    if (std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) {
          return matches(pattern.substr(0, pattern.find('/')), info.name);
        }))
      meant.push_back(&info);
  }
  return meant;
}

std::vector<CaseShape> own_shapes(const Manifest& manifest, const Options& options) {
  std::vector<CaseShape> given = given_shapes(manifest, options);
  if (!options.shapes_file.empty()) {
    const auto lines = read_shapes_file(options.shapes_file, manifest, options.cases);
    given.insert(given.end(), lines.begin(), lines.end());
  }
  std::vector<CaseShape> shapes;
  std::set<std::string> seen;
  for (const auto& info : manifest.cases) {
    for (const auto& shape : given) {
      if (shape.info == &info && seen.insert(info.name + "/" + info.shape_name(shape.sizes)).second)
        shapes.push_back(shape);
    }
  }
  return shapes;
}

results::Json to_json(const std::vector<CaseShape>& shapes) {
  results::Json list = results::Json::array();
  for (const auto& shape : shapes)
    list.push_back(
        {{"case", shape.info->name}, {"shape", shape.info->shape_name(shape.sizes)}, {"from", shape.from}});
  return list;
}

}  // namespace ampgate::driver
