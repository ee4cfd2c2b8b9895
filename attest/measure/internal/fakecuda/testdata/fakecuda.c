// An imitation of the part of NVIDIA's driver API and of cuBLASLt that package cuda calls, for tests on machines without
// a GPU. It checks its arguments, counts what is alive, fails on demand, and hands kernel launches to a callback. Its
// device addresses are not addresses of this process, so that mixing them up is seen.
//
// Signatures follow cuda.h and cublasLt.h as published with the CUDA toolkit documentation.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
enum {
  OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201, INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719
};

// ---- control, called by tests ----

static char fail_name[64];
static int fail_after, fail_code;
static int devices = 1, version = 12040, major = 9, minor = 0;
static uint64_t memory_total = 1ull << 30, memory_used;
static int initialized, contexts, pushed, modules, blas_objects, launches;

void fake_fail(const char *name, int after, int code) {
  snprintf(fail_name, sizeof fail_name, "%s", name);
  fail_after = after;
  fail_code = code;
}
void fake_device(int count, int driver, int maj, int min, uint64_t memory) {
  devices = count, version = driver, major = maj, minor = min, memory_total = memory;
}
int fake_alive(int what) {
  switch (what) {
  case 0: return contexts;
  case 1: return modules;
  case 2: return (int)(memory_used > 0 ? memory_used / 1 : 0);
  case 3: return pushed;
  case 4: return blas_objects;
  default: return launches;
  }
}

// fails reports whether this call is to fail, and with what.
static int fails(const char *name) {
  if (strcmp(name, fail_name) != 0 || fail_after-- != 0) return 0;
  fail_name[0] = 0;
  return fail_code;
}
#define ENTER(name) do { int code = fails(name); if (code) return code; } while (0)

// ---- memory ----

#define SLOTS 64
static struct { uint64_t at, size; uint8_t *host; } slots[SLOTS];
static uint64_t next_address = 0x7f4200000000ull;

// fake_memory reports slot i: its device address, size and memory here. Returns 0 beyond the last slot.
int fake_memory(int i, uint64_t *at, uint64_t *size, uint8_t **host) {
  if (i < 0 || i >= SLOTS) return 0;
  *at = slots[i].at, *size = slots[i].size, *host = slots[i].host;
  return 1;
}
static uint8_t *resolve(uint64_t at, uint64_t size) {
  for (int i = 0; i < SLOTS; i++)
    if (slots[i].host && at >= slots[i].at && at - slots[i].at <= slots[i].size && slots[i].size - (at - slots[i].at) >= size)
      return slots[i].host + (at - slots[i].at);
  return NULL;
}

// ---- driver ----

static pthread_t owner; // the thread on which the context is current

static int current(void) { return pushed > 0 && pthread_equal(owner, pthread_self()); }
#define CURRENT() do { if (!current()) return INVALID_CONTEXT; } while (0)

CUresult cuInit(unsigned flags) {
  ENTER("cuInit");
  if (flags) return INVALID_VALUE;
  if (!devices) return NO_DEVICE;
  initialized = 1;
  return OK;
}
CUresult cuDriverGetVersion(int *out) { ENTER("cuDriverGetVersion"); *out = version; return OK; }
CUresult cuDeviceGetCount(int *out) { ENTER("cuDeviceGetCount"); if (!initialized) return NOT_INITIALIZED; *out = devices; return OK; }
CUresult cuDeviceGet(int *out, int i) { ENTER("cuDeviceGet"); if (i < 0 || i >= devices) return INVALID_DEVICE; *out = 40 + i; return OK; }
static int is_device(int d) { return d >= 40 && d < 40 + devices; }
CUresult cuDeviceGetName(char *out, int size, int d) {
  ENTER("cuDeviceGetName");
  if (!is_device(d) || size < 32) return INVALID_VALUE;
  snprintf(out, size, "Simulated GPU %d", d - 40);
  return OK;
}
CUresult cuDeviceGetUuid(uint8_t *out, int d) {
  ENTER("cuDeviceGetUuid");
  if (!is_device(d)) return INVALID_DEVICE;
  for (int i = 0; i < 16; i++) out[i] = (uint8_t)(d + i);
  return OK;
}
CUresult cuDeviceGetAttribute(int *out, int what, int d) {
  ENTER("cuDeviceGetAttribute");
  if (!is_device(d)) return INVALID_DEVICE;
  if (what == 75) *out = major; else if (what == 76) *out = minor; else return INVALID_VALUE;
  return OK;
}
CUresult cuDeviceTotalMem_v2(size_t *out, int d) { ENTER("cuDeviceTotalMem_v2"); if (!is_device(d)) return INVALID_DEVICE; *out = memory_total; return OK; }

static int the_context;
CUresult cuDevicePrimaryCtxRetain(void **out, int d) {
  ENTER("cuDevicePrimaryCtxRetain");
  if (!is_device(d)) return INVALID_DEVICE;
  contexts++;
  *out = &the_context;
  return OK;
}
CUresult cuDevicePrimaryCtxRelease_v2(int d) {
  ENTER("cuDevicePrimaryCtxRelease_v2");
  if (!is_device(d) || contexts <= 0) return INVALID_CONTEXT;
  contexts--;
  return OK;
}
CUresult cuCtxPushCurrent_v2(void *c) {
  ENTER("cuCtxPushCurrent_v2");
  if (c != &the_context || contexts <= 0 || pushed) return INVALID_CONTEXT;
  pushed++;
  owner = pthread_self();
  return OK;
}
CUresult cuCtxPopCurrent_v2(void **out) {
  ENTER("cuCtxPopCurrent_v2");
  CURRENT();
  pushed--;
  *out = &the_context;
  return OK;
}
CUresult cuCtxSynchronize(void) { ENTER("cuCtxSynchronize"); CURRENT(); return OK; }

struct module { char *image; };
struct function { struct module *m; char name[32]; };

CUresult cuModuleLoadDataEx(void **out, const void *image, unsigned count, const int *options, void **values) {
  const char *log_text = "ptxas application ptx input, line 1; error : simulated\n";
  CURRENT();
  int code = fails("cuModuleLoadDataEx");
  for (unsigned i = 0; i < count; i++)
    if (options[i] == 5 && code) {
      size_t room = count > 1 && options[1] == 6 ? (size_t)values[1] : 0;
      if (strlen(log_text) + 1 <= room) strcpy(values[i], log_text);
    }
  if (code) return code;
  if (!strstr(image, ".version")) return INVALID_IMAGE;
  struct module *m = malloc(sizeof *m);
  m->image = strdup(image);
  modules++;
  *out = m;
  return OK;
}
CUresult cuModuleUnload(void *module) {
  ENTER("cuModuleUnload");
  CURRENT();
  struct module *m = module;
  if (!m || !m->image) return INVALID_HANDLE;
  free(m->image);
  m->image = NULL;
  modules--;
  return OK;
}
CUresult cuModuleGetFunction(void **out, void *module, const char *name) {
  ENTER("cuModuleGetFunction");
  CURRENT();
  struct module *m = module;
  char wanted[64];
  snprintf(wanted, sizeof wanted, ".entry %s(", name);
  if (!m || !m->image || strlen(name) > 31) return INVALID_HANDLE;
  if (!strstr(m->image, wanted)) return NOT_FOUND;
  struct function *f = malloc(sizeof *f); // lives as long as the process, as handles of the driver do not matter after unloading
  f->m = m;
  strcpy(f->name, name);
  *out = f;
  return OK;
}
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  ENTER("cuMemGetInfo_v2");
  CURRENT();
  *free_bytes = memory_total - memory_used, *total = memory_total;
  return OK;
}
CUresult cuMemAlloc_v2(uint64_t *out, size_t size) {
  ENTER("cuMemAlloc_v2");
  CURRENT();
  if (!size) return INVALID_VALUE;
  if (size > memory_total - memory_used) return OUT_OF_MEMORY;
  for (int i = 0; i < SLOTS; i++)
    if (!slots[i].host) {
      if (!(slots[i].host = malloc(size))) return OUT_OF_MEMORY;
      memset(slots[i].host, 0xa5, size); // fresh memory is not zero
      slots[i].at = next_address, slots[i].size = size;
      next_address += (size + 0xfffff) & ~0xfffffull;
      memory_used += size;
      *out = slots[i].at;
      return OK;
    }
  return OUT_OF_MEMORY;
}
CUresult cuMemFree_v2(uint64_t at) {
  ENTER("cuMemFree_v2");
  CURRENT();
  for (int i = 0; i < SLOTS; i++)
    if (slots[i].host && slots[i].at == at) {
      free(slots[i].host);
      slots[i].host = NULL;
      memory_used -= slots[i].size;
      return OK;
    }
  return INVALID_VALUE;
}
CUresult cuMemcpyDtoH_v2(void *to, uint64_t at, size_t size) {
  ENTER("cuMemcpyDtoH_v2");
  CURRENT();
  uint8_t *from = resolve(at, size);
  if (!from || !to) return INVALID_VALUE;
  memcpy(to, from, size);
  return OK;
}

struct launch { const char *image, *name; unsigned grid[3], block[3]; void **params; };
static int (*launcher)(struct launch *);
void fake_launcher(int (*f)(struct launch *)) { launcher = f; }

CUresult cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        void *stream, void **params, void **extra) {
  ENTER("cuLaunchKernel");
  CURRENT();
  struct function *f = function;
  if (!f || !f->m->image) return INVALID_HANDLE;
  if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || shared || stream || extra || !params) return INVALID_VALUE;
  launches++;
  struct launch l = {f->m->image, f->name, {gx, gy, gz}, {bx, by, bz}, params};
  return launcher && launcher(&l) == 0 ? OK : LAUNCH_FAILED;
}

CUresult cuGetErrorName(CUresult e, const char **out) {
  switch (e) {
  case INVALID_VALUE: *out = "CUDA_ERROR_INVALID_VALUE"; return OK;
  case OUT_OF_MEMORY: *out = "CUDA_ERROR_OUT_OF_MEMORY"; return OK;
  case NO_DEVICE: *out = "CUDA_ERROR_NO_DEVICE"; return OK;
  case INVALID_CONTEXT: *out = "CUDA_ERROR_INVALID_CONTEXT"; return OK;
  case INVALID_PTX: *out = "CUDA_ERROR_INVALID_PTX"; return OK;
  case ILLEGAL_ADDRESS: *out = "CUDA_ERROR_ILLEGAL_ADDRESS"; return OK;
  case LAUNCH_FAILED: *out = "CUDA_ERROR_LAUNCH_FAILED"; return OK;
  }
  *out = NULL;
  return INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult e, const char **out) {
  if (e == OUT_OF_MEMORY) { *out = "out of memory"; return OK; }
  *out = NULL;
  return INVALID_VALUE;
}

// ---- cuBLASLt ----

struct object { int kind, a, b; uint64_t rows, cols; int64_t ld; };
enum { HANDLE = 11, DESC, LAYOUT, PREFERENCE };

static int make(void **out, struct object o) {
  struct object *p = malloc(sizeof *p);
  *p = o;
  *out = p;
  blas_objects++;
  return 0;
}
static int drop(void *p, int kind) {
  struct object *o = p;
  if (!o || o->kind != kind) return 7;
  o->kind = 0;
  free(o);
  blas_objects--;
  return 0;
}
int cublasLtCreate(void **out) { ENTER("cublasLtCreate"); if (!current()) return 1; return make(out, (struct object){HANDLE}); }
int cublasLtDestroy(void *p) { ENTER("cublasLtDestroy"); return drop(p, HANDLE); }
int cublasLtMatmulDescCreate(void **out, int compute, int scale) {
  ENTER("cublasLtMatmulDescCreate");
  if (compute != 72 || scale != 10) return 15;
  return make(out, (struct object){DESC});
}
int cublasLtMatmulDescDestroy(void *p) { return drop(p, DESC); }
int cublasLtMatmulDescSetAttribute(void *p, int what, const void *value, size_t size) {
  ENTER("cublasLtMatmulDescSetAttribute");
  struct object *o = p;
  if (!o || o->kind != DESC || size != 4) return 7;
  if (what == 3) o->a = *(const int *)value; else if (what == 4) o->b = *(const int *)value; else return 7;
  return 0;
}
int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t cols, int64_t ld) {
  ENTER("cublasLtMatrixLayoutCreate");
  if (type != 3 && type != 10) return 15;
  return make(out, (struct object){LAYOUT, type, 0, rows, cols, ld});
}
int cublasLtMatrixLayoutDestroy(void *p) { return drop(p, LAYOUT); }
int cublasLtMatmulPreferenceCreate(void **out) { ENTER("cublasLtMatmulPreferenceCreate"); return make(out, (struct object){PREFERENCE}); }
int cublasLtMatmulPreferenceDestroy(void *p) { return drop(p, PREFERENCE); }
int cublasLtMatmulPreferenceSetAttribute(void *p, int what, const void *value, size_t size) {
  ENTER("cublasLtMatmulPreferenceSetAttribute");
  struct object *o = p;
  if (!o || o->kind != PREFERENCE || what != 1 || size != 8) return 7;
  o->rows = *(const uint64_t *)value;
  return 0;
}
struct heuristic { uint64_t algo[8]; size_t workspace; int state; float waves; int reserved[4]; };
int cublasLtMatmulAlgoGetHeuristic(void *h, void *d, void *a, void *b, void *c, void *o, void *pref, int wanted, struct heuristic *out, int *found) {
  ENTER("cublasLtMatmulAlgoGetHeuristic");
  struct object *handle = h, *desc = d, *la = a, *lc = c;
  if (!handle || handle->kind != HANDLE || desc->kind != DESC || la->kind != LAYOUT || lc->kind != LAYOUT || ((struct object *)pref)->kind != PREFERENCE || wanted != 1) return 7;
  // Int8 on tensor cores wants the first matrix transposed.
  if (desc->a != 1 || desc->b != 0 || la->a != 3 || lc->a != 10) { *found = 0; return 15; }
  memset(out, 0, sizeof *out);
  out->algo[0] = 0x1234;
  out->workspace = 1 << 20;
  *found = 1;
  return 0;
}
static int wrong; // a library that computes wrongly
void fake_wrong(int on) { wrong = on; }
int cublasLtMatmul(void *h, void *d, const int32_t *alpha, uint64_t a, void *la, uint64_t b, void *lb, const int32_t *beta, uint64_t c, void *lc,
                   uint64_t out, void *lo, const uint64_t *algo, uint64_t workspace, size_t bytes, void *stream) {
  ENTER("cublasLtMatmul");
  struct object *x = la, *y = lb, *z = lo;
  if (((struct object *)h)->kind != HANDLE || ((struct object *)d)->kind != DESC || !current() || algo[0] != 0x1234 || stream || *alpha != 1 || *beta != 0 || c != out ||
      x->kind != LAYOUT || y->kind != LAYOUT || z->kind != LAYOUT || x->a != 3 || y->a != 3 || z->a != 10 || lc != lo || !resolve(workspace, bytes))
    return 7;
  uint64_t inner = x->rows, n = x->cols, rows = y->cols;
  int8_t *pa = (int8_t *)resolve(a, inner * n), *pb = (int8_t *)resolve(b, inner * rows);
  int32_t *pc = (int32_t *)resolve(out, 4 * n * rows);
  if (!pa || !pb || !pc || y->rows != inner || z->rows != n || z->cols != rows || x->ld != (int64_t)inner || y->ld != (int64_t)inner || z->ld != (int64_t)n) return 13;
  // Column-major: out[i + j·n] = Σ a[k + i·inner]·b[k + j·inner], the first matrix being transposed.
  for (uint64_t j = 0; j < rows; j++)
    for (uint64_t i = 0; i < n; i++) {
      int32_t s = 0;
      for (uint64_t k = 0; k < inner; k++) s += pa[k + i * inner] * pb[k + j * inner];
      pc[i + j * n] = s + wrong;
    }
  return 0;
}
