"""Convolutions and transposed convolutions: geometry, groups, channel counts around the kernels' blocks."""

from torch.nn import functional as F

from cases import Family

family = Family("convolution")

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def conv(name, inputShape, filters, arguments, kernel, groups=1, bias=True, pad=None, **options):
    """`pad`: F.pad's list, where the text's padding is not symmetric."""
    rank = len(inputShape) - 2
    kernelShape = (kernel,) * rank if isinstance(kernel, int) else tuple(kernel)
    fanIn = inputShape[1] // groups
    for extent in kernelShape:
        fanIn *= extent

    def weights(case):
        w = {"conv.weight": case.normal(filters, inputShape[1] // groups, *kernelShape, scale=fanIn**-0.5)}
        if bias:
            w["conv.bias"] = case.normal(filters, scale=0.5)
        return w

    def expect(w, x):
        x = F.pad(x, pad) if pad else x
        return CONV[rank](x, w["conv.weight"], w.get("conv.bias"), groups=groups, **options)

    spelled = kernel if isinstance(kernel, int) else list(kernel)
    text = f"y = conv{rank}d(x, {filters}, kernel = {spelled}{', ' + arguments if arguments else ''}"
    text += f"{f', groups = {groups}' if groups > 1 else ''}{'' if bias else ', bias = false'}) as conv"
    family.add(name, text, lambda case: {"x": case.normal(*inputShape)}, expect, weights)


conv("conv1d", (2, 5, 17), 6, "", 3)
conv("conv1d_padding_stride_dilation", (2, 5, 23), 7, "stride = 2, padding = 3, dilation = 2", 3,
     stride=2, padding=3, dilation=2)
conv("conv1d_groups", (2, 6, 13), 9, "padding = 1", 3, groups=3, padding=1)

conv("conv2d", (2, 3, 9, 11), 5, "", 3)
conv("conv2d_1x1", (2, 17, 5, 7), 33, "", 1)
conv("conv2d_1x1_stride2", (2, 16, 9, 7), 24, "stride = 2", 1, stride=2)
conv("conv2d_padding", (2, 16, 8, 8), 32, "padding = 1", 3, padding=1)
conv("conv2d_no_bias", (1, 17, 7, 7), 15, "padding = 1", 3, bias=False, padding=1)
conv("conv2d_stride2", (2, 8, 9, 12), 16, "stride = 2, padding = 1", 3, stride=2, padding=1)
conv("conv2d_stride_rectangular", (1, 4, 11, 9), 8, "stride = [2, 1], padding = [0, 2]", (3, 5),
     stride=(2, 1), padding=(0, 2))
conv("conv2d_dilation", (2, 6, 12, 11), 10, "padding = 2, dilation = 2", 3, padding=2, dilation=2)
conv("conv2d_groups", (2, 8, 7, 6), 12, "padding = 1", 3, groups=4, padding=1)
conv("conv2d_groups_wide", (1, 64, 6, 6), 64, "padding = 1", 3, groups=2, padding=1)
conv("conv2d_depthwise", (2, 24, 10, 9), 24, "padding = 1", 3, groups=24, padding=1)
conv("conv2d_depthwise_stride2", (1, 19, 11, 12), 19, "stride = 2, padding = 1", 3, groups=19, stride=2, padding=1)
conv("conv2d_depthwise_5x5", (1, 8, 9, 9), 8, "padding = 2", 5, groups=8, padding=2)
conv("conv2d_depthwise_multiplier", (1, 6, 8, 8), 12, "padding = 1", 3, groups=6, padding=1)
conv("conv2d_stem", (1, 3, 32, 30), 16, "stride = 2, padding = 3", 7, stride=2, padding=3)
conv("conv2d_same", (2, 4, 7, 8), 6, 'padding = "same"', 3, padding="same")
conv("conv2d_same_even_kernel", (1, 3, 8, 7), 5, 'padding = "same"', (4, 2), padding="same")
conv("conv2d_same_dilation", (1, 3, 9, 9), 4, 'padding = "same", dilation = 3', 3, padding="same", dilation=3)
# [before, after] of H and of W; PyTorch pads from the last dimension: left, right, top, bottom.
conv("conv2d_asymmetric_padding", (2, 3, 6, 8), 5, "padding = [[1, 2], [0, 3]]", 3, pad=(0, 3, 1, 2))
conv("conv2d_single_pixel", (3, 20, 1, 1), 30, "padding = 1", 3, padding=1)
conv("conv2d_window_equals_input", (2, 5, 4, 6), 9, "", (4, 6))
conv("conv2d_large_padding", (1, 2, 3, 3), 3, "padding = 3", 3, padding=3)
conv("conv2d_wide_row", (1, 3, 2, 67), 4, "padding = 1", 3, padding=1)
conv("conv2d_many_channels", (1, 130, 4, 4), 70, "", 1)
conv("conv2d_one_filter", (2, 32, 6, 6), 1, "padding = 1", 3, padding=1)

conv("conv3d", (1, 3, 5, 6, 7), 4, "padding = 1", 3, padding=1)
conv("conv3d_stride_dilation", (2, 2, 7, 8, 9), 3, "stride = [1, 2, 2], dilation = [2, 1, 1]", (2, 3, 3),
     stride=(1, 2, 2), dilation=(2, 1, 1))


def transposed(name, inputShape, filters, arguments, kernel, groups=1, bias=True, **options):
    rank = len(inputShape) - 2
    kernelShape = (kernel,) * rank if isinstance(kernel, int) else tuple(kernel)

    def weights(case):
        w = {"up.weight": case.normal(inputShape[1], filters // groups, *kernelShape, scale=0.3)}
        if bias:
            w["up.bias"] = case.normal(filters, scale=0.5)
        return w

    spelled = kernel if isinstance(kernel, int) else list(kernel)
    text = f"y = conv_transpose{rank}d(x, {filters}, kernel = {spelled}{', ' + arguments if arguments else ''}"
    text += f"{f', groups = {groups}' if groups > 1 else ''}{'' if bias else ', bias = false'}) as up"
    family.add(name, text, lambda case: {"x": case.normal(*inputShape)},
               lambda w, x: TRANSPOSED[rank](x, w["up.weight"], w.get("up.bias"), groups=groups, **options), weights)


transposed("conv_transpose1d", (2, 4, 9), 5, "stride = 2", 3, stride=2)
transposed("conv_transpose2d", (2, 4, 5, 6), 3, "", 3)
transposed("conv_transpose2d_stride2", (2, 6, 5, 4), 4, "stride = 2, padding = 1, output_padding = 1", 3,
           stride=2, padding=1, output_padding=1)
transposed("conv_transpose2d_upsample", (1, 16, 4, 4), 8, "stride = 2", 2, stride=2)
transposed("conv_transpose2d_dilation", (1, 3, 5, 5), 4, "dilation = 2", 3, dilation=2)
transposed("conv_transpose2d_groups", (2, 6, 4, 5), 9, "stride = [2, 1], padding = 1", 3, groups=3, bias=False,
           stride=(2, 1), padding=1)
transposed("conv_transpose3d", (1, 3, 3, 4, 3), 2, "stride = 2, padding = 1", 3, stride=2, padding=1)

# More geometry: batches of one, causal padding, windows with gaps between them, rows and columns as windows.
conv("conv1d_causal", (1, 5, 17), 6, "padding = [[4, 0]], dilation = 2", 3, pad=(4, 0), dilation=2)
conv("conv1d_kernel1", (3, 7, 10), 9, "", 1)
conv("conv1d_same_stride", (2, 4, 11), 5, 'stride = 3, padding = "same"', 5, pad=(1, 2), stride=3)
conv("conv1d_depthwise", (2, 17, 12), 17, "padding = 1", 3, groups=17, padding=1)
conv("conv2d_stride_over_kernel", (2, 3, 11, 10), 4, "stride = 3", 2, stride=3)
conv("conv2d_1x1_padding", (2, 5, 4, 3), 6, "padding = 1", 1, padding=1)
conv("conv2d_1x1_groups", (2, 12, 5, 3), 6, "", 1, groups=3)
conv("conv2d_row", (1, 6, 5, 13), 7, "padding = [0, 3]", (1, 7), padding=(0, 3))
conv("conv2d_column", (1, 6, 13, 5), 7, "padding = [3, 0]", (7, 1), padding=(3, 0))
conv("conv2d_one_channel", (2, 1, 7, 9), 20, "padding = 1", 3, padding=1)
conv("conv2d_same_stride2", (2, 3, 8, 9), 5, 'stride = 2, padding = "same"', 3, pad=(1, 1, 0, 1), stride=2)
conv("conv2d_asymmetric_stride_dilation", (1, 4, 9, 8), 6, "stride = 2, dilation = 2, padding = [[3, 0], [1, 2]]", 3,
     pad=(1, 2, 3, 0), stride=2, dilation=2)
conv("conv2d_groups_stride_dilation", (2, 9, 11, 10), 6, "stride = 2, dilation = 2, padding = 2", 3, groups=3, stride=2,
     dilation=2, padding=2)
conv("conv2d_groups_of_17", (1, 34, 5, 6), 38, "padding = 1", 3, groups=2, padding=1)
conv("conv2d_depthwise_dilation", (2, 33, 9, 8), 33, "dilation = 2, padding = 2", 3, groups=33, dilation=2, padding=2)
conv("conv2d_depthwise_asymmetric", (1, 16, 6, 7), 16, "stride = 2, padding = [[0, 1], [2, 1]]", 3, groups=16,
     pad=(2, 1, 0, 1), stride=2)
conv("conv2d_depthwise_no_bias", (1, 40, 6, 6), 40, "padding = 1", 3, groups=40, bias=False, padding=1)
conv("conv2d_depthwise_multiplier_stride", (2, 5, 7, 8), 15, "stride = 2, padding = 1", 3, groups=5, stride=2, padding=1)
conv("conv2d_input_smaller_than_kernel", (2, 3, 2, 2), 4, "padding = 2", 5, padding=2)
conv("conv3d_groups", (1, 6, 4, 5, 6), 9, "padding = 1", 3, groups=3, padding=1)
conv("conv3d_depthwise", (2, 5, 4, 5, 6), 5, "stride = 2, padding = 1", 3, groups=5, stride=2, padding=1)
conv("conv3d_asymmetric", (1, 3, 4, 4, 5), 17, "padding = [[2, 0], [0, 1], [1, 1]]", (3, 2, 3), pad=(1, 1, 0, 1, 2, 0))
conv("conv3d_kernel1", (2, 4, 3, 2, 5), 6, "", 1)

transposed("conv_transpose1d_all", (2, 6, 7), 8, "stride = 3, padding = 2, output_padding = 1, dilation = 2", 3, groups=2,
           stride=3, padding=2, output_padding=1, dilation=2)
transposed("conv_transpose1d_gaps", (1, 3, 5), 4, "stride = 4", 2, stride=4)
transposed("conv_transpose2d_rectangular", (1, 3, 4, 5), 17, "stride = [1, 3], padding = [2, 0], output_padding = [0, 2]", (5, 2),
           stride=(1, 3), padding=(2, 0), output_padding=(0, 2))
transposed("conv_transpose2d_depthwise", (2, 6, 4, 3), 6, "stride = 2, padding = 1", 4, groups=6, stride=2, padding=1)
transposed("conv_transpose2d_1x1", (2, 5, 3, 4), 7, "", 1)
transposed("conv_transpose2d_single_pixel", (1, 9, 1, 1), 5, "", 4)
transposed("conv_transpose3d_all", (1, 4, 3, 2, 3), 6, "stride = [2, 1, 2], padding = 1, output_padding = [1, 0, 0]", 3,
           groups=2, stride=(2, 1, 2), padding=1, output_padding=(1, 0, 0))


def dynamic(name, body, inputShape, dims, kernelShape, expect):
    """Spatial extents that are known only when the model runs."""
    family.add(name, f"y = {body} as conv", lambda case: {"x": case.normal(*inputShape)},
               lambda w, x: expect(x, w["conv.weight"], w["conv.bias"]),
               lambda case: {"conv.weight": case.normal(*kernelShape, scale=0.3),
                             "conv.bias": case.normal(kernelShape[1 if "transpose" in name else 0])}, dims={"x": dims})


dynamic("conv1d_dynamic", "conv1d(x, 7, kernel = 3, stride = 2, padding = 1)", (2, 5, 14), "N, 5, T", (7, 5, 3),
        lambda x, w, b: F.conv1d(x, w, b, 2, 1))
dynamic("conv2d_dynamic", "conv2d(x, 17, kernel = 3, padding = 1)", (2, 5, 6, 9), "N, 5, H, W", (17, 5, 3, 3),
        lambda x, w, b: F.conv2d(x, w, b, 1, 1))
dynamic("conv2d_dynamic_stride_dilation", "conv2d(x, 6, kernel = 3, stride = 2, dilation = 2, padding = 1)", (1, 16, 11, 8),
        "N, 16, H, W", (6, 16, 3, 3), lambda x, w, b: F.conv2d(x, w, b, 2, 1, 2))
dynamic("conv2d_dynamic_same", 'conv2d(x, 6, kernel = 2, padding = "same")', (1, 3, 5, 4), "N, 3, H, W", (6, 3, 2, 2),
        lambda x, w, b: F.conv2d(F.pad(x, (0, 1, 0, 1)), w, b))
dynamic("conv2d_dynamic_1x1", "conv2d(x, 20, kernel = 1)", (3, 17, 5, 7), "N, 17, H, W", (20, 17, 1, 1), F.conv2d)
dynamic("conv2d_dynamic_depthwise", "conv2d(x, 18, kernel = 3, stride = 2, padding = 1, groups = 18)", (2, 18, 9, 6),
        "N, 18, H, W", (18, 1, 3, 3), lambda x, w, b: F.conv2d(x, w, b, 2, 1, 1, 18))
dynamic("conv2d_dynamic_groups", "conv2d(x, 6, kernel = 3, groups = 2)", (1, 4, 5, 8), "N, 4, H, 8", (6, 2, 3, 3),
        lambda x, w, b: F.conv2d(x, w, b, groups=2))
dynamic("conv3d_dynamic", "conv3d(x, 4, kernel = 3, padding = 1)", (1, 2, 4, 5, 3), "N, 2, D, H, W", (4, 2, 3, 3, 3),
        lambda x, w, b: F.conv3d(x, w, b, 1, 1))
dynamic("conv_transpose2d_dynamic", "conv_transpose2d(x, 4, kernel = 3, stride = 2, padding = 1, output_padding = 1)",
        (2, 5, 4, 3), "N, 5, H, W", (5, 4, 3, 3), lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1))
