// The forward pass of a group of positions in one block. Input: packed weights and encoded positions. Output: logits.
//
// Activations are 16-bit rows in shared memory, one for each square of each position, channels last; two buffers
// alternate. A convolution multiplies whole tiles of 16 rows by 8 outputs; a warp computes MT x NT tiles at a time. A
// tap outside the board reads a row of zeros, so boards have no border. Weights are read from L2 in the order in which
// lanes need them (`fragments.rs`). Sums are f32; they depend neither on how tiles are assigned to warps nor on other
// positions. The steps and the numbers of their kinds are the same as in `program.rs`.
#ifndef PETTEIA_EMULATED
#include "device.cuh"
#endif

// The total width of the banks of shared memory, in bytes.
const int BANKS = 128;

enum Kind { INPUT, CONV, POOL, LINEAR, ADD, LOGITS };

// Mirrors `program::Step`; fields that a kind of step does not use are 0.
struct Step {
    int kind;
    // Buffers of rows; -1 stands for the numbers of the position (`source`, `target`).
    int from, to;
    // Channels or numbers; for a convolution, padded to whole tiles.
    int inputs, outputs;
    // For a convolution, 9 or 1; for a linear layer, the number of channels in the rows that it reads.
    int taps;
    int relu, skip;
    // For a linear layer, the number of lanes that share a sum.
    int lanes;
    // The index where weights begin: fragments, and plain numbers.
    int fragments, weights, bias;
    // Indices among the numbers of a position; a `target` of -1 means the result.
    int source, target;
};

// Mirrors `pass::Work`.
struct Work {
    const Step* steps;
    const uint4* fragments;
    const float* numbers;
    // For each position and plane: words with one bit for each square, then a number and an unused word.
    const u32* planes;
    // The index of each position's first action, followed by the index where the last position's actions end.
    const u32* begins;
    const u16* actions;
    float* logits;
    float* wdl;
    int count, positions, group;
    int height, width, channels, ones, plane_words;
    // The numbers in a row of each buffer; the byte offsets of the buffers and of the numbers of positions; and the
    // count of numbers of a position.
    int stride[2], at[2], numbers_at, numbers_each;
};

// The work of one block.
struct Block {
    unsigned char* shared;
    // The block's first position, the number of its positions, and the number of rows of all its positions.
    int first, positions, rows;
};

__device__ __forceinline__ unsigned char* row_of(const Work& work, const Block& block, int buffer, int row) {
    return block.shared + work.at[buffer] + row * work.stride[buffer] * 2;
}

__device__ __forceinline__ float* numbers_of(const Work& work, const Block& block, int position) {
    return reinterpret_cast<float*>(block.shared + work.numbers_at) + position * work.numbers_each;
}

// Applies ReLU if `relu`; NaN stays NaN.
__device__ __forceinline__ float finish(float x, bool relu) { return relu && x < 0.0f ? 0.0f : x; }

// Writes the input planes: each thread writes two channels of the up to 32 squares of one word.
__device__ void input(const Work& work, const Block& block, const Step& step) {
    const int cells = work.height * work.width, pairs = step.inputs / 2, words = (cells + 31) / 32;
    const int stride = work.stride[step.to] / 2;
    for (int i = threadIdx.x; i < block.positions * words * pairs; i += blockDim.x) {
        int pair = i % pairs, word = i / pairs % words, position = i / pairs / words;
        u32 squares[2];
        float numbers[2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int channel = 2 * pair + half;
            bool is_plane = channel < work.channels;
            const u32* plane =
                work.planes + ((block.first + position) * work.channels + channel) * work.plane_words;
            squares[half] = is_plane ? plane[word] : work.ones && channel == work.channels ? ~0u : 0;
            numbers[half] = is_plane ? __uint_as_float(plane[work.plane_words - 2]) : 1.0f;
        }
        u32 first = pack(numbers[0], 0.0f), second = pack(0.0f, numbers[1]);
        u32* to = reinterpret_cast<u32*>(row_of(work, block, step.to, position * cells + 32 * word)) + pair;
        for (int square = 0; square < min(32, cells - 32 * word); square++) {
            to[square * stride] = (squares[0] >> square & 1 ? first : 0) | (squares[1] >> square & 1 ? second : 0);
        }
    }
}

// Returns one bit for each tap, set if the tap is on the board.
__device__ __forceinline__ u32 taps_inside(const Work& work, int square) {
    int row = square / work.width, column = square % work.width;
    u32 inside = 0;
#pragma unroll 1
    for (int tap = 0; tap < 9; tap++) {
        int y = row + tap / 3 - 1, x = column + tap % 3 - 1;
        bool is_inside = y >= 0 && y < work.height && x >= 0 && x < work.width;
        inside |= static_cast<u32>(is_inside) << tap;
    }
    return inside;
}

template <int MT, int NT>
__device__ void convolution(const Work& work, const Block& block, const Step& step) {
    const int lane = threadIdx.x % 32, cells = work.height * work.width;
    const int row_groups = (block.rows + 16 * MT - 1) / (16 * MT), groups = row_groups * (step.outputs / (8 * NT));
    const int depth = step.inputs / 16, fragments_apart = step.outputs / 16 * 32;
    const int width = work.stride[step.from] * 2;
    const Shared shared = shared_address(block.shared);
    for (int group = threadIdx.x / 32; group < groups; group += blockDim.x / 32) {
        const int first_row = group % row_groups * 16 * MT, first_output = group / row_groups * 8 * NT;
        // the row of this lane in each tile, and which of its neighbors are on the board
        int own[MT];
        u32 inside[MT];
#pragma unroll
        for (int i = 0; i < MT; i++) {
            int row = first_row + 16 * i + lane % 16;
            own[i] = work.at[step.from] + row * width;
            inside[i] = row >= block.rows ? 0 : step.taps == 1 ? 1 : taps_inside(work, row % cells);
        }
        // the addresses of this lane's rows for a tap; zeros are read from the banks where the row would be
        Shared rows[MT];
        auto go_to_tap = [&](int tap) {
            const int shift = step.taps == 1 ? 0 : ((tap / 3 - 1) * work.width + tap % 3 - 1) * width;
#pragma unroll
            for (int i = 0; i < MT; i++) {
                int at = own[i] + shift;
                rows[i] = shared + ((inside[i] >> tap & 1 ? at : at & (BANKS - 1)) + lane / 16 * 16);
            }
        };
        float sums[MT][NT][4];
#pragma unroll
        for (int i = 0; i < MT; i++) {
#pragma unroll
            for (int j = 0; j < NT; j++) {
                sums[i][j][0] = sums[i][j][1] = sums[i][j][2] = sums[i][j][3] = 0.0f;
            }
        }
        // rows and fragments are read one step ahead, so padding follows the last fragments
        const uint4* fragments = work.fragments + step.fragments + first_output / 16 * 32 + lane;
        uint4 ahead[NT / 2];
#pragma unroll
        for (int j = 0; j < NT / 2; j++) {
            ahead[j] = fragments[32 * j];
        }
        u32 rows_ahead[MT][4];
        go_to_tap(0);
#pragma unroll
        for (int i = 0; i < MT; i++) {
            load_rows(rows_ahead[i], rows[i]);
        }
#pragma unroll 1
        for (int tap = 0; tap < step.taps; tap++) {
#pragma unroll 2
            for (int k = 0; k < depth; k++) {
                u32 a[MT][4];
                uint4 b[NT / 2];
                const bool is_last = k + 1 == depth;
                if (is_last && tap + 1 < step.taps) {
                    go_to_tap(tap + 1);
                }
#pragma unroll
                for (int i = 0; i < MT; i++) {
#pragma unroll
                    for (int j = 0; j < 4; j++) {
                        a[i][j] = rows_ahead[i][j];
                    }
                    load_rows(rows_ahead[i], rows[i] + (is_last ? 0 : 32 * (k + 1)));
                }
                fragments += fragments_apart;
#pragma unroll
                for (int j = 0; j < NT / 2; j++) {
                    b[j] = ahead[j];
                    ahead[j] = fragments[32 * j];
                }
#pragma unroll
                for (int i = 0; i < MT; i++) {
#pragma unroll
                    for (int j = 0; j < NT / 2; j++) {
                        multiply(sums[i][2 * j], a[i], b[j].x, b[j].y);
                        multiply(sums[i][2 * j + 1], a[i], b[j].z, b[j].w);
                    }
                }
            }
        }
        const float* bias = work.numbers + step.bias + first_output;
#pragma unroll
        for (int i = 0; i < MT; i++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int row = first_row + 16 * i + lane / 4 + 8 * half;
                if (row >= block.rows) {
                    continue;
                }
                u32* to = reinterpret_cast<u32*>(row_of(work, block, step.to, row) + first_output * 2);
#pragma unroll
                for (int j = 0; j < NT; j++) {
                    int output = 8 * j + lane % 4 * 2;
                    float x = sums[i][j][2 * half] + bias[output], y = sums[i][j][2 * half + 1] + bias[output + 1];
                    if (step.skip) {
                        float2 skipped = unpack(to[output / 2]);
                        x += skipped.x;
                        y += skipped.y;
                    }
                    to[output / 2] = pack(finish(x, step.relu), finish(y, step.relu));
                }
            }
        }
    }
}

__device__ __forceinline__ float number_at(const unsigned char* row, int channel) {
    float2 two = unpack(reinterpret_cast<const u32*>(row)[channel / 2]);
    return channel % 2 ? two.y : two.x;
}

// Writes the mean of each channel over the squares of a position, then the maximum of each channel.
__device__ void pool(const Work& work, const Block& block, const Step& step) {
    int cells = work.height * work.width;
    for (int i = threadIdx.x; i < block.positions * step.inputs; i += blockDim.x) {
        int position = i / step.inputs, channel = i % step.inputs;
        float sum = 0.0f, most = -__uint_as_float(0x7f800000u);
#pragma unroll 1
        for (int square = 0; square < cells; square++) {
            float x = number_at(row_of(work, block, step.from, position * cells + square), channel);
            sum += x;
            most = x > most ? x : most;
        }
        float* to = numbers_of(work, block, position) + step.target;
        to[channel] = sum / cells;
        // a plane that contains NaN has no maximum
        to[step.inputs + channel] = sum != sum ? sum : most;
    }
}

// Computes a linear layer: `step.lanes` lanes share each output of each position.
__device__ void linear(const Work& work, const Block& block, const Step& step) {
    const int cells = work.height * work.width, lane = threadIdx.x % step.lanes;
    const int sums = block.positions * step.outputs;
    // the lanes of a warp stay together until they have added their sums
    for (int first = threadIdx.x / 32 * (32 / step.lanes); first < sums; first += blockDim.x / step.lanes) {
        int i = min(first + static_cast<int>(threadIdx.x) % 32 / step.lanes, sums - 1);
        int position = i / step.outputs, output = i % step.outputs;
        const float* weights = work.numbers + step.weights + output * step.inputs;
        const float* numbers = numbers_of(work, block, position) + step.source;
        float sum = 0.0f;
#pragma unroll 4
        for (int k = lane; k < step.inputs; k += step.lanes) {
            float x = step.from < 0
                ? numbers[k]
                : number_at(row_of(work, block, step.from, position * cells + k / step.taps), k % step.taps);
            sum += x * weights[k];
        }
        sum = finish(sum_of_lanes(sum, step.lanes) + work.numbers[step.bias + output], step.relu);
        if (lane == 0) {
            float* to = step.target < 0 ? work.wdl + (block.first + position) * step.outputs
                                        : numbers_of(work, block, position) + step.target;
            to[output] = sum;
        }
    }
}

// Adds the same number to all squares of a channel.
__device__ void add(const Work& work, const Block& block, const Step& step) {
    int cells = work.height * work.width, pairs = step.outputs / 2;
    for (int i = threadIdx.x; i < block.rows * pairs; i += blockDim.x) {
        int row = i / pairs, pair = i % pairs;
        const float* added = numbers_of(work, block, row / cells) + step.source + 2 * pair;
        u32* to = reinterpret_cast<u32*>(row_of(work, block, step.to, row)) + pair;
        float2 x = unpack(*to);
        *to = pack(finish(x.x + added[0], true), finish(x.y + added[1], true));
    }
}

// Writes the wanted logits, one in each thread: the actions below `outputs` belong to squares, and the logits of all
// other actions are among the numbers of the position.
__device__ void logits(const Work& work, const Block& block, const Step& step) {
    const int cells = work.height * work.width;
    const u32* begins = work.begins + block.first;
    int position = 0;
    for (u32 i = begins[0] + threadIdx.x; i < begins[block.positions]; i += blockDim.x) {
        while (i >= begins[position + 1]) {
            position++;
        }
        int action = work.actions[i];
        if (action >= step.outputs) {
            work.logits[i] = numbers_of(work, block, position)[step.source + action - step.outputs];
            continue;
        }
        const uint4* row =
            reinterpret_cast<const uint4*>(row_of(work, block, step.from, position * cells + action % cells));
        const float4* weights =
            reinterpret_cast<const float4*>(work.numbers + step.weights + action / cells * step.inputs);
        float sum = 0.0f;
        for (int k = 0; k < step.inputs / 8; k++) {
            uint4 eight = row[k];
            float4 first = weights[2 * k], second = weights[2 * k + 1];
            float2 a = unpack(eight.x), b = unpack(eight.y), c = unpack(eight.z), d = unpack(eight.w);
            sum += a.x * first.x + a.y * first.y + b.x * first.z + b.y * first.w;
            sum += c.x * second.x + c.y * second.y + d.x * second.z + d.y * second.w;
        }
        work.logits[i] = sum + work.numbers[step.bias + action / cells];
    }
}

template <int MT, int NT>
__device__ __forceinline__ void forward(const Work& work) {
    BLOCK_OF_SHARED_MEMORY(shared);
    Block block;
    block.shared = shared;
    block.first = blockIdx.x * work.group;
    block.positions = min(work.group, work.positions - block.first);
    block.rows = block.positions * work.height * work.width;
    // the row of zeros is before the buffers; it is as long as the longest row, wherever in the banks the longest row
    // begins
    int longest = max(work.stride[0], work.stride[1]);
    for (int i = threadIdx.x; i < longest / 2 + BANKS / 4; i += blockDim.x) {
        reinterpret_cast<u32*>(shared)[i] = 0;
    }
    for (int i = 0; i < work.count; i++) {
        const Step step = work.steps[i];
        switch (step.kind) {
            case INPUT: input(work, block, step); break;
            case CONV: convolution<MT, NT>(work, block, step); break;
            case POOL: pool(work, block, step); break;
            case LINEAR: linear(work, block, step); break;
            case ADD: add(work, block, step); break;
            case LOGITS: logits(work, block, step); break;
        }
        __syncthreads();
    }
}

// The same tiles as in `plan::TILES`, for the warps in `plan::WARPS`. With more tiles at a time, a warp would need so
// many registers that too few warps fit.
#define FORWARD(MT, NT)                                                                                          \
    extern "C" __global__ void __launch_bounds__(512, 1) forward_##MT##x##NT(const __grid_constant__ Work work) { \
        forward<MT, NT>(work);                                                                                   \
    }

FORWARD(2, 4)
FORWARD(2, 8)
FORWARD(4, 4)
