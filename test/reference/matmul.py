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

matmul("matmul_vector_times_matrix", (1, 1), (1, 17), batched=False)
matmul("matmul_depth_one", (9, 1), (1, 21), batched=False)
matmul("matmul_long_depth", (3, 1500), (1500, 4), batched=False)
matmul("matmul_batch_broadcast_left", (4, 6), (3, 6, 5), batched=False)
matmul("matmul_batch_of_vectors", (5, 1, 7), (5, 7, 1))
matmul("matmul_four_batches", (2, 3, 1, 4, 5), (1, 1, 4, 5, 3), batched=False)
matmul("matmul_transposed_heads", (2, 5, 3, 8), (2, 5, 3, 8), "transpose(a, [0, 2, 1, 3]) @ transpose(b, [0, 2, 3, 1])",
       lambda a, b: a.permute(0, 2, 1, 3) @ b.permute(0, 2, 3, 1))
matmul("gram", (7, 9), (1, 1), "a @ transpose(a) + b", lambda a, b: a @ a.T + b, batched=False)


def dynamic(name, aShape, aDims, bShape, bDims, text="a @ b", expect=lambda a, b: a @ b):
    family.add(name, f"y = {text}", lambda case: {"a": case.normal(*aShape), "b": case.normal(*bShape, scale=aShape[-1]**-0.5)},
               expect, dims={"a": aDims, "b": bDims})


dynamic("matmul_dynamic_all", (5, 7), "M, K", (7, 9), "K, L")
dynamic("matmul_dynamic_depth", (3, 4, 13), "N, 4, T", (3, 13, 6), "N, T, 6")
dynamic("matmul_dynamic_columns", (2, 9, 8), "N, 9, 8", (2, 8, 19), "N, 8, T")
dynamic("matmul_dynamic_scores", (2, 11, 6), "N, S, 6", (2, 9, 6), "N, T, 6", "a @ transpose(b, [0, 2, 1])",
        lambda a, b: a @ b.transpose(1, 2))
dynamic("matmul_dynamic_broadcast", (2, 1, 5, 6), "N, 1, T, 6", (3, 6, 4), "3, 6, 4")
