// Package cuda measures an NVIDIA GPU: it runs the kernels of package measure on it.
//
// It needs the driver's libcuda at run time and nothing at build time: the library is opened with dlopen (purego, no
// cgo), the kernels are PTX text that the driver compiles for the GPU at hand. Where libcublasLt is installed, products
// use it for the tensor cores; otherwise a dp4a kernel computes them, at a fraction of the speed. [Open] says plainly
// when there is no GPU: [attest.ErrAbsent].
//
// A [Device] does one thing at a time. Kernels cannot be interrupted; work is launched in pieces, and a context is
// looked at between them.
//
// The calls and kernels are tested against a library that imitates the driver and an interpreter of PTX. Nothing here
// has run on a GPU yet: see LIMITATIONS.md.
package cuda
