package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
)

// record is what is kept of a pod, in a file of its own. It is written before an order is sent, so that a provider that was
// killed continues the purchase, also when a Secret has changed since.
type record struct {
	// Pod is as it was handed over, with the values of its environment and its last status.
	Pod *corev1.Pod `json:"pod"`
	// Attempt counts the leases that the pod has had before.
	Attempt int `json:"attempt"`
	// Request is the order of this attempt, as it is sent; nil before.
	Request *market.OrderRequest `json:"request,omitempty"`
	// Sent: an order may be under way.
	Sent bool `json:"sent,omitempty"`
	// Lease is what was bought; empty before. Its cost counts for Spent once it is over.
	Lease string `json:"lease,omitempty"`
	// Started: the job was seen to run.
	Started bool `json:"started,omitempty"`
	// EndSeen is when the lease was first seen to be over; zero before.
	EndSeen time.Time `json:"endSeen,omitzero"`
	// Spent is what earlier leases of the pod have cost at most, in millionths of a USDC.
	Spent int64 `json:"spent,omitempty"`
	// NotBefore is when a further attempt may begin.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Deleted: the pod is to end. Done: it is over, and only its status and its output are kept.
	Deleted bool `json:"deleted,omitempty"`
	Done    bool `json:"done,omitempty"`
}

// key names the purchase of the pod's present attempt.
func (r *record) key() string { return fmt.Sprintf("k8s-%s-%d", r.Pod.UID, r.Attempt) }

// clone is a copy that nobody else changes.
func (r *record) clone() record {
	c := *r
	c.Pod = r.Pod.DeepCopy()
	return c
}

// store keeps records and outputs in a folder, which only its owner can read: environments have secrets.
type store struct{ dir string }

func openStore(dir string) (store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return store{}, fmt.Errorf("folder of pods: %w", err)
	}
	return store{dir}, nil
}

func (s store) path(uid types.UID, ending string) string {
	return filepath.Join(s.dir, filepath.Base(string(uid))+ending)
}

// put writes a record whole or not at all.
func (s store) put(r *record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record of pod %s: %w", r.Pod.Name, err)
	}
	return s.write(s.path(r.Pod.UID, recordEnding), raw)
}

const (
	recordEnding   = ".json"
	outputEnding   = ".log"
	previousEnding = ".previous.log"
)

func (s store) write(path string, raw []byte) (err error) {
	f, err := os.CreateTemp(s.dir, ".new-*")
	if err != nil {
		return fmt.Errorf("folder of pods: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("folder of pods: %w", err)
		}
	}()
	_, err = f.Write(raw)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// all are the records of the folder.
func (s store) all() ([]record, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("folder of pods: %w", err)
	}
	var out []record
	for _, e := range entries {
		if filepath.Ext(e.Name()) != recordEnding || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(s.dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("folder of pods: %w", err)
		}
		var r record
		if err := json.Unmarshal(raw, &r); err != nil || r.Pod == nil || r.Pod.UID == "" {
			return nil, fmt.Errorf("folder of pods: %s is not the record of a pod: put a copy from a backup there, or remove it and end the lease of its pod by hand", e.Name())
		}
		out = append(out, r)
	}
	return out, nil
}

// remove forgets a pod.
func (s store) remove(uid types.UID) error {
	for _, ending := range []string{recordEnding, outputEnding, previousEnding} {
		if err := os.Remove(s.path(uid, ending)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("folder of pods: %w", err)
		}
	}
	return nil
}

// putOutput keeps the end of an output. That of the attempt before becomes the previous one.
func (s store) putOutput(uid types.UID, text string) error {
	last := s.path(uid, outputEnding)
	if err := os.Rename(last, s.path(uid, previousEnding)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("folder of pods: %w", err)
	}
	return s.write(last, []byte(text))
}

// output is what putOutput has kept. Error: fs.ErrNotExist.
func (s store) output(uid types.UID, ending string) (string, error) {
	raw, err := os.ReadFile(s.path(uid, ending))
	return string(raw), err
}
