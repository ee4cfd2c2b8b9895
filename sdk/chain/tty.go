//go:build !windows

package chain

import "os"

// openTerminal opens the terminal that this process belongs to. in and out are one file.
func openTerminal() (in, out *os.File, err error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	return tty, tty, err
}
