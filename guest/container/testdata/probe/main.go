// Command probe is the program of test containers. It says what it sees and what it may, on its standard output, and ends with status 7.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// report is what a container sees.
type report struct {
	UID, GID, PID int
	Host, Dir     string
	Args, Env     []string
	Status        map[string]string // of /proc/self/status
	Processes     int
	Interfaces    []string
	Devices       []string
	Resolv        string
	// Allowed are the deeds that the kernel did not refuse.
	Allowed []string
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "eat" {
		fmt.Println("cards:", cards())
		mib, _ := strconv.Atoi(os.Args[2])
		all := make([]byte, mib<<20)
		for i := 0; i < len(all); i += 4096 {
			all[i] = 1
		}
		fmt.Println("eaten", len(all))
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "nothing" {
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "wait" {
		fmt.Println("waiting")
		time.Sleep(time.Hour)
	}
	r := report{UID: os.Getuid(), GID: os.Getgid(), PID: os.Getpid(), Args: os.Args, Env: os.Environ(), Status: map[string]string{}}
	r.Host, _ = os.Hostname()
	r.Dir, _ = os.Getwd()
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		r.Status[name] = strings.TrimSpace(value)
	}
	files, _ := os.ReadDir("/proc")
	for _, f := range files {
		if _, err := strconv.Atoi(f.Name()); err == nil {
			r.Processes++
		}
	}
	r.Interfaces = cards()
	files, _ = os.ReadDir("/dev")
	for _, f := range files {
		r.Devices = append(r.Devices, f.Name())
	}
	resolv, _ := os.ReadFile("/etc/resolv.conf")
	r.Resolv = string(resolv)
	for name, deed := range map[string]func() error{
		"mount":              func() error { return syscall.Mount("tmpfs", "/tmp", "tmpfs", 0, "") },
		"make a device":      func() error { return syscall.Mknod("/tmp/tpm", syscall.S_IFCHR|0o600, 10<<8|224) },
		"set a kernel value": func() error { return os.WriteFile("/proc/sys/kernel/core_pattern", []byte("|/tmp/x"), 0) },
		"ask for a reset":    func() error { return os.WriteFile("/proc/sysrq-trigger", []byte("h"), 0) },
		"reboot":             func() error { return syscall.Reboot(syscall.LINUX_REBOOT_CMD_CAD_OFF) },
		"change the host":    func() error { return syscall.Sethostname([]byte("x")) },
		"raw socket": func() error {
			_, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_RAW, syscall.IPPROTO_ICMP)
			return err
		},
		"user namespace": func() error {
			cmd := exec.Command("/proc/self/exe", "nothing")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
			return cmd.Run()
		},
		"io_uring": func() error {
			const setup = 425
			var params [128]byte
			if _, _, errno := syscall.Syscall(setup, 8, uintptr(unsafe.Pointer(&params)), 0); errno != 0 {
				return errno
			}
			return nil
		},
		"write /sys":  func() error { return os.WriteFile("/sys/kernel/mm/transparent_hugepage/enabled", []byte("never"), 0) },
		"see kcore":   func() error { _, err := readSome("/proc/kcore"); return err },
		"write /tmp":  func() error { return os.WriteFile("/tmp/file", []byte("x"), 0o600) },
		"write a log": func() error { _, err := fmt.Fprintln(os.Stderr, "a word on the other output"); return err },
	} {
		if deed() == nil {
			r.Allowed = append(r.Allowed, name)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		os.Exit(1)
	}
	os.Exit(7)
}

// cards are the names of the network cards.
func cards() (names []string) {
	all, _ := net.Interfaces()
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// readSome reads a little of a file that must have something.
func readSome(path string) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Read(make([]byte, 16))
}
