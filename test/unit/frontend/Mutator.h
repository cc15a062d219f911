// Texts made from a corpus by a few random edits, the same ones for the same seed: what hostile and
// half-typed files look like.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace nncc::frontend {

class Mutator {
public:
  Mutator(std::vector<std::string> corpus, uint32_t seed)
      : corpus(std::move(corpus)), random(seed) {}

  std::string next() {
    std::string text = pick(corpus);
    for (size_t edits = 1 + below(4); edits > 0; --edits)
      edit(text);
    return text;
  }

private:
  size_t below(size_t bound) { return bound == 0 ? 0 : random() % bound; }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[below(from.size())];
  }

  void edit(std::string &text) {
    static const std::vector<std::string> fragments = {"(",
                                                       ")",
                                                       "[",
                                                       "]",
                                                       "{",
                                                       "}",
                                                       ",",
                                                       ":",
                                                       "..",
                                                       ".",
                                                       "=",
                                                       "==",
                                                       "<",
                                                       "-",
                                                       "**",
                                                       "//",
                                                       "@",
                                                       " as ",
                                                       " as a{i}.0",
                                                       "\n",
                                                       "\n\n",
                                                       " # c\n",
                                                       "# d\n",
                                                       "\"s\"",
                                                       "1",
                                                       "2.5",
                                                       "1e9",
                                                       "none",
                                                       "not ",
                                                       " and ",
                                                       "if a {",
                                                       "} else {",
                                                       "repeat 2 {",
                                                       "return x",
                                                       "param p: f32[2] = 1\n",
                                                       "x[:, 1]",
                                                       "f(a,)",
                                                       "[1, 2]",
                                                       "\t",
                                                       "\r\n",
                                                       "\xC3\xA9",
                                                       "\xFF",
                                                       std::string(1, '\0'),
                                                       "train {",
                                                       "target t: f32\n",
                                                       "import \"x\"\n"};
    size_t at = below(text.size() + 1);
    size_t length = std::min(below(12), text.size() - at);
    switch (below(6)) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(at, text.substr(below(text.size()), below(40)));
      break;
    case 2:
      if (at < text.size())
        text[at] = static_cast<char>(random());
      break;
    case 3:
      text.resize(at);
      break;
    default:
      text.insert(at, pick(fragments));
      break;
    }
  }

  std::vector<std::string> corpus;
  std::mt19937 random;
};

} // namespace nncc::frontend
