// How text is read, each syntax error with its place, and the bounds on nesting.
#include "SyntaxDump.h"

#include <gtest/gtest.h>

namespace nncc::frontend {
namespace {

/// How an expression is read: the dump of `const x = <text>`.
std::string read(const std::string &text) {
  auto parsed = parseText("nn 1\nconst x = " + text + "\n");
  if (!parsed->file)
    return parsed->diagnostics.render();
  return dump(*std::get<ConstDecl>(parsed->file->declarations[0].node).value);
}

/// The body of a model, as its dump.
std::string readBody(const std::string &text) {
  auto parsed = parseText("nn 1\nmodel M(x: f32[1]) {\n" + text + "\n}\n");
  if (!parsed->file)
    return parsed->diagnostics.render();
  std::string all = dump(*parsed->file);
  return all.substr(all.find('{'), all.rfind('}') - all.find('{') + 1);
}

/// "line:column: message" of the only error that a text gives.
std::string errorIn(const std::string &text) {
  auto parsed = parseText(text);
  if (parsed->file)
    return "no error";
  if (parsed->diagnostics.all().size() != 1)
    return parsed->diagnostics.render();
  const Diagnostic &diagnostic = parsed->diagnostics.all().front();
  LineColumn at = diagnostic.range.start();
  return std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + diagnostic.message;
}

/// The same for a statement that stands in line 3 of a model.
std::string errorInBody(const std::string &text) {
  return errorIn("nn 1\nmodel M(x: f32[1]) {\n" + text + "\nreturn x\n}\n");
}

TEST(Parser, OperatorsBindAsInPython) {
  EXPECT_EQ(read("1 + 2 * 3"), "(+ 1 (* 2 3))");
  EXPECT_EQ(read("1 - 2 - 3"), "(- (- 1 2) 3)");
  EXPECT_EQ(read("a @ b / c // d % e"), "(% (// (/ (@ a b) c) d) e)");
  EXPECT_EQ(read("-a ** 2"), "(neg (** a 2))");
  EXPECT_EQ(read("2 ** -1"), "(** 2 (neg 1))");
  EXPECT_EQ(read("2 ** 3 ** 4"), "(** 2 (** 3 4))");
  EXPECT_EQ(read("-a * b"), "(* (neg a) b)");
  EXPECT_EQ(read("not a == b and c or d"), "(or (and (not (== a b)) c) d)");
  EXPECT_EQ(read("(1 + 2) * 3"), "(* (+ 1 2) 3)");
}

TEST(Parser, ReadsLiteralsCallsAndSubscripts) {
  EXPECT_EQ(read("[1, 2.5, \"s\", true, none]"), "(list 1 0x1.4p+1 's' #t #none)");
  EXPECT_EQ(read("f(a, k = 3) as layer{i}.conv"), "(call f a k=3 as (path layer {i} .conv))");
  EXPECT_EQ(read("relu(f(a) as g) + h(b) as i"),
            "(+ (call relu (call f a as (path g))) (call h b as (path i)))");
  EXPECT_EQ(read("x[:, -1, 2:n, ::2].shape[0]"),
            "(at (. (at x (- : - : -) (neg 1) (2 : n : -) (- : - : 2)) shape) 0)");
  EXPECT_EQ(read("init.normal(0, std = 0.5)"), "(call init.normal 0 std=0x1p-1)");
  EXPECT_EQ(read("9223372036854775807"), "9223372036854775807");
}

TEST(Parser, ReadsStatements) {
  EXPECT_EQ(readBody("y, _ = f(x)\nreturn a = y, x"), "{(set y _ (call f x))(return a=y x)}");
  EXPECT_EQ(readBody("repeat 3 { x = f(x) }\nreturn x"),
            "{(repeat - 3 - {(set x (call f x))})(return x)}");
  EXPECT_EQ(readBody("repeat i in 0..n - 1 {\n}\nreturn x"), "{(repeat i 0 (- n 1) {})(return x)}");
  EXPECT_EQ(readBody("repeat i in [1, 2] {}\nreturn x"), "{(repeat i (list 1 2) - {})(return x)}");
  EXPECT_EQ(readBody("if a {\n} else if b {\n}\nelse {\n}\nreturn x"),
            "{(if a {} b {} else {})(return x)}");
  EXPECT_EQ(readBody("param p: f32[2, n] = init.zeros() as q.r\nreturn x"),
            "{(param p (f32 2 n) (call init.zeros) (path q.r))(return x)}");
}

TEST(Parser, ALineGoesOnInBracketsAndAfterOperators) {
  EXPECT_EQ(readBody("y = f(\n x,\n)\nz = x +\n  y\nreturn y,\n z"),
            "{(set y (call f x))(set z (+ x y))(return y z)}");
}

TEST(Parser, ReadsDeclarations) {
  auto parsed =
      parseText("nn 1\nimport \"a.nn\"\ndim N = 1..64\ndim M = 2..\n"
                "block B(x, k = 3) { return x }\nmodel M(a: f32[N, 2 * K], b: bool) { return a }\n"
                "train {\n target t: i64[N]\n loss = f(t)\n metric m = g(t)\n target = 1\n}");
  ASSERT_TRUE(parsed->file) << parsed->diagnostics.render();
  EXPECT_EQ(
      dump(*parsed->file),
      "(import 'a.nn')\n(dim N 1 64)\n(dim M 2 -)\n(block B (x=- k=3 ) {(return x)})\n"
      "(model M (a:(f32 N (* 2 K)) b:(bool) ) {(return a)})\n"
      "(train {(target t (i64 N))(set loss (call f t))(metric m (call g t))(set target 1)})\n");
}

TEST(Parser, WordsOfDeclarationsAreFreeElsewhere) {
  EXPECT_EQ(readBody("block = x\nmodel = block\ndim = model\nreturn dim"),
            "{(set block x)(set model block)(set dim model)(return dim)}");
}

TEST(Parser, ReportsTheVersionLine) {
  EXPECT_EQ(errorIn("model M() {}"),
            "1:1: a .nn file begins with the version of the language, 'nn 1'; found 'model'");
  EXPECT_EQ(
      errorIn(""),
      "1:1: a .nn file begins with the version of the language, 'nn 1'; found the end of the file");
  EXPECT_EQ(errorIn("nn 2\n"), "1:4: this nncc reads version 1 of the language, not 2");
}

TEST(Parser, ReportsDeclarationErrors) {
  EXPECT_EQ(errorIn("nn 1\nmodle M(x: f32[1]) {}"),
            "2:1: expected a declaration (import, const, dim, block, model or train), found "
            "'modle'; did you mean 'model'?");
  EXPECT_EQ(errorIn("nn 1\ndef f(x):\n"),
            "2:1: expected a declaration (import, const, dim, block, model or train), found 'def'; "
            "a reusable part is 'block Name(x, ...) { ... }'");
  EXPECT_EQ(
      errorIn("nn 1\nclasses = 10\n"),
      "2:1: expected a declaration (import, const, dim, block, model or train), found 'classes'; "
      "a constant is written 'const classes = ...'");
  EXPECT_EQ(errorIn("nn 1\nmodel M(x: float32[1]) {}"),
            "2:12: unknown element type 'float32'; did you mean 'f32'?");
  EXPECT_EQ(
      errorIn("nn 1\nmodel M(x: q7[1]) {}"),
      "2:12: unknown element type 'q7'; known are f32, f16, bf16, f64, i8, u8, i32, i64, bool");
  EXPECT_EQ(errorIn("nn 1\nmodel M(x) {}"),
            "2:10: expected ':' and the input's type, as in image: f32[N, 3, 224, 224], found ')'");
  EXPECT_EQ(errorIn("nn 1\nblock B(a = 1, b) { return a }"),
            "2:16: parameter 'b' without a default follows one that has a default");
  EXPECT_EQ(errorIn("nn 1\nblock B(a: f32) { return a }"),
            "2:10: a block's parameters have no types; they take those of the arguments");
  EXPECT_EQ(errorIn("nn 1\nblock B(a) {\n  x = a\n}\n"), "4:1: this block ends without 'return'");
  EXPECT_EQ(errorIn("nn 1\ndim N = 64\n"),
            "2:11: expected '..' in the dim's range, as in 1..64, found the end of the line");
  EXPECT_EQ(errorIn("nn 1\nimport a\n"),
            "2:8: expected the imported file's name in double quotes, found 'a'");
}

TEST(Parser, ReportsStatementErrors) {
  EXPECT_EQ(errorInBody("relu(x)"), "3:1: this value is not used; write 'name = ...' or remove it");
  EXPECT_EQ(errorInBody("f(x) = y"),
            "3:1: only names can be assigned to: 'name = ...' or 'a, b = ...'");
  EXPECT_EQ(errorInBody("for i in x {"),
            "3:1: unexpected 'for': write 'repeat i in 0..n - 1 { ... }'");
  EXPECT_EQ(errorInBody("return x"), "4:1: nothing may follow 'return'");
  EXPECT_EQ(errorInBody("repeat 2 { return x }"),
            "3:12: 'return' stands at the end of a block or model, not inside repeat or if");
  EXPECT_EQ(errorInBody("repeat 0..2 {}"), "3:9: a range needs an index: 'repeat i in 0..n - 1'");
  EXPECT_EQ(errorInBody("y = x x"), "3:7: expected the end of the line, found 'x'");
  EXPECT_EQ(errorInBody("param p: f32[1]"), "3:16: expected '=' and how the parameter starts, such "
                                            "as init.normal(0, 0.02), found the end of the line");
  EXPECT_EQ(errorIn("nn 1\ntrain {\n  return x\n}\n"),
            "3:3: a train section returns nothing; the loss is 'loss = ...'");
}

TEST(Parser, ReportsExpressionErrors) {
  EXPECT_EQ(errorInBody("y = "), "4:1: expected an expression, found 'return' (a reserved word)");
  EXPECT_EQ(errorInBody("y = (1, 2)"), "3:7: lists are written with square brackets: [a, b]");
  EXPECT_EQ(errorInBody("y = a < b < c"),
            "3:11: comparisons do not chain; write 'a < b and b < c'");
  EXPECT_EQ(errorInBody("y = f(a = 1, b)"),
            "3:14: positional argument after 'a = ...'; name it or move it forward");
  EXPECT_EQ(errorInBody("y = f(x)(y)"), "3:5: only a name can be called; an operation takes its "
                                        "input as the first argument, as in linear(x, 64)");
  EXPECT_EQ(errorInBody("y += x"), "3:3: there is no '+='; write the name twice, as in x = x + y");
  EXPECT_EQ(errorInBody("y = x if a else b"),
            "3:7: no 'if' behind a value; write if condition { y = a } else { y = b }, and on "
            "tensors y = where(condition, a, b)");
  EXPECT_EQ(
      errorInBody("y = x as name"),
      "3:7: only a call has parameters to name with 'as'; put it right behind the call's ')'");
  EXPECT_EQ(errorInBody("y = f(x) as a as b"), "3:15: this call has a path already");
  EXPECT_EQ(errorInBody("y = f(x) as a..b"),
            "3:13: a parameter path is names joined by single dots, or '.' alone");
  EXPECT_EQ(errorInBody("y = f(x) as .a"),
            "3:13: a parameter path is names joined by single dots, or '.' alone");
  EXPECT_EQ(errorInBody("y = f(x) as"), "3:12: expected a parameter path such as conv1 or layer{i} "
                                        "after 'as', found the end of the line");
  EXPECT_EQ(errorInBody("y = 9223372036854775808"), "3:5: this integer does not fit 64 bits");
  EXPECT_EQ(errorInBody("y = 1e999"), "3:5: this number does not fit a double");
  EXPECT_EQ(errorInBody("y = x[]"), "3:7: expected an index or a slice, found ']'");
}

TEST(Parser, PointsAtTheBracketThatIsOpen) {
  auto parsed = parseText("nn 1\nconst a = f(1\nconst b = 2\n");
  EXPECT_EQ(parsed->diagnostics.render(), "test.nn:3:1: error: expected ',' or ')', found 'const'\n"
                                          "  const b = 2\n"
                                          "  ^~~~~\n"
                                          "test.nn:2:12: note: to close this\n"
                                          "  const a = f(1\n"
                                          "             ^\n");
}

/// Deep nesting of every kind gives one error and no crash.
TEST(Parser, BoundsNesting) {
  const size_t count = 100000;
  auto repeated = [&](const std::string &unit) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text += unit;
    return text;
  };
  const std::string deep = "nested more than 256 deep; split this over several statements";
  const std::string wide =
      "more than 256 operations in one expression; split it over several statements";
  EXPECT_EQ(errorIn("nn 1\nconst a = " + repeated("(")), "2:267: " + deep);
  EXPECT_EQ(errorIn("nn 1\nconst a = " + repeated("(") + "1" + repeated(")")), "2:267: " + deep);
  EXPECT_EQ(errorIn("nn 1\nconst a = " + repeated("[")), "2:267: " + deep);
  EXPECT_EQ(errorIn("nn 1\nconst a = " + repeated("-")), "2:267: " + deep);
  EXPECT_EQ(errorIn("nn 1\nconst a = " + repeated("f(")), "2:523: " + deep);
  EXPECT_EQ(errorIn("nn 1\nconst a = 1" + repeated(" ** 1")), "2:1291: " + deep);
  EXPECT_EQ(errorIn("nn 1\nconst a = 1" + repeated(" + 1")), "2:11: " + wide);
  EXPECT_EQ(errorIn("nn 1\nconst a = x" + repeated(".y")), "2:11: " + wide);
  EXPECT_EQ(errorIn("nn 1\nconst a = x" + repeated("[0]")), "2:11: " + wide);
  EXPECT_EQ(errorIn("nn 1\nmodel M() {" + repeated("repeat 2 {")), "2:2569: " + deep);
  EXPECT_EQ(errorIn("nn 1\nmodel M() {" + repeated("if a {} else ")),
            "2:1300012: expected '{', found the end of the file");
  std::string chain;
  for (size_t i = 0; i < 1000; ++i)
    chain += "if a {} else ";
  EXPECT_EQ(errorIn("nn 1\nblock B(a) {" + chain + "{}\nreturn a }"), "no error")
      << "else-if does not nest";
}

} // namespace
} // namespace nncc::frontend
