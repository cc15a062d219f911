// Reading of whole samples, and files made of bytes, for the tests of data sources.
#pragma once

#include "runtime/data/OpenData.h"

#include <gtest/gtest.h>

#include <cstring>

/// One field of one sample as values of type T.
template <typename T>
std::vector<T> readField(const nncc::data::DataSource &source, int64_t sample, size_t field) {
  std::vector<T> values(static_cast<size_t>(nncc::data::elementCountOf(source.fields()[field])));
  EXPECT_EQ(values.size() * sizeof(T),
            static_cast<size_t>(nncc::data::sizeBytesOf(source.fields()[field])));
  std::vector<std::span<std::byte>> wanted(source.fields().size());
  wanted[field] = std::as_writable_bytes(std::span(values));
  nncc::Result<void> got = source.read(sample, wanted);
  EXPECT_TRUE(got) << got.error().message;
  return values;
}

inline std::string bytesOf(std::initializer_list<int> values) {
  std::string text;
  for (int value : values)
    text.push_back(static_cast<char>(value));
  return text;
}

/// The message of a data set that cannot be opened.
inline std::string openError(const std::string &spec,
                             nncc::data::Split split = nncc::data::Split::Train) {
  auto source = nncc::data::openData(spec, split);
  if (source)
    return "no error";
  EXPECT_EQ(source.error().kind, nncc::ErrorKind::User) << source.error().message;
  return source.error().message;
}

#define EXPECT_CONTAINS(text, part)                                                                \
  EXPECT_NE((text).find(part), std::string::npos) << "in: " << (text)
