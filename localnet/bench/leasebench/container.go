package leasebench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/images"
	"github.com/gantry-market/gantry/localnet/network"
)

// containers measures from the start of a job by the agent's runtime to its first output.
func (b *measuring) containers(ctx context.Context) (Row, error) {
	row := Row{What: "the container", Unit: "s"}
	agent, err := network.Binary("gantry-agent")
	if err != nil {
		return row, err
	}
	dir := filepath.Join(b.n.Dir(), "alone")
	if err := os.RemoveAll(dir); err != nil {
		return row, err
	}
	p, err := runtime.NewProcess(ctx, runtime.ProcessOptions{
		Root: filepath.Join(dir, "jobs"), Executable: agent, Log: b.o.Log,
		Cluster: runtime.Cluster{GenesisHash: b.n.State().Genesis, Endpoints: []string{b.n.At.RPC}},
		Sandbox: runtime.Sandbox{Runsc: config.Config{}.FindRunsc(), Images: filepath.Join(dir, "images")},
	})
	if err != nil {
		return row, err
	}
	for i := range b.o.Runs + 1 {
		b.say("container %d of %d", i, b.o.Runs)
		took, err := firstByte(ctx, p, runtime.Spec{
			LeaseID: fmt.Sprintf("bench%d", i), Image: b.digested, Command: []string{"echo", "the first line"},
			Limits: runtime.Limits{CPUs: 1, MemoryMiB: 512, DiskMiB: 256},
		})
		if err != nil {
			return row, err
		}
		if i > 0 { // the first one fetches the image
			row.Values = append(row.Values, took.Seconds())
		}
	}
	return row, nil
}

func firstByte(ctx context.Context, p *runtime.Process, spec runtime.Spec) (time.Duration, error) {
	began := time.Now()
	if _, err := p.Start(ctx, spec); err != nil {
		return 0, err
	}
	out, err := p.Logs(ctx, spec.LeaseID, runtime.Stdout, 0, true)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		return 0, fmt.Errorf("the container's output: %w", err)
	}
	took := time.Since(began)
	if _, err := p.Stop(ctx, spec.LeaseID, 0); err != nil {
		return 0, err
	}
	for { // its supervisor takes a moment to end
		err := p.Remove(ctx, spec.LeaseID)
		if !errors.Is(err, runtime.ErrRunning) {
			return took, err
		}
		if wait.For(ctx, 10*time.Millisecond) != nil {
			return 0, ctx.Err()
		}
	}
}

// pulls measures how long a large image takes to fetch and unpack, and to be found.
func (b *measuring) pulls(ctx context.Context) error {
	content := make([]byte, imageMB*1_000_000)
	_, _ = rand.Read(content) // never fails
	_, digested, _, err := images.Push(ctx, b.n.Registry(), "bench/large", []images.File{{Path: "large", Content: content}})
	if err != nil {
		return err
	}
	ref, err := image.Parse(digested)
	if err != nil {
		return err
	}
	rows := []Row{{What: "fetched and unpacked", Unit: "s"}, {What: "the second time", Unit: "s"}}
	dir := filepath.Join(b.n.Dir(), "pulled")
	for i := range b.o.Runs {
		b.say("pull %d of %d", i+1, b.o.Runs)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		store, err := image.Open(dir, image.Options{LocalRegistries: true})
		if err != nil {
			return err
		}
		for k := range rows {
			began := time.Now()
			if _, err := store.Pull(ctx, ref, image.PullOptions{Limit: 1 << 40}); err != nil {
				return err
			}
			rows[k].Values = append(rows[k].Values, time.Since(began).Seconds())
		}
	}
	b.result.Tables = append(b.result.Tables, Table{Title: fmt.Sprintf("Image of %d MB", imageMB), Rows: rows})
	return os.RemoveAll(dir)
}
