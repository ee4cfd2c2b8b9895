/* An imitation of NVIDIA's NVML for tests: GANTRY_TEST_GPUS GPUs that are there and do nothing. It is no simulation that
   labels itself: programs under test take it for a driver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"

struct nvmlDevice_st { unsigned int index; };
static struct nvmlDevice_st devices[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};

nvmlReturn_t nvmlInit_v2(void) { return NVML_SUCCESS; }
nvmlReturn_t nvmlInit(void) { return NVML_SUCCESS; }
nvmlReturn_t nvmlInitWithFlags(unsigned int flags) { return NVML_SUCCESS; }
nvmlReturn_t nvmlShutdown(void) { return NVML_SUCCESS; }
const char *nvmlErrorString(nvmlReturn_t ret) { return ret == NVML_SUCCESS ? "success" : "not supported by the imitation"; }

static nvmlReturn_t text(char *to, unsigned int size, const char *from) {
  snprintf(to, size, "%s", from);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *v, unsigned int n) {
  const char *version = getenv("GANTRY_TEST_DRIVER");
  return text(v, n, version ? version : "550.90.12");
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char *v, unsigned int n) { return text(v, n, "12.550.90.12"); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *v) { *v = 12040; return NVML_SUCCESS; }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *n) {
  const char *count = getenv("GANTRY_TEST_GPUS");
  *n = count ? (unsigned int)atoi(count) : 1;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCount(unsigned int *n) { return nvmlDeviceGetCount_v2(n); }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int i, nvmlDevice_t *d) {
  unsigned int n;
  nvmlDeviceGetCount_v2(&n);
  if (i >= n || i >= 8) return NVML_ERROR_INVALID_ARGUMENT;
  d->handle = &devices[i];
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int i, nvmlDevice_t *d) { return nvmlDeviceGetHandleByIndex_v2(i, d); }
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *v, unsigned int n) { return text(v, n, "NVIDIA A100-SXM4-40GB"); }
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *v, unsigned int n) {
  snprintf(v, n, "GPU-00000000-0000-4000-8000-%012u", d.handle->index + 1);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t d, unsigned int *minor) { *minor = d.handle->index; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m) {
  m->total = 40960ull << 20;
  m->used = (512ull + d.handle->index) << 20;
  m->free = m->total - m->used;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *p) {
  memset(p, 0, sizeof *p);
  p->bus = 0x18 + d.handle->index;
  p->pciDeviceId = 0x20B010DE;
  snprintf(p->busId, sizeof p->busId, "00000000:%02X:00.0", p->bus);
  snprintf(p->busIdLegacy, sizeof p->busIdLegacy, "0000:%02X:00.0", p->bus);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t d, nvmlPciInfo_t *p) { return nvmlDeviceGetPciInfo_v3(d, p); }
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t d, nvmlPciInfo_t *p) { return nvmlDeviceGetPciInfo_v3(d, p); }
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned int link, nvmlEnableState_t *on) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, nvmlTemperatureSensors_t s, unsigned int *v) { *v = 41 + d.handle->index; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned int *v) { *v = 63000; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned int *v) { *v = 400000; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t d, unsigned int *v) { *v = 400000; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t d, nvmlEnableState_t *on) { *on = NVML_FEATURE_ENABLED; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t d, unsigned int *count, nvmlProcessInfo_v1_t *list) { *count = 0; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t d, nvmlProcessUtilizationSample_t *list, unsigned int *count, unsigned long long since) { *count = 0; return NVML_ERROR_NOT_FOUND; }
nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t d, unsigned int *v) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u) {
  u->gpu = 7 + d.handle->index;
  u->memory = 3;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, nvmlMemoryErrorType_t t, nvmlEccCounterType_t c, unsigned long long *v) { *v = 0; return NVML_SUCCESS; }
nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set) { return NVML_ERROR_NOT_SUPPORTED; }
