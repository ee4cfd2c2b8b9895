package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/gantry-market/gantry/sdk/chain"
)

const (
	gib = 1 << 30
	// Below these an image of a usual framework (10 to 20 GiB) or its download does not fit.
	diskError, diskWarning = 5 * gib, 50 * gib
	// Memory for the agent itself, and for a small job beside it.
	memoryError, memoryWarning = gib, 4 * gib
)

func checkDisk(_ context.Context, m *Machine) Finding {
	// The folder may be still to be made.
	folder := m.Config.DataDir
	for folder != filepath.Dir(folder) {
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		folder = filepath.Dir(folder)
	}
	left, err := m.Free(folder)
	fix := "sudo apt-get clean; sudo du -xh --max-depth=2 " + folder + " | sort -h | tail"
	switch text := fmt.Sprintf("%d GiB free at %s", left/gib, folder); {
	case err != nil:
		return bad("df -h "+folder, "free space unknown: %v", err)
	case left < diskError:
		return bad(fix, "%s; images and jobs do not fit", text)
	case left < diskWarning:
		return poor(fix, "%s; large images do not fit", text)
	default:
		return good("%s", text)
	}
}

func checkMemory(_ context.Context, m *Machine) Finding {
	const fix = "ps -eo pid,user,rss,args --sort=-rss | head"
	raw, err := os.ReadFile(m.path("/proc/meminfo"))
	if err != nil {
		return bad("mount | grep proc", "memory unknown: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "MemAvailable:" {
			continue
		}
		kib, err := strconv.ParseUint(f[1], 10, 54)
		if err != nil {
			break
		}
		switch left, text := kib<<10, fmt.Sprintf("%.1f GiB of memory available", float64(kib)/(1<<20)); {
		case left < memoryError:
			return bad(fix, "%s; the agent may be ended by the kernel", text)
		case left < memoryWarning:
			return poor(fix, "%s; little is left for jobs", text)
		default:
			return good("%s", text)
		}
	}
	return bad("cat /proc/meminfo", "memory unknown: /proc/meminfo names no MemAvailable")
}

// owned judges who may read or change a path.
func (m *Machine) owned(path string, info fs.FileInfo, forbidden fs.FileMode, mode string) (Finding, bool) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != m.UID {
		return bad(fmt.Sprintf("sudo chown %d %s", m.UID, path), "%s belongs to user %d, the agent runs as %d", path, st.Uid, m.UID), true
	}
	if info.Mode().Perm()&forbidden != 0 {
		return bad("sudo chmod "+mode+" "+path, "%s has mode %04o; others may use it", path, info.Mode().Perm()), true
	}
	return Finding{}, false
}

const initCommand = "sudo gantry-agent init --url URL --keypair provider.json"

func checkDataFolder(_ context.Context, m *Machine) Finding {
	path := m.Config.DataDir
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bad(initCommand, "the data folder %s does not exist", path)
	case err != nil:
		return bad("sudo ls -ld "+path, "the data folder cannot be used: %v", err)
	case !info.IsDir():
		return bad("sudo mv "+path+" "+path+".old && "+initCommand, "%s is not a folder", path)
	}
	if f, wrong := m.owned(path, info, 0o022, "700"); wrong {
		return f
	}
	return good("%s", path)
}

func checkNodeKey(_ context.Context, m *Machine) Finding {
	path := m.Config.NodeKey
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bad(initCommand, "the machine's key %s does not exist", path)
	case err != nil:
		return bad("sudo ls -l "+path, "the machine's key cannot be used: %v", err)
	}
	if f, wrong := m.owned(path, info, 0o077, "600"); wrong {
		return f
	}
	key, err := chain.LoadKeypair(path)
	if err != nil {
		return bad("sudo mv "+path+" "+path+".old && "+initCommand, "the machine's key cannot be read: %v", err)
	}
	return good("%s at %s", key.PublicKey(), path)
}
