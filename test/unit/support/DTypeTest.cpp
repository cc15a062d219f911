// DType: names round-trip, sizes are those of the IEEE and two's-complement formats.
#include "support/DType.h"

#include <gtest/gtest.h>

using nncc::DType;

TEST(DType, EveryNameReadsBackAsItsType) {
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
    DType type = static_cast<DType>(i);
    EXPECT_EQ(nncc::dtypeNamed(nncc::nameOf(type)), type);
  }
  EXPECT_EQ(nncc::dtypeNamed("f31"), std::nullopt);
  EXPECT_EQ(nncc::dtypeNamed(""), std::nullopt);
}

TEST(DType, SizesMatchTheFormats) {
  EXPECT_EQ(nncc::sizeBytesOf(DType::F64), 8);
  EXPECT_EQ(nncc::sizeBytesOf(DType::F32), 4);
  EXPECT_EQ(nncc::sizeBytesOf(DType::F16), 2);
  EXPECT_EQ(nncc::sizeBytesOf(DType::BF16), 2);
  EXPECT_EQ(nncc::sizeBytesOf(DType::I64), 8);
  EXPECT_EQ(nncc::sizeBytesOf(DType::I32), 4);
  EXPECT_EQ(nncc::sizeBytesOf(DType::I8), 1);
  EXPECT_EQ(nncc::sizeBytesOf(DType::U8), 1);
  EXPECT_EQ(nncc::sizeBytesOf(DType::Bool), 1);
}
