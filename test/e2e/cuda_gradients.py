"""Gradients of whole models on the stand-in CUDA device, in its checked mode, against those that the CPU computes, which
GradientTest checks against central differences."""

import unittest

import harness
from cuda_testing import DeviceTest

MODELS = {
    "image": """
model Image(image: f32[N, 3, 12, 12]) {
  x = conv2d(image, 8, kernel = 3, padding = 1) as c1
  x = max_pool2d(relu(x), 2)
  x = conv2d(x, 8, kernel = 3, stride = 2, padding = 1, groups = 2) as c2
  x = avg_pool2d(gelu(x), 3, stride = 1, padding = 1, count_include_pad = false)
  x = conv_transpose2d(x, 4, kernel = 2, stride = 2) as up
  x = group_norm(x, 2) as norm
  logits = linear(flatten(silu(x)), 10) as fc
  output = log_softmax(logits)
  return output
}
""",
    "tokens": """
model Tokens(ids: i64[N, 6], bias: f32[6, 6]) {
  x = embedding(ids, 20, 16) as table
  q = reshape(linear(layer_norm(x) as norm, 16) as q, [N, 6, 2, 8])
  h = transpose(q, [0, 2, 1, 3])
  y = attention(h, h, h, mask = bias, causal = true)
  y = reshape(transpose(y, [0, 2, 1, 3]), [N, 6, 16]) + x
  z = rms_norm(y) as last
  pooled = mean(tanh(z), axis = 1)
  largest = reduce_max(z, axis = 2)
  return pooled, largest
}
""",
    "layers": """
model Layers(x: f32[N, 3, 6], h0: f32[1, N, 200], c0: f32[1, N, 200]) {
  x, _ = rnn(x, 5, bidirectional = true) as rnn
  x, _ = gru(x, 33) as gru
  y, h, c = lstm(x, 200, h0 = h0, c0 = c0) as lstm
  return y, h, c
}
""",
    "sampling": """
model Sampling(x: f32[N, 4, 5, 6]) {
  x = conv2d(x, 6, kernel = 3, padding = 1) as c
  up = resize(x, scale = [2, 2], mode = "linear")
  up = resize(up, size = [7, 90], mode = "nearest")
  means = adaptive_avg_pool2d(x, [3, 4])
  largest = adaptive_max_pool2d(x, [2, 4])
  return up, means, largest
}
""",
    "shared_heads": """
model SharedHeads(q: f32[N, 4, T, 8], k: f32[N, 2, T, 8]) {
  y = attention(q, k, k, causal = true)
  last = y[:, :, -1]
  return last
}
""",
    "wide": """
model Wide(x: f32[N, T, 4]) {
  _, h = rnn(x, 600, activation = "relu") as rnn
  return h
}
""",
    # The language has no GRU that resets before its product.
    "reset_before": """
module @ResetBefore attributes {nn.dims = [#nn.dim<"N", 1, 64>]} {
  func.func @infer(%x: tensor<?x4x2xf32, #nn.enc<[N]>> {nn.name = "x"}, %wih: tensor<90x2xf32> {nn.name = "w_ih"},
                   %whh: tensor<90x30xf32> {nn.name = "w_hh"}, %b: tensor<90xf32> {nn.name = "b"})
      -> (tensor<?x4x30xf32, #nn.enc<[N]>> {nn.name = "y"}) {
    %y, %h = nn.gru %x, %wih, %whh bias_ih %b bias_hh %b {reset_before, reverse}
      : (tensor<?x4x2xf32, #nn.enc<[N]>>, tensor<90x2xf32>, tensor<90x30xf32>, tensor<90xf32>, tensor<90xf32>)
        -> (tensor<?x4x30xf32, #nn.enc<[N]>>, tensor<?x30xf32, #nn.enc<[N]>>)
    return %y : tensor<?x4x30xf32, #nn.enc<[N]>>
  }
}
""",
}


class Gradients(DeviceTest):
    def gradientsOf(self, name):
        isIr = MODELS[name].lstrip().startswith("module")
        text = self.path(name + ("_source.mlir" if isIr else ".nn"))
        with open(text, "w", encoding="utf-8") as file:
            file.write(MODELS[name] if isIr else "nn 1\n" + MODELS[name])
        plain, differentiated = self.path("plain.mlir"), self.path(name + ".mlir")
        self.succeeds(harness.program("nncc"), text, "--emit=ir", "-o", plain)
        self.succeeds(harness.program("nncc-opt"), plain, "--add-gradients", "--expand-gradients", "-o", differentiated)
        return self.compile(differentiated, None, "--target=cpu,cuda")

    def agree(self, name, inputs, *flags):
        model = self.gradientsOf(name)
        listing = self.runs(model, "--info")
        outputs = [line.split()[1] for line in listing.splitlines() if line.split()[:1] == ["output"]]
        self.assertTrue(any(output.startswith("grad.") for output in outputs), listing)
        given = [flag for tensor in inputs for flag in ("--input", tensor)] + list(flags)
        files = {output: self.path(output + ".npy") for output in outputs}
        self.runs(model, "--device=cpu", *given, *[flag for output, file in files.items() for flag in ("--output", f"{output}=@{file}")])
        self.runs(model, "--device=cuda", *given, *[flag for output, file in files.items() for flag in ("--expect", f"{output}=@{file}")],
                  "--rtol=1e-4", "--atol=1e-5", CUDA_EMULATOR_MODE="checked")

    def testImage(self):
        self.agree("image", ["image=random:1", "grad.output=random:2"])

    def testTokens(self):
        self.agree("tokens", ["ids=2x6xi64=1,2,3,4,5,6,1,1,19,0,2,7", "bias=random:1", "grad.pooled=random:2", "grad.largest=random:3"])

    def testLayers(self):
        self.agree("layers", ["x=random:1", "h0=random:2", "c0=random:3", "grad.y=random:4", "grad.h=random:5", "grad.c=random:6"],
                   "--batch=5")

    def testSampling(self):
        self.agree("sampling", ["x=random:1", "grad.up=random:2", "grad.means=random:3", "grad.largest=random:4"], "--batch=2")

    def testSharedHeads(self):
        self.agree("shared_heads", ["q=random:1", "k=random:2", "grad.last=random:3"], "--batch=2", "--dim=T=5")

    def testWide(self):
        self.agree("wide", ["x=random:1", "grad.h=random:2"], "--batch=2", "--dim=T=3")

    def testResetBefore(self):
        self.agree("reset_before", ["x=random:1", "w_ih=random:2", "w_hh=random:3", "b=random:4", "grad.y=random:5"], "--batch=3")


if __name__ == "__main__":
    harness.requireNvrtc()
    unittest.main()
