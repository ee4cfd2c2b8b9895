//go:build !linux

package swtpm

import "syscall"

// endsWithParent: only Linux can end the TPM when the process that started it dies without closing it.
func endsWithParent() *syscall.SysProcAttr { return nil }
