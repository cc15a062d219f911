// Cuts the device header into declarations and picks those that a source needs; see DeviceHeader.h.
//
// A piece of the header ends at an empty line outside of `#if`. One that declares nothing is a heading: it belongs to the pieces
// behind it, down to the next heading.

#include "codegen/cuda/DeviceHeader.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

using namespace nncc::codegen;
using llvm::SmallVector;
using llvm::StringRef;

static constexpr char kDeviceHeader[] =
#include "codegen/cuda/nncc_device.inc"
    ;

StringRef cuda::deviceHeader() { return kDeviceHeader; }

namespace {

struct Piece {
  std::string text;
  SmallVector<StringRef> declared;
  bool isNeeded = false;
};

bool isWordLetter(char c) { return llvm::isAlnum(c) || c == '_'; }

/// The first word of `text`.
StringRef firstWord(StringRef text) { return text.drop_until(isWordLetter).take_while(isWordLetter); }

/// The words of C++ text outside of comments, numbers among them.
void forWords(StringRef code, llvm::function_ref<void(StringRef)> visit) {
  while (!code.empty()) {
    auto [line, rest] = code.split('\n');
    code = rest;
    line = line.split("//").first;
    for (StringRef word = firstWord(line); !word.empty(); word = firstWord(line)) {
      visit(word);
      line = StringRef(word.end(), line.end() - word.end());
    }
  }
}

/// What a line that begins at the margin declares; empty if nothing.
StringRef declaredBy(StringRef line) {
  if (line.consume_front("#define "))
    return firstWord(line);
  if (size_t at = line.find("__forceinline__ "); at != StringRef::npos) { // the word in front of the arguments
    StringRef head = line.substr(at).split('(').first;
    head = head.split('<').first;
    return head.substr(head.find_last_of(" *&") + 1);
  }
  size_t at = line.find("struct ");
  if (at == StringRef::npos || line.starts_with("//"))
    return {};
  line = line.substr(at + 7);
  if (line.starts_with("__align__")) // __align__(sizeof(T) * kCount) Name
    line = line.substr(line.rfind(')') + 1);
  return firstWord(line);
}

std::vector<Piece> readPieces() {
  std::vector<Piece> pieces(1);
  unsigned conditions = 0;
  for (StringRef rest = cuda::deviceHeader(); !rest.empty();) {
    auto [line, behind] = rest.split('\n');
    rest = behind;
    if (line.empty() && conditions == 0) {
      pieces.emplace_back();
      continue;
    }
    conditions += line.starts_with("#if");
    conditions -= line.starts_with("#endif");
    Piece &piece = pieces.back();
    piece.text += (line + "\n").str();
    if (StringRef name = declaredBy(line); !name.empty())
      piece.declared.push_back(name);
    if (line.starts_with("enum ")) // its own name and those of its values
      forWords(line.substr(5), [&](StringRef word) {
        if (!llvm::isDigit(word.front()))
          piece.declared.push_back(word);
      });
  }
  llvm::erase_if(pieces, [](const Piece &piece) { return piece.text.empty(); });
  return pieces;
}

} // namespace

std::string cuda::deviceHeaderFor(StringRef code) {
  std::vector<Piece> pieces = readPieces();
  llvm::StringSet<> visited;
  SmallVector<StringRef> unread{code};
  while (!unread.empty())
    forWords(unread.pop_back_val(), [&](StringRef word) {
      if (!visited.insert(word).second)
        return;
      for (Piece &piece : pieces)
        if (!piece.isNeeded && llvm::is_contained(piece.declared, word)) {
          piece.isNeeded = true;
          unread.push_back(piece.text);
        }
    });
  std::string text;
  const Piece *heading = nullptr;
  for (const Piece &piece : pieces) {
    if (piece.declared.empty())
      heading = &piece;
    if (!piece.isNeeded)
      continue;
    if (heading)
      text += (text.empty() ? "" : "\n") + heading->text;
    heading = nullptr;
    text += (text.empty() ? "" : "\n") + piece.text;
  }
  return text;
}
