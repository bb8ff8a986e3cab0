// Words that users type: patterns over names, and the nearest known word for one that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ampgate::driver {

// `*`, `?` and `[...]` as in a shell; `*` stands for slashes too.
bool matches(const std::string& pattern, const std::string& name);

// "did you mean 'matmul'?" for what is near, else "known: a, b, c".
std::string suggest(std::string_view word, const std::vector<std::string>& known);

std::string join(const std::vector<std::string>& words, std::string_view separator);

// "a,b,c" in pieces; empty pieces are left out.
std::vector<std::string> split(std::string_view list, char separator);

}  // namespace ampgate::driver
