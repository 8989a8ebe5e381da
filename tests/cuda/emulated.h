// What `src/net/cuda/device.cuh` has, in plain C++: a block's threads are fibers of one thread, and an operation of a warp waits
// until all 32 lanes have arrived. This header compiles the source of the kernel itself and gives the kernel's results on a CPU.
// The maps of fragments and the roundings are those of PTX's documentation, written down here independently of the packing.
#pragma once
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define BLOCK_OF_SHARED_MEMORY(name) unsigned char* name = emulation.shared

typedef unsigned short u16;
typedef unsigned int u32;
struct uint4 { u32 x, y, z, w; };
struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
struct Index { int x; };

static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }

struct Fiber {
    // where a thread begins, and where it continues: unlike contexts, jumps need no system call
    ucontext_t context;
    jmp_buf place;
    bool begun, done;
    std::vector<char> stack;
};

struct Meeting {
    void* operands[512];
    int arrived;
    unsigned held;
};

struct Emulation {
    unsigned char* shared;
    std::vector<Fiber> fibers;
    Meeting warps[16], block;
    jmp_buf scheduler;
    std::function<void()> kernel;
};

static thread_local Emulation emulation;
static thread_local Index threadIdx, blockIdx, blockDim;

static void yield() {
    if (_setjmp(emulation.fibers[threadIdx.x].place) == 0) {
        _longjmp(emulation.scheduler, 1);
    }
}

// Waits until `count` threads are here; the last one does the work for all.
template <class Operand, class Work>
static void meet(Meeting& meeting, int place, int count, Operand& operand, Work work) {
    meeting.operands[place] = &operand;
    unsigned held = meeting.held;
    if (++meeting.arrived == count) {
        work(reinterpret_cast<Operand**>(meeting.operands));
        meeting.arrived = 0;
        meeting.held++;
    }
    while (meeting.held == held) {
        yield();
    }
}

template <class Operand, class Work>
static void of_warp(Operand& operand, Work work) {
    meet(emulation.warps[threadIdx.x / 32], threadIdx.x % 32, 32, operand, work);
}

static void __syncthreads() {
    int nothing = 0;
    meet(emulation.block, threadIdx.x, blockDim.x, nothing, [](int**) {});
}

static inline float __uint_as_float(u32 bits) {
    float number;
    memcpy(&number, &bits, 4);
    return number;
}

#ifdef PETTEIA_F16
static inline u32 to_16(float number) {
    number = number > 65504.0f ? 65504.0f : number < -65504.0f ? -65504.0f : number;
    _Float16 half = static_cast<_Float16>(number);
    u16 bits;
    memcpy(&bits, &half, 2);
    return bits;
}
static inline float from_16(u32 bits) {
    u16 low = static_cast<u16>(bits);
    _Float16 half;
    memcpy(&half, &low, 2);
    return static_cast<float>(half);
}
#else
static inline u32 to_16(float number) {
    u32 bits;
    memcpy(&bits, &number, 4);
    return number != number ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
static inline float from_16(u32 bits) { return __uint_as_float(bits << 16); }
#endif

static inline u32 pack(float first, float second) { return to_16(second) << 16 | to_16(first); }
static inline float2 unpack(u32 packed) { return {from_16(packed & 0xffff), from_16(packed >> 16)}; }

// ldmatrix: four matrices of 8 x 8 numbers; the lanes 8 i to 8 i + 7 give the addresses of the rows of matrix i, and lane l gets
// the numbers 2 (l % 4) and the next of row l / 4 of each.
typedef const unsigned char* Shared;
static inline Shared shared_address(const unsigned char* at) { return at; }

static void load_rows(u32 (&a)[4], Shared row) {
    struct Operand { u32* a; const unsigned char* row; } operand{a, row};
    of_warp(operand, [](Operand** lanes) {
        for (int lane = 0; lane < 32; lane++) {
            if (reinterpret_cast<uintptr_t>(lanes[lane]->row) % 16 != 0) {
                fprintf(stderr, "a row that is not aligned\n");
                abort();
            }
            for (int matrix = 0; matrix < 4; matrix++) {
                memcpy(&lanes[lane]->a[matrix], lanes[8 * matrix + lane / 4]->row + lane % 4 * 4, 4);
            }
        }
    });
}

static inline float half_of(u32 packed, int half) { return from_16(half ? packed >> 16 : packed & 0xffff); }

// mma.m16n8k16: number i of a lane's first factor is in row l / 4 (+ 8 if i & 2), column 2 (l % 4) + (i & 1) (+ 8 if i & 4); of the
// second in row 2 (l % 4) + (i & 1) (+ 8 if i & 2), column l / 4; of the sums in row l / 4 (+ 8 if i & 2), column 2 (l % 4) + (i & 1).
static void multiply(float (&sums)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    struct Operand { float* sums; const u32* a; u32 b[2]; } operand{sums, a, {b0, b1}};
    of_warp(operand, [](Operand** lanes) {
        float first[16][16], second[16][8];
        for (int lane = 0; lane < 32; lane++) {
            for (int i = 0; i < 8; i++) {
                int row = lane / 4 + (i & 2 ? 8 : 0), column = lane % 4 * 2 + (i & 1) + (i & 4 ? 8 : 0);
                first[row][column] = half_of(lanes[lane]->a[i / 2], i % 2);
            }
            for (int i = 0; i < 4; i++) {
                int row = lane % 4 * 2 + (i & 1) + (i & 2 ? 8 : 0);
                second[row][lane / 4] = half_of(lanes[lane]->b[i / 2], i % 2);
            }
        }
        for (int lane = 0; lane < 32; lane++) {
            for (int i = 0; i < 4; i++) {
                int row = lane / 4 + (i & 2 ? 8 : 0), column = lane % 4 * 2 + (i & 1);
                float sum = lanes[lane]->sums[i];
                for (int k = 0; k < 16; k++) {
                    sum += first[row][k] * second[k][column];
                }
                lanes[lane]->sums[i] = sum;
            }
        }
    });
}

static float sum_of_lanes(float number, int count) {
    of_warp(number, [count](float** lanes) {
        for (int distance = count / 2; distance > 0; distance /= 2) {
            float sums[32];
            for (int lane = 0; lane < 32; lane++) {
                sums[lane] = *lanes[lane] + *lanes[lane ^ distance];
            }
            for (int lane = 0; lane < 32; lane++) {
                *lanes[lane] = sums[lane];
            }
        }
    });
    return number;
}
