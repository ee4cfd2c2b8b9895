package screen

import (
	"os"

	"golang.org/x/sys/windows"
)

// drawable has a console obey control sequences. It reports whether it does: older ones cannot.
func drawable(f *os.File) bool {
	var mode uint32
	h := windows.Handle(f.Fd())
	return windows.GetConsoleMode(h, &mode) == nil && windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
