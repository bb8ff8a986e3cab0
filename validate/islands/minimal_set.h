// Smallest sets that heal: removing members one by one, and delta debugging. Pure search, over anything that
// can be compared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace ampgate::validate {

template <typename Item>
using Heals = std::function<bool(const std::vector<Item>&)>;

template <typename Item>
std::vector<Item> without(std::vector<Item> set, std::size_t number) {
  set.erase(set.begin() + static_cast<std::ptrdiff_t>(number));
  return set;
}

// A 1-minimal subset of `set`, which heals: no member can be left out any more. Later members are tried
// first, since a search that follows the first bad operator puts the causes in front. Each member that stays
// is tried again when another has gone.
template <typename Item>
std::vector<Item> prune(std::vector<Item> set, const Heals<Item>& heals) {
  for (bool shrunk = true; shrunk;) {
    shrunk = false;
    for (std::size_t i = set.size(); i-- > 0;) {
      auto smaller = without(set, i);
      if (!heals(smaller)) continue;
      set = std::move(smaller);
      shrunk = true;
    }
  }
  return set;
}

// The same by delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input",
// 2002), for sets in which most members are needless: halves, then smaller pieces and their complements.
template <typename Item>
std::vector<Item> delta_debug(std::vector<Item> set, const Heals<Item>& heals) {
  std::size_t pieces = 2;
  while (set.size() >= 2) {
    pieces = std::min(pieces, set.size());
    const auto split = [&](std::size_t piece) {
      return set.begin() + static_cast<std::ptrdiff_t>(piece * set.size() / pieces);
    };
    std::vector<Item> found;
    std::size_t next = pieces;
    for (std::size_t i = 0; i < pieces && found.empty(); ++i) {
      std::vector<Item> piece(split(i), split(i + 1));
      if (heals(piece)) {
        found = std::move(piece);
        next = 2;
      }
    }
    for (std::size_t i = 0; i < pieces && found.empty() && pieces > 2; ++i) {
      std::vector<Item> rest(set.begin(), split(i));
      rest.insert(rest.end(), split(i + 1), set.end());
      if (heals(rest)) {
        found = std::move(rest);
        next = pieces - 1;
      }
    }
    if (!found.empty()) {
      set = std::move(found);
      pieces = std::max<std::size_t>(next, 2);
    } else if (pieces == set.size()) {
      break;
    } else {
      pieces *= 2;
    }
  }
  return prune(std::move(set), heals);
}

}  // namespace ampgate::validate
