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
