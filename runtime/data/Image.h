// PNG and JPEG files as input tensors.
#pragma once

#include "runtime/HostTensor.h"
#include "support/Error.h"

#include <string>

namespace nncc::data {

/// How a model takes an image.
struct ImageFormat {
  int channels = 3; ///< 1: grey, 3: red, green, blue
  /// F32: from 0 (black) to 1; U8: from 0 to 255, as the file has them.
  DType dtype = DType::F32;
};

/// Whether the path's extension is that of an image: .png, .jpg or .jpeg, in any case.
bool isImagePath(const std::string &path);

/// The image as a tensor of shape [channels, height, width]. Colours become grey by luminance;
/// what is transparent shows white.
Result<rt::HostTensor> readImage(const std::string &path, const ImageFormat &format);

} // namespace nncc::data
