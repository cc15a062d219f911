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


def multiHead(name, text, inputs, call):
    layer = torch.nn.MultiheadAttention(12, 3, batch_first=True).eval()

    def weights(case):
        return {f"attn.{key}": case.uniform(-0.4, 0.4, *value.shape) for key, value in layer.state_dict().items()}

    def expect(w, *x):
        layer.load_state_dict({key[len("attn."):]: value for key, value in w.items()})
        return call(layer, *x)

    family.add(name, f"y = {text} as attn", inputs, expect, weights)


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
