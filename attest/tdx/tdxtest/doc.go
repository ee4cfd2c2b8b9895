// Package tdxtest makes TDX evidence for tests: quotes with any content, signed over a made-up quoting enclave and a
// made-up Intel, and the collateral that such an Intel would publish. Keys are drawn anew for each platform; the pinned
// root of package tdx refuses all of it.
package tdxtest
