// The kernel for GPUs as a library for CPUs: it takes the arguments of `cuLaunchKernel` and gives the same results.
#define PETTEIA_EMULATED
#include "emulated.h"
#include "../../src/net/cuda/kernel.cu"

static const size_t STACK = 256 << 10;
// The memory after shared memory, which a kernel must not touch.
static const size_t BEHIND = 4096;

static void run_thread() {
    emulation.kernel();
    emulation.fibers[threadIdx.x].done = true;
    yield();
}

// Continues a thread until it waits or ends.
static void go_on(Fiber& fiber) {
    if (_setjmp(emulation.scheduler) == 0) {
        if (fiber.begun) {
            _longjmp(fiber.place, 1);
        }
        fiber.begun = true;
        setcontext(&fiber.context);
    }
}

static void run_block(int threads) {
    emulation.fibers.resize(threads);
    for (Fiber& fiber : emulation.fibers) {
        fiber.stack.resize(STACK);
        fiber.begun = fiber.done = false;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, run_thread, 0);
    }
    memset(emulation.warps, 0, sizeof emulation.warps);
    memset(&emulation.block, 0, sizeof emulation.block);
    unsigned last = 0;
    for (int left = threads, idle = 0; left > 0; idle++) {
        for (int thread = 0; thread < threads; thread++) {
            threadIdx.x = thread;
            if (!emulation.fibers[thread].done) {
                go_on(emulation.fibers[thread]);
                left -= emulation.fibers[thread].done;
            }
        }
        unsigned held = emulation.block.held + left;
        for (const Meeting& warp : emulation.warps) {
            held += warp.held;
        }
        idle = held == last ? idle : 0;
        last = held;
        if (idle > 8) {
            fprintf(stderr, "the threads of a block wait for each other\n");
            abort();
        }
    }
}

// Returns whether no block wrote beyond its shared memory.
extern "C" int emulate(int tiles, int blocks, int threads, int shared_bytes, const Work* work) {
    void (*const kernels[])(const Work) = {forward_2x4, forward_2x8, forward_4x4};
    unsigned char* shared = static_cast<unsigned char*>(aligned_alloc(1024, (shared_bytes + BEHIND + 1023) / 1024 * 1024));
    bool is_intact = true;
    for (int block = 0; block < blocks; block++) {
        // NaN in both formats
        memset(shared, 0xff, shared_bytes + BEHIND);
        emulation.shared = shared;
        emulation.kernel = [=] { kernels[tiles](*work); };
        blockIdx.x = block;
        blockDim.x = threads;
        run_block(threads);
        for (size_t i = 0; i < BEHIND; i++) {
            is_intact = is_intact && shared[shared_bytes + i] == 0xff;
        }
    }
    free(shared);
    return is_intact;
}

extern "C" int size_of_step() { return sizeof(Step); }
extern "C" int size_of_work() { return sizeof(Work); }

// A driver for a single GPU, which is this CPU. It counts its calls and the memory that was allocated and not freed. It can fail
// at one of the calls, or lie: with 1, all results are zeros; with 2, they are not numbers. The test reads and writes these
// numbers.
#ifndef LIES
#define LIES 0
#endif

extern "C" {
int lies = LIES;
int gpu_compute = 80, gpu_shared = 100 << 10, gpu_multiprocessors = 3;
int calls = 0, fails_at = -1, living = 0, launches = 0, is_intact = 1;
}

#define CALL                                                                                                           \
    if (calls++ == fails_at) {                                                                                         \
        return 999;                                                                                                    \
    }

static int make(void** handle, size_t bytes) {
    *handle = malloc(bytes + 16);
    // neither zero nor the previous contents
    memset(*handle, 0xa5, bytes + 16);
    living++;
    return 0;
}

static int destroy(void* handle) {
    free(handle);
    living--;
    return 0;
}

extern "C" {
int cuInit(unsigned) { CALL return 0; }
int cuDriverGetVersion(int* version) { CALL *version = 12040; return 0; }
int cuDeviceGetCount(int* count) { CALL *count = 1; return 0; }
int cuDeviceGet(int* device, int) { CALL *device = 0; return 0; }
int cuDeviceGetName(char* name, int length, int) { CALL snprintf(name, length, "Emulated"); return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int) {
    CALL
    switch (attribute) {
        case 16: *value = gpu_multiprocessors; return 0;
        case 75: *value = gpu_compute / 10; return 0;
        case 76: *value = gpu_compute % 10; return 0;
        case 81: *value = gpu_shared + 1024; return 0;
        case 97: *value = gpu_shared; return 0;
    }
    return 1;
}
int cuDevicePrimaryCtxRetain(void** context, int) { CALL return make(context, 0); }
// a released context is not used any more
int cuDevicePrimaryCtxRelease_v2(int) { living--; return 0; }
int cuCtxSetCurrent(void*) { CALL return 0; }
int cuModuleLoadData(void** module, const void* image) {
    CALL
    // like an old driver, it accepts only texts
    const char* text = static_cast<const char*>(image);
    return text[0] == 0x7f ? 209 : strstr(text, ".version 7.0") ? make(module, 0) : 218;
}
int cuModuleUnload(void* module) { return destroy(module); }
int cuModuleGetFunction(void** function, void*, const char* name) {
    CALL
    const char* const names[] = {"forward_2x4", "forward_2x8", "forward_4x4", "forward_4x8"};
    for (uintptr_t i = 0; i < 4; i++) {
        if (strcmp(name, names[i]) == 0) {
            *function = reinterpret_cast<void*>(i + 1);
            return 0;
        }
    }
    return 500;
}
int cuFuncSetAttribute(void*, int, int) { CALL return 0; }
int cuLaunchKernel(void* function, unsigned x, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned shared, void*,
                   void** parameters, void**) {
    CALL
    const unsigned most[] = {512, 384, 384, 256};
    int tiles = static_cast<int>(reinterpret_cast<uintptr_t>(function)) - 1;
    if (static_cast<int>(shared) > gpu_shared || threads > most[tiles] || threads % 32 != 0) {
        return 701;
    }
    launches++;
    const Work* work = static_cast<const Work*>(parameters[0]);
    is_intact &= emulate(tiles, x, threads, shared, work);
    return 0;
}
int cuMemAlloc_v2(unsigned long long* address, size_t bytes) { CALL return make(reinterpret_cast<void**>(address), bytes); }
int cuMemFree_v2(unsigned long long address) { return destroy(reinterpret_cast<void*>(address)); }
int cuMemHostAlloc(void** address, size_t bytes, unsigned) { CALL return make(address, bytes); }
int cuMemFreeHost(void* address) { return destroy(address); }
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
    CALL
    memcpy(reinterpret_cast<void*>(to), from, bytes);
    return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void*) {
    CALL
    memcpy(reinterpret_cast<void*>(to), from, bytes);
    return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void*) {
    CALL
    memcpy(to, reinterpret_cast<void*>(from), bytes);
    if (lies) {
        memset(to, lies == 1 ? 0 : 0xff, bytes);
    }
    return 0;
}
int cuMemsetD32Async(unsigned long long to, unsigned word, size_t count, void*) {
    CALL
    for (size_t i = 0; i < count; i++) {
        reinterpret_cast<unsigned*>(to)[i] = word;
    }
    return 0;
}
int cuStreamCreate(void** stream, unsigned) { CALL return make(stream, 0); }
int cuStreamDestroy_v2(void* stream) { return destroy(stream); }
int cuStreamSynchronize(void*) { CALL return 0; }
}
