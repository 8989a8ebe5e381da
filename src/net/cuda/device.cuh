// The operations that only a GPU has: on fragments of matrices, on 16-bit numbers, and across the lanes of a warp.
// Input and output are registers.
//
// From compute capability 8.0 on, the 16-bit numbers are bf16. On older GPUs, the 16-bit numbers are f16, and a number
// that is too large for f16 becomes the largest f16. The layouts of fragments are those of PTX's `mma.m16n8k16` (row,
// col). Turing uses two `mma.m16n8k8` instead, one for each half of these fragments. The tests have the same functions
// in plain C++.
#pragma once

#define BLOCK_OF_SHARED_MEMORY(name) extern __shared__ __align__(16) unsigned char name[]

typedef unsigned short u16;
typedef unsigned int u32;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define IS_F16 1
#else
#define IS_F16 0
#endif

// Packs two numbers, the first in the lower half.
__device__ __forceinline__ u32 pack(float first, float second) {
    u32 packed;
#if IS_F16
    const float most = 65504.0f;
    first = first > most ? most : first < -most ? -most : first;
    second = second > most ? most : second < -most ? -most : second;
    asm("{\n\t.reg .f16 low, high;\n\tcvt.rn.f16.f32 low, %1;\n\tcvt.rn.f16.f32 high, %2;\n\tmov.b32 %0, {low, high};\n\t}"
        : "=r"(packed) : "f"(first), "f"(second));
#else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
#endif
    return packed;
}

__device__ __forceinline__ float2 unpack(u32 packed) {
    float2 numbers;
#if IS_F16
    asm("{\n\t.reg .f16 low, high;\n\tmov.b32 {low, high}, %2;\n\tcvt.f32.f16 %0, low;\n\tcvt.f32.f16 %1, high;\n\t}"
        : "=f"(numbers.x), "=f"(numbers.y) : "r"(packed));
#else
    numbers.x = __uint_as_float(packed << 16);
    numbers.y = __uint_as_float(packed & 0xffff0000u);
#endif
    return numbers;
}

// An address in shared memory.
typedef u32 Shared;

__device__ __forceinline__ Shared shared_address(const unsigned char* at) {
    return static_cast<u32>(__cvta_generic_to_shared(at));
}

// Loads the fragment of 16 rows of 16 numbers. Lanes 0 to 15 give the addresses of the rows; lanes 16 to 31 give the
// addresses of the rows' second halves.
__device__ __forceinline__ void load_rows(u32 (&a)[4], Shared row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(row) : "memory");
}

// Computes sums += a x b: 16 x 16 numbers times 16 x 8.
__device__ __forceinline__ void multiply(float (&sums)[4], const u32 (&a)[4], u32 b0, u32 b1) {
#if IS_F16
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) : "r"(a[0]), "r"(a[1]), "r"(b0));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) : "r"(a[2]), "r"(a[3]), "r"(b1));
#else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

// Returns to each lane the sum over its group of `lanes` lanes, a power of two.
__device__ __forceinline__ float sum_of_lanes(float number, int lanes) {
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        number += __shfl_xor_sync(0xffffffffu, number, distance);
    }
    return number;
}
