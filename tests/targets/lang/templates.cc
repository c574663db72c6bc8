// SPDX-License-Identifier: BSD-2-Clause
// templates.cc - keeps a C++ compiler busy for some seconds.
#include <functional>
#include <map>
#include <regex>
#include <string>

template <int n> bool matches(const std::string &text)
{
	static const std::basic_regex<char> pattern("a(b|c)*d[0-9]+");
	std::smatch match;
	std::map<std::string, std::function<bool()>> table{{text, [&] { return std::regex_search(text, match, pattern); }}};

	return table[text]() && matches<n - 1>(text);
}

template <> bool matches<0>(const std::string &)
{
	return true;
}

bool matches_all(const std::string &text)
{
	return matches<4>(text);
}
