"""Linear layers and matrix products: batches, broadcasting, transposed operands, sizes around the kernels' tiles."""

from torch.nn import functional as F

from cases import Family

family = Family("matmul")


def linear(name, inputShape, features, bias=True):
    def weights(case):
        w = {"fc.weight": case.normal(features, inputShape[-1], scale=inputShape[-1]**-0.5)}
        if bias:
            w["fc.bias"] = case.normal(features)
        return w

    family.add(name, f"y = linear(x, {features}{'' if bias else ', bias = false'}) as fc",
               lambda case: {"x": case.normal(*inputShape)}, lambda w, x: F.linear(x, w["fc.weight"], w.get("fc.bias")),
               weights)


linear("linear", (3, 20), 10)
linear("linear_one_row", (1, 100), 33)
linear("linear_no_bias", (7, 17), 48, bias=False)
linear("linear_tile_tails", (13, 65), 50)
linear("linear_deep", (2, 700), 5)
linear("linear_one_feature", (9, 12), 1)
linear("linear_sequence", (2, 5, 12), 8)
linear("linear_4d", (2, 3, 4, 6), 7)


def matmul(name, aShape, bShape, text="a @ b", expect=lambda a, b: a @ b, batched=True):
    family.add(name, f"y = {text}",
               lambda case: {"a": case.normal(*aShape), "b": case.normal(*bShape, scale=aShape[-1]**-0.5)}, expect,
               batched=batched)


matmul("matmul", (5, 7), (7, 9), batched=False)
matmul("matmul_tile_tails", (33, 70), (70, 49), batched=False)
matmul("matmul_one_row", (1, 40), (40, 35), batched=False)
matmul("matmul_one_column", (12, 30), (30, 1), batched=False)
matmul("matmul_batched", (3, 4, 6), (3, 6, 5))
matmul("matmul_heads", (2, 3, 9, 8), (2, 3, 8, 9))
matmul("matmul_batch_broadcast", (3, 4, 6), (6, 5))
matmul("matmul_batch_broadcast_both", (2, 1, 4, 6), (3, 6, 5))
matmul("matmul_transposed_b", (3, 4, 6), (3, 5, 6), "a @ transpose(b, [0, 2, 1])", lambda a, b: a @ b.transpose(1, 2))
matmul("matmul_transposed_a", (3, 6, 4), (3, 6, 5), "transpose(a, [0, 2, 1]) @ b", lambda a, b: a.transpose(1, 2) @ b)
matmul("matmul_transposed_both", (2, 6, 4), (2, 5, 6), "transpose(a, [0, 2, 1]) @ transpose(b, [0, 2, 1])",
       lambda a, b: a.transpose(1, 2) @ b.transpose(1, 2))
