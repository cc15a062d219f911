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

/// To the nearest, halves to even; the instruction for it needs sm_80.
__device__ __forceinline__ bfloat16 to_bfloat16(float x) {
  const unsigned bits = __float_as_uint(x);
  if (x != x)
    return {(unsigned short)(bits >> 16 | 0x40)};
  return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
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
