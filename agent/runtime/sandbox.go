package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/gantry-market/gantry/agent/image"
)

// Sandbox is what jobs with an image need. The zero value runs none.
type Sandbox struct {
	// Runsc is the path of gVisor's runtime.
	Runsc string
	// Images is the folder of [image.Store].
	Images string
	// ImageBytes is the most that the files of one image may have together; 0 means 64 GiB.
	ImageBytes int64
}

const defaultImageBytes = 64 << 30

// check says why images cannot be run, or nothing.
func (s Sandbox) check() error {
	switch {
	case s.Runsc == "":
		return fmt.Errorf("%w: it has no runsc; order without an image, or from another node", ErrImage)
	case os.Geteuid() != 0:
		return fmt.Errorf("%w: its agent does not run as root; order without an image, or from another node", ErrImage)
	}
	return nil
}

// container is what a lease's directory says of its image once that was pulled.
type container struct {
	Runsc  string      `json:"runsc"`
	Layers string      `json:"layers"`
	Image  image.Image `json:"image"`
}

// pullRequest is what the process that pulls is told.
type pullRequest struct {
	Image   string  `json:"image"`
	Sandbox Sandbox `json:"sandbox"`
}

// Prepare implements [Runtime]. A process of its own pulls, because it reads archives of strangers as root.
func (p *Process) Prepare(ctx context.Context, spec Spec) error {
	if err := p.Check(spec); err != nil || spec.Image == "" {
		return err
	}
	d, err := p.dir(spec.LeaseID)
	if err != nil {
		return err
	}
	if d.exists(d.container()) {
		return nil
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	raw, err := json.Marshal(pullRequest{Image: spec.Image, Sandbox: p.sandbox})
	if err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	cmd := exec.CommandContext(ctx, p.exe, InternalCommand, stagePull, string(d))
	cmd.Args[0] = "gantry-agent"
	cmd.Env = []string{}
	cmd.Stdin = bytes.NewReader(raw)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("runtime: pull %s: %w", spec.Image, ctx.Err())
	case err != nil:
		return fmt.Errorf("%w: %s", ErrPull, strings.TrimSpace(string(out[max(0, len(out)-500):])))
	}
	return nil
}

// pull is the process that Prepare starts.
func pull(dir leaseDir) error {
	var r pullRequest
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	ref, err := image.Parse(r.Image)
	if err != nil {
		return err
	}
	store, err := image.Open(r.Sandbox.Images)
	if err != nil {
		return err
	}
	limit := r.Sandbox.ImageBytes
	if limit == 0 {
		limit = defaultImageBytes
	}
	img, err := store.Pull(context.Background(), ref, limit)
	if err != nil {
		return err
	}
	return dir.write(dir.container(), container{Runsc: r.Sandbox.Runsc, Layers: store.Layers(), Image: img})
}

// readContainer reads what pull has written.
func readContainer(dir leaseDir) (container, error) {
	var c container
	ok, err := readJSON(dir.container(), &c)
	if err == nil && !ok {
		err = errors.New("runtime: the image was not pulled")
	}
	return c, err
}
