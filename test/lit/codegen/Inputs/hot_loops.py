"""Reads assembly (x86-64 AT&T or AArch64) and prints a line for each innermost loop that multiplies floating-point vectors:

    mk_6x16_bias_relu: 12 fma ymm, 0 stores, 0 spills

A spill is a store to the stack. A multiply-add counts as one; where a loop has none, its multiplications are counted.
"""

import re
import sys

FUNCTION = re.compile(r"^([A-Za-z_]\w*(?:\.v\d+)?):")
LABEL = re.compile(r"^(\.L\w+):")
BRANCH = re.compile(r"^\s+(?:j[a-z]+|b|b\.[a-z]+|cbn?z|tbn?z)\s+(?:.*,\s*)?(\.L\w+)\s*$")
MULTIPLY_ADD = re.compile(r"\s(vfn?madd\w*p[sd]|fmla)\s")
MULTIPLY = re.compile(r"\sv?mulp[sd]\s|\sfmul\sv")
VECTOR = re.compile(r"%([xyz]mm)\d|\b(v)\d+\.")
STORE = re.compile(r"^\s+(?:st[rpu]\w*\s|v?mov\w+\s+%?[\w$]+(?:\(%\w+\))?,\s*[-\w]*\()|^\s+\w+\s+%\w+,.*\)\s*$")
STACK = re.compile(r"\(%rsp\)|\[sp")


def functions(lines):
    name, body = None, []
    for line in lines:
        start = FUNCTION.match(line)
        if not start:
            body.append(line)
            continue
        if name:
            yield name, body
        name, body = start.group(1), []
    if name:
        yield name, body


def innermostLoops(body):
    """Runs of lines from a label to a branch back to it, with no label between."""
    places = {}
    for number, line in enumerate(body):
        label = LABEL.match(line)
        if label:
            places[label.group(1)] = number
        branch = BRANCH.match(line)
        if branch and branch.group(1) in places:
            loop = body[places[branch.group(1)] + 1:number + 1]
            if not any(LABEL.match(inner) for inner in loop):
                yield loop


def describe(loop):
    count = sum(1 for line in loop if MULTIPLY_ADD.search(line))
    word = "fma"
    if not count:
        count, word = sum(1 for line in loop if MULTIPLY.search(line)), "mul"
    if not count:
        return None
    kinds = sorted({first or second for line in loop if MULTIPLY_ADD.search(line) or MULTIPLY.search(line)
                    for first, second in VECTOR.findall(line)})
    stores = sum(1 for line in loop if STORE.match(line))
    spills = sum(1 for line in loop if STORE.match(line) and STACK.search(line))
    return f"{count} {word} {'+'.join(kinds)}, {stores} stores, {spills} spills"


def main():
    for name, body in functions(sys.stdin.read().splitlines()):
        name = re.sub(r"\.v\d+$", "", name)
        if name.startswith("mk_"):
            name = re.sub(r"_[0-9a-f]+$", "", name)  # the hash of the fused ops
        for loop in innermostLoops(body):
            text = describe(loop)
            if text:
                print(f"{name}: {text}")


if __name__ == "__main__":
    main()
