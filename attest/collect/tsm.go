package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/tdx"
)

// TSMPath is where Linux 6.7 and later offer reports of confidential machines
// (Documentation/ABI/testing/configfs-tsm-report).
const TSMPath = "/sys/kernel/config/tsm/report"

// Providers that Linux names.
const (
	providerSNP = "sev_guest"
	providerTDX = "tdx_guest"
)

// Files is as much of a file system as the report interface needs. The kernel makes the files of an entry when its
// folder is made, which no other file system does.
type Files interface {
	Stat(path string) error
	Mkdir(path string) error
	Write(path string, data []byte) error
	Read(path string) ([]byte, error)
	Remove(path string) error
}

// OS is the machine's own file system.
type OS struct{}

// Stat implements Files.
func (OS) Stat(path string) error { _, err := os.Stat(path); return err }

// Mkdir implements Files.
func (OS) Mkdir(path string) error { return os.Mkdir(path, 0o700) }

// Write implements Files. The kernel takes an input in one write.
func (OS) Write(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Read implements Files.
func (OS) Read(path string) ([]byte, error) { return os.ReadFile(path) }

// Remove implements Files.
func (OS) Remove(path string) error { return os.Remove(path) }

// TSM asks a confidential machine's hardware for reports through configfs-tsm.
type TSM struct {
	// Path of the report interface; empty means TSMPath.
	Path string
	// Files; nil means the machine's own.
	Files Files
	// Entry is the name of the folder that is made for a report; empty means one with the process's id.
	Entry string
}

// maxTries is how often a report is asked for when another process writes into the entry.
const maxTries = 3

// Report returns the machine's evidence over 64 bytes: SEV-SNP or TDX, whichever it is. Error: attest.ErrAbsent where
// the machine is not confidential.
func (t TSM) Report(ctx context.Context, reportData [64]byte) (e attest.Evidence, err error) {
	if t.Path == "" {
		t.Path = TSMPath
	}
	if t.Files == nil {
		t.Files = OS{}
	}
	if t.Entry == "" {
		t.Entry = "gantry-" + strconv.Itoa(os.Getpid())
	}
	if err := t.Files.Stat(t.Path); errors.Is(err, fs.ErrNotExist) {
		return e, fmt.Errorf("no confidential virtual machine: there is no %s (SEV-SNP or TDX guests with Linux 6.7 have it): %w", t.Path, attest.ErrAbsent)
	} else if err != nil {
		return e, fmt.Errorf("TEE report: %w", err)
	}
	entry := filepath.Join(t.Path, t.Entry)
	err = t.Files.Mkdir(entry)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return e, fmt.Errorf("TEE report: %w (only root may ask for one)", err)
	case err != nil && !errors.Is(err, fs.ErrExist): // an entry that an earlier process left is used again
		return e, fmt.Errorf("no confidential virtual machine: the kernel makes no entry in %s (%w): %w", t.Path, err, attest.ErrAbsent)
	}
	defer func() { err = errors.Join(err, t.Files.Remove(entry)) }()
	for range maxTries {
		if err := ctx.Err(); err != nil {
			return e, err
		}
		provider, out, aux, changed, err := t.read(entry, reportData)
		if err != nil {
			return e, fmt.Errorf("TEE report: %w", err)
		}
		if changed {
			continue
		}
		switch provider {
		case providerSNP:
			return snp.FromTSM(out, aux)
		case providerTDX:
			return tdx.FromTSM(out)
		}
		return e, fmt.Errorf("reports of %q are not understood: %w", provider, attest.ErrAbsent)
	}
	return e, errors.New("TEE report: another process keeps writing into the entry")
}

// read writes the input and reads what comes of it. changed means that another writer came in between.
func (t TSM) read(entry string, reportData [64]byte) (provider string, out, aux []byte, changed bool, err error) {
	file := func(name string) string { return filepath.Join(entry, name) }
	before, err := t.generation(entry)
	if err != nil {
		return "", nil, nil, false, err
	}
	if err := t.Files.Write(file("inblob"), reportData[:]); err != nil {
		return "", nil, nil, false, err
	}
	raw, err := t.Files.Read(file("provider"))
	if err != nil {
		return "", nil, nil, false, err
	}
	provider = strings.TrimSpace(string(raw))
	if out, err = t.Files.Read(file("outblob")); err != nil {
		return "", nil, nil, false, err
	}
	if provider == providerSNP {
		if aux, err = t.Files.Read(file("auxblob")); err != nil {
			return "", nil, nil, false, err
		}
	}
	after, err := t.generation(entry)
	if err != nil {
		return "", nil, nil, false, err
	}
	return provider, out, aux, after != before+1, nil
}

func (t TSM) generation(entry string) (uint64, error) {
	raw, err := t.Files.Read(filepath.Join(entry, "generation"))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(string(bytes.TrimSpace(raw)), 10, 64)
}
