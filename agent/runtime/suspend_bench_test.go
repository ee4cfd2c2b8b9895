package runtime

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/sdk/messages"
)

// BenchmarkSuspend suspends a container that holds memory of random bytes, restores it on another machine, and lets it go on.
// The bucket is on loopback, in memory.
func BenchmarkSuspend(b *testing.B) {
	runsc, err := exec.LookPath("runsc")
	if err != nil || os.Geteuid() != 0 || CheckVolumes() != nil {
		b.Skip("SKIPPED: it takes root, runsc and encrypted volumes")
	}
	machine := func() *Process {
		o := options(b.TempDir())
		o.Sandbox = Sandbox{Runsc: runsc, Images: b.TempDir()}
		p, err := NewProcess(b.Context(), o)
		require.NoError(b, err)
		return p
	}
	reference := jobImage(b)
	for _, mebibytes := range []int{64, 256, 1024} {
		b.Run(fmt.Sprintf("%dMiB", mebibytes), func(b *testing.B) {
			for i := range b.N {
				suspendOnce(b, machine(), machine(), reference, mebibytes, i)
			}
		})
	}
}

func suspendOnce(b *testing.B, p, other *Process, reference string, mebibytes, round int) {
	s := s3test.Start(b, nil)
	backup := s.Backup(backupKey())
	spec := Spec{
		LeaseID: fmt.Sprintf("first%d", round), Image: reference, Command: []string{"random=" + strconv.Itoa(mebibytes), "live=/mnt/data"}, VolumeKey: make(VolumeKey, messages.VolumeKeyBytes),
		Volume: &messages.Volume{Name: "data", MiB: 32, Path: "/mnt/data"}, Backup: &backup, Limits: Limits{DiskMiB: 64, MemoryMiB: uint64(mebibytes) + 512, Wall: 30 * time.Minute},
	}
	said := func(p *Process, lease, text string) {
		for {
			raw, _ := os.ReadFile(leaseDir(p.root + "/" + lease).log(Output))
			if strings.Contains(string(raw), text) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	_, err := p.Start(b.Context(), spec)
	require.NoError(b, err)
	said(p, spec.LeaseID, "live ")
	begin := time.Now()
	lap := func(name string) {
		b.ReportMetric(time.Since(begin).Seconds(), name)
		begin = time.Now()
	}
	var made Suspension
	for made.Hash == "" {
		made, err = p.Suspend(b.Context(), spec.LeaseID, "one")
		require.NoError(b, err)
		require.Empty(b, made.Error)
		time.Sleep(10 * time.Millisecond)
	}
	_, err = p.Wait(b.Context(), spec.LeaseID)
	require.NoError(b, err)
	lap("s-suspend")
	var bytes int
	for _, content := range s.Objects(b) {
		bytes += len(content)
	}
	b.ReportMetric(float64(bytes)/(1<<20), "MiB-bucket")
	next := spec
	from := backup
	from.From = hashOf(b, made.Hash)
	next.LeaseID, next.Backup = fmt.Sprintf("second%d", round), &from
	require.NoError(b, other.Prepare(b.Context(), next, Pull{}))
	begin = time.Now()
	require.NoError(b, other.Fill(b.Context(), next))
	lap("s-restore")
	before, err := os.ReadFile(leaseDir(other.root + "/" + next.LeaseID).log(Output))
	require.NoError(b, err)
	begin = time.Now()
	_, err = other.Start(b.Context(), next)
	require.NoError(b, err)
	for {
		raw, _ := os.ReadFile(leaseDir(other.root + "/" + next.LeaseID).log(Output))
		if len(raw) > len(before) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	lap("s-go-on")
	_, err = other.Stop(b.Context(), next.LeaseID, 0)
	require.NoError(b, err)
}
