// What every generated kernel may use: half-precision storage, vectors of 16 bytes, and the arithmetic whose meaning differs from
// C++'s operators. It includes nothing, so NVRTC spends its time on the kernel alone; PTX is written here and nowhere else.

/// Half precision as it lies in memory. Kernels compute in float.
struct float16 {
  unsigned short bits;
};
struct bfloat16 {
  unsigned short bits;
};

__device__ __forceinline__ float to_float(float16 x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
}

__device__ __forceinline__ float to_float(bfloat16 x) { return __int_as_float(x.bits << 16); }

/// To the nearest, halves to even.
__device__ __forceinline__ float16 to_float16(float x) {
  float16 narrow;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
  return narrow;
}

/// To the nearest, halves to even.
__device__ __forceinline__ bfloat16 to_bfloat16(float x) {
#if __CUDA_ARCH__ >= 800
  bfloat16 narrow;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
  return narrow;
#else
  const unsigned bits = __float_as_uint(x);
  if (x != x)
    return {(unsigned short)(bits >> 16 | 0x40)};
  return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
#endif
}

/// `kCount` elements that are loaded and stored at once.
template <class T, int kCount> struct __align__(sizeof(T) * kCount) Vector {
  T at[kCount];
};

template <int kCount, class T> __device__ __forceinline__ Vector<T, kCount> load(const T *from) {
  return *reinterpret_cast<const Vector<T, kCount> *>(from);
}

template <class T, int kCount> __device__ __forceinline__ void store(T *to, const Vector<T, kCount> &vector) {
  *reinterpret_cast<Vector<T, kCount> *>(to) = vector;
}

/// The same bits as another type.
template <class To, class From> __device__ __forceinline__ To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits_as keeps the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

#define kInfinity __int_as_float(0x7f800000)
#define kNan __int_as_float(0x7fffffff)

/// The smaller and the larger of two numbers; NaN if either is (IEEE 754-2019 minimum and maximum).
template <class T> __device__ __forceinline__ T minimum(T x, T y) { return x < y || x != x ? x : y; }
template <class T> __device__ __forceinline__ T maximum(T x, T y) { return x > y || x != x ? x : y; }

/// Quotients rounded down and up, for a positive divisor.
template <class T> __device__ __forceinline__ T floor_div(T x, T y) { return x / y - (x % y < 0); }
template <class T> __device__ __forceinline__ T ceil_div(T x, T y) { return x / y + (x % y > 0); }

/// The value of the thread whose number in the warp differs in the bits of `mask`; the whole warp takes part.
template <class T> __device__ __forceinline__ T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}

/// What a kernel writes to *status; runtime/KernelAbi.h.
enum Status { kIndexOutOfRange = 1 };

//===----------------------------------------------------------------------===//
// Copies into shared memory that run beside the kernel
//===----------------------------------------------------------------------===//

/// Copies `kCount` elements from global into shared memory, or writes zeros there; `from` is not read then. Done when
/// wait_for_copies says so, and for other threads behind the barrier after that. What sm_80's copies cannot do (less than four
/// bytes, older devices) goes through registers at once.
template <int kCount, class T> __device__ __forceinline__ void copy_async(T *to, const T *from, bool is_inside = true) {
#if __CUDA_ARCH__ >= 800
  constexpr int kBytes = kCount * sizeof(T);
  if constexpr (kBytes >= 4) {
    const unsigned address = __cvta_generic_to_shared(to);
    const int bytes_read = is_inside ? kBytes : 0;
    if constexpr (kBytes == 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes_read) : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(kBytes), "r"(bytes_read) : "memory");
    return;
  }
#endif
  store(to, is_inside ? load<kCount>(from) : Vector<T, kCount>{});
}

/// The copies since the last commit are a group.
__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most the last `kPending` groups are on their way.
template <int kPending> __device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

/// Where an element lies in a tile with rows of `kWidth`: runs of 16 bytes change places within their row, so that the same run of
/// eight rows, which load_matrices reads at once, comes from all banks. With runs of 32 bytes that holds for four rows.
template <class T, int kWidth, int kRunBytes = 16> __device__ __forceinline__ int swizzled(int row, int column) {
  constexpr int kRun = kRunBytes / sizeof(T), kRuns = kWidth / kRun;
  constexpr int kPerLine = 128 / kRunBytes; // 128 bytes are every bank once
  constexpr int kRowsOfLine = kRuns < kPerLine ? kPerLine / kRuns : 1;
  const int run = column / kRun ^ row / kRowsOfLine % (kPerLine / kRowsOfLine);
  return row * kWidth + run * kRun + column % kRun;
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//
//
// A warp multiplies 16 x 8 tiles. With g = lane / 4 and t = lane % 4, and words of two halves or one float:
//   left   [16][2 * run]  words (g, t), (g + 8, t), and the same a run further along the depth
//   right  [2 * run][8]   words (t, g), and the same a run further
//   sum    [16][8]        top: (g, 2t), (g, 2t + 1); bottom: (g + 8, 2t), (g + 8, 2t + 1)
// where a run is 16 bytes of depth: 8 halves or 4 floats.

struct tf32;   ///< float operands, rounded to 10 bits of fraction
struct tf32x3; ///< float operands as sums of two such, which leaves about 2^-21

/// Four matrices of 8 rows of 16 bytes from shared memory; lane i says where row i % 8 of matrix i / 8 lies.
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"((unsigned)__cvta_generic_to_shared(row)));
}

/// The same for matrices of halves whose columns, not rows, are neighbours in a word.
__device__ __forceinline__ void load_matrices_transposed(unsigned (&to)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"((unsigned)__cvta_generic_to_shared(row)));
}

#if __CUDA_ARCH__ >= 800

template <class T>
__device__ __forceinline__ void multiply_add(float *top, float *bottom, const unsigned (&left)[4], const unsigned *right);

#define NNCC_MULTIPLY_ADD(T, SHAPE, TYPE)                                                                                      \
  template <>                                                                                                                  \
  __device__ __forceinline__ void multiply_add<T>(float *top, float *bottom, const unsigned (&left)[4], const unsigned *right) { \
    asm("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "          \
        "{%0, %1, %2, %3};"                                                                                                    \
        : "+f"(top[0]), "+f"(top[1]), "+f"(bottom[0]), "+f"(bottom[1])                                                         \
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));                               \
  }
NNCC_MULTIPLY_ADD(float16, "m16n8k16", "f16")
NNCC_MULTIPLY_ADD(bfloat16, "m16n8k16", "bf16")
struct rounded_tf32; ///< operands that are rounded already
NNCC_MULTIPLY_ADD(rounded_tf32, "m16n8k8", "tf32")
#undef NNCC_MULTIPLY_ADD

__device__ __forceinline__ unsigned round_to_tf32(unsigned x) {
  unsigned rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(x)));
  return rounded;
}

template <>
__device__ __forceinline__ void multiply_add<tf32>(float *top, float *bottom, const unsigned (&left)[4], const unsigned *right) {
  const unsigned rounded_left[4] = {round_to_tf32(left[0]), round_to_tf32(left[1]), round_to_tf32(left[2]), round_to_tf32(left[3])};
  const unsigned rounded_right[2] = {round_to_tf32(right[0]), round_to_tf32(right[1])};
  multiply_add<rounded_tf32>(top, bottom, rounded_left, rounded_right);
}

/// Large times large, and the two mixed products that still count; the smallest come first.
template <>
__device__ __forceinline__ void multiply_add<tf32x3>(float *top, float *bottom, const unsigned (&left)[4], const unsigned *right) {
  unsigned large_left[4], small_left[4], large_right[2], small_right[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    large_left[i] = round_to_tf32(left[i]);
    small_left[i] = round_to_tf32(__float_as_uint(__uint_as_float(left[i]) - __uint_as_float(large_left[i])));
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    large_right[i] = round_to_tf32(right[i]);
    small_right[i] = round_to_tf32(__float_as_uint(__uint_as_float(right[i]) - __uint_as_float(large_right[i])));
  }
  multiply_add<rounded_tf32>(top, bottom, small_left, large_right);
  multiply_add<rounded_tf32>(top, bottom, large_left, small_right);
  multiply_add<rounded_tf32>(top, bottom, large_left, large_right);
}

#else // Turing: tensor cores for f16 alone, half as deep

/// sum + the products of the elements of two words.
template <class T> __device__ __forceinline__ float dot(unsigned x, unsigned y, float sum) {
  return sum + __uint_as_float(x) * __uint_as_float(y);
}
template <> __device__ __forceinline__ float dot<bfloat16>(unsigned x, unsigned y, float sum) {
  return sum + __uint_as_float(x << 16) * __uint_as_float(y << 16) + __uint_as_float(x & 0xffff0000) * __uint_as_float(y & 0xffff0000);
}

/// What tensor cores would do, in float: a lane gets the words of its rows and columns from the lanes that hold them.
template <class T>
__device__ __forceinline__ void multiply_add(float *top, float *bottom, const unsigned (&left)[4], const unsigned *right) {
  const int lane = threadIdx.x % 32, first_row = lane / 4 * 4, first_column = lane % 4 * 8;
#pragma unroll
  for (int run = 0; run < 2; ++run)
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const unsigned upper = __shfl_sync(0xffffffffu, left[2 * run], first_row + t);
      const unsigned lower = __shfl_sync(0xffffffffu, left[2 * run + 1], first_row + t);
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const unsigned column = __shfl_sync(0xffffffffu, right[run], first_column + 4 * c + t);
        top[c] = dot<T>(upper, column, top[c]);
        bottom[c] = dot<T>(lower, column, bottom[c]);
      }
    }
}

template <>
__device__ __forceinline__ void multiply_add<float16>(float *top, float *bottom, const unsigned (&left)[4], const unsigned *right) {
#pragma unroll
  for (int run = 0; run < 2; ++run)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(top[0]), "+f"(top[1]), "+f"(bottom[0]), "+f"(bottom[1])
        : "r"(left[2 * run]), "r"(left[2 * run + 1]), "r"(right[run]));
}

#endif

/// Two columns of each tile, 8 to a tile, lie in a lane. Four lanes exchange them, until each has neighbours: with four tiles all 8
/// of tile t, with two the half t / 2 of tile t % 2.
template <int kColumns> __device__ __forceinline__ void gather_columns(float (&sum)[kColumns]) {
  constexpr int kTiles = kColumns < 8 ? 2 : 4;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int group = 0; group < kColumns; group += 2 * kTiles)
#pragma unroll
    for (int mask = 1; mask < kTiles; mask *= 2)
#pragma unroll
      for (int c = 0; c < 2 * kTiles; ++c) {
        if (c / 2 & mask)
          continue;
        float &first = sum[group + c], &second = sum[group + c + 2 * mask];
        const bool keeps_second = lane & mask;
        const float received = shuffle_xor(keeps_second ? first : second, mask);
        first = keeps_second ? received : first;
        second = keeps_second ? second : received;
      }
}
