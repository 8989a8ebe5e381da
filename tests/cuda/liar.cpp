// A library that claims to be a driver: every function answers `ANSWER` and writes nothing except the version.
#ifdef FEW
extern "C" int cuInit() { return 0; }
#else
#define LIE(name) extern "C" int name() { return ANSWER; }
LIE(cuInit) LIE(cuDeviceGetCount) LIE(cuDeviceGet) LIE(cuDeviceGetName) LIE(cuDeviceGetAttribute) LIE(cuDevicePrimaryCtxRetain)
LIE(cuDevicePrimaryCtxRelease_v2) LIE(cuCtxSetCurrent) LIE(cuModuleLoadData) LIE(cuModuleUnload) LIE(cuModuleGetFunction)
LIE(cuFuncSetAttribute) LIE(cuLaunchKernel) LIE(cuMemAlloc_v2) LIE(cuMemFree_v2) LIE(cuMemHostAlloc) LIE(cuMemFreeHost)
LIE(cuMemcpyHtoD_v2) LIE(cuMemcpyHtoDAsync_v2) LIE(cuMemcpyDtoHAsync_v2) LIE(cuMemsetD32Async) LIE(cuStreamCreate)
LIE(cuStreamDestroy_v2) LIE(cuStreamSynchronize)
extern "C" int cuDriverGetVersion(int* version) {
    *version = VERSION;
    return 0;
}
#endif
