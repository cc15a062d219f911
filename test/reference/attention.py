"""Scaled dot-product and multi-head attention: masks, causality, sequence lengths around the kernels' blocks."""

import math

import torch

from cases import Family

family = Family("attention")


def attend(q, k, v, mask=None, causal=False, scale=None):
    scores = q @ k.transpose(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(-1) @ v


def sdpa(name, arguments, batch, heads, queries, keys, width, mask=None, **options):
    def inputs(case):
        x = {"q": case.normal(batch, heads, queries, width), "k": case.normal(batch, heads, keys, width),
             "v": case.normal(batch, heads, keys, width)}
        if mask:
            x["mask"] = mask(case)
        return x

    family.add(name, f"y = attention(q, k, v{arguments})", inputs, lambda *x: attend(*x, **options))


def booleanMask(case):
    mask = case.integers(0, 3, 2, 1, 5, 9) > 0
    mask[..., 0] = True
    return mask


sdpa("attention", "", 2, 3, 9, 9, 8)
sdpa("attention_lengths", "", 2, 2, 5, 37, 16)
sdpa("attention_long", "", 1, 2, 70, 70, 16)
sdpa("attention_causal", ", causal = true", 2, 3, 11, 11, 8, causal=True)
sdpa("attention_scale", ", scale = 0.3", 1, 2, 6, 7, 8, scale=0.3)
sdpa("attention_boolean_mask", ", mask = mask", 2, 3, 5, 9, 8, mask=booleanMask)
sdpa("attention_additive_mask", ", mask = mask", 2, 3, 5, 9, 8, mask=lambda case: case.normal(2, 1, 5, 9))


def multiHead(name, text, inputs, call, bias=True, dims=None):
    layer = torch.nn.MultiheadAttention(12, 3, bias=bias, batch_first=True).eval()

    def weights(case):
        return {f"attn.{key}": case.uniform(-0.4, 0.4, *value.shape) for key, value in layer.state_dict().items()}

    def expect(w, *x):
        layer.load_state_dict({key[len("attn."):]: value for key, value in w.items()})
        return call(layer, *x)

    family.add(name, f"y = {text} as attn", inputs, expect, weights, dims=dims)


def padded(case):
    mask = torch.ones(2, 7, dtype=torch.bool)
    mask[0, 5:] = False
    return {"x": case.normal(2, 7, 12), "mask": mask}


multiHead("multi_head_attention", "multi_head_attention(x, x, x, 3)", lambda case: {"x": case.normal(2, 7, 12)},
          lambda layer, x: layer(x, x, x, need_weights=True)[0])
multiHead("multi_head_attention_cross", "multi_head_attention(x, m, m, 3)",
          lambda case: {"x": case.normal(2, 7, 12), "m": case.normal(2, 5, 12)},
          lambda layer, x, m: layer(x, m, m, need_weights=True)[0])
multiHead("multi_head_attention_key_mask", "multi_head_attention(x, x, x, 3, key_mask = mask)", padded,
          lambda layer, x, mask: layer(x, x, x, key_padding_mask=~mask, need_weights=True)[0])

# What is causal looks at no later key, also where there are more keys than queries; row s sees the keys up to s.
sdpa("attention_causal_more_keys", ", causal = true", 1, 2, 5, 9, 8, causal=True)
sdpa("attention_causal_more_queries", ", causal = true", 1, 2, 9, 5, 8, causal=True)
sdpa("attention_causal_long", ", causal = true", 1, 1, 67, 67, 16, causal=True)
sdpa("attention_causal_and_mask", ", mask = mask, causal = true", 2, 3, 5, 9, 8, mask=booleanMask, causal=True)
sdpa("attention_narrow", "", 2, 3, 7, 6, 1)
sdpa("attention_odd_width", "", 1, 2, 7, 19, 13)
sdpa("attention_one_query", "", 3, 2, 1, 33, 8)
sdpa("attention_one_key", "", 3, 2, 5, 1, 8)
sdpa("attention_mask_matrix", ", mask = mask", 2, 3, 5, 9, 8, mask=lambda case: case.normal(5, 9))
sdpa("attention_mask_row", ", mask = mask", 2, 3, 5, 9, 8, mask=lambda case: case.normal(1, 9))
sdpa("attention_mask_long", ", mask = mask", 1, 2, 40, 67, 8, mask=lambda case: case.integers(0, 3, 1, 1, 40, 67) > 0)


def shapes(name, text, q, k, v, dims=None, expect=attend):
    family.add(name, f"y = {text}", lambda case: {"q": case.normal(*q), "k": case.normal(*k), "v": case.normal(*v)}, expect, dims=dims)


shapes("attention_value_width", "attention(q, k, v)", (2, 3, 5, 8), (2, 3, 9, 8), (2, 3, 9, 19))
shapes("attention_no_heads", "attention(q, k, v)", (2, 5, 8), (2, 9, 8), (2, 9, 8))
shapes("attention_matrices", "attention(q, k, v)", (5, 8), (9, 8), (9, 8), dims={"q": "5, 8", "k": "9, 8", "v": "9, 8"})
shapes("attention_grouped_heads", "attention(q, k, v)", (2, 6, 5, 8), (2, 2, 9, 8), (2, 2, 9, 8),
       expect=lambda q, k, v: attend(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1)))
shapes("attention_dynamic", "attention(q, k, v)", (2, 3, 11, 8), (2, 3, 21, 8), (2, 3, 21, 8),
       dims={"q": "N, 3, S, 8", "k": "N, 3, T, 8", "v": "N, 3, T, 8"})
shapes("attention_dynamic_causal", "attention(q, k, v, causal = true)", (2, 3, 37, 8), (2, 3, 37, 8), (2, 3, 37, 8),
       dims={"q": "N, 3, T, 8", "k": "N, 3, T, 8", "v": "N, 3, T, 8"}, expect=lambda *x: attend(*x, causal=True))
# Scores far apart: exp must not overflow.
family.add("attention_large_scores", "y = attention(q, k, v)",
           lambda case: {"q": case.normal(1, 2, 5, 8, scale=30), "k": case.normal(1, 2, 41, 8, scale=30), "v": case.normal(1, 2, 41, 8)},
           attend)
# A query that may see nothing gives 0 (PyTorch: NaN before 2.5).
family.add("attention_all_masked", "y = attention(q, k, v, mask = mask)",
           lambda case: {"q": case.normal(2, 5, 8), "k": case.normal(2, 9, 8), "v": case.normal(2, 9, 8),
                         "mask": torch.arange(5).reshape(5, 1).expand(5, 9) != 2},
           lambda q, k, v, mask: attend(q, k, v, mask).nan_to_num(0))

multiHead("multi_head_attention_causal", "multi_head_attention(x, x, x, 3, causal = true)", lambda case: {"x": case.normal(2, 7, 12)},
          lambda layer, x: layer(x, x, x, attn_mask=torch.ones(7, 7, dtype=torch.bool).triu(1), need_weights=True)[0])
multiHead("multi_head_attention_mask", "multi_head_attention(x, x, x, 3, mask = mask)",
          lambda case: {"x": case.normal(2, 7, 12), "mask": case.normal(7, 7)},
          lambda layer, x, mask: layer(x, x, x, attn_mask=mask, need_weights=True)[0])
multiHead("multi_head_attention_three_inputs", "multi_head_attention(x, k, v, 3)",
          lambda case: {"x": case.normal(2, 7, 12), "k": case.normal(2, 5, 12), "v": case.normal(2, 5, 12)},
          lambda layer, x, k, v: layer(x, k, v, need_weights=True)[0])
multiHead("multi_head_attention_dynamic", "multi_head_attention(x, x, x, 3)", lambda case: {"x": case.normal(2, 23, 12)},
          lambda layer, x: layer(x, x, x, need_weights=True)[0], dims={"x": "N, T, 12"})
multiHead("multi_head_attention_no_bias", "multi_head_attention(x, x, x, 3, bias = false)", lambda case: {"x": case.normal(2, 7, 12)},
          lambda layer, x: layer(x, x, x, need_weights=True)[0], bias=False)
