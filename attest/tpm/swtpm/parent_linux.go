package swtpm

import "syscall"

// endsWithParent has the kernel end the TPM when the process that started it dies without closing it.
func endsWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
