// Package registry is the local network's registry of images: that of go-containerregistry, which keeps blobs in a folder
// and manifests in memory. This package also keeps the manifests, so that images outlast the process.
package registry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	upstream "github.com/google/go-containerregistry/pkg/registry"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// maxManifest bounds a manifest, as the distribution project's registry does.
const maxManifest = 4 << 20

// Handler is a registry whose images are in a folder. It is safe for concurrent use.
type Handler struct {
	images http.Handler
	dir    string // of manifests

	mu   sync.Mutex
	next int // number of the next manifest's file
}

// manifest is a file: what was put where.
type manifest struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Body []byte `json:"body"`
}

// New opens the registry in a folder, which it makes. Error: a folder that cannot be used or was changed by somebody else.
func New(dir string) (*Handler, error) {
	blobs := filepath.Join(dir, "blobs")
	h := &Handler{dir: filepath.Join(dir, "manifests")}
	for _, d := range []string{blobs, h.dir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("registry: %w", err)
		}
	}
	h.images = upstream.New(upstream.WithBlobHandler(upstream.NewDiskBlobHandler(blobs)), upstream.Logger(log.New(io.Discard, "", 0)))
	if err := h.load(); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	if r.Method != http.MethodPut || len(parts) < 2 || parts[len(parts)-2] != "manifests" {
		h.images.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxManifest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := h.put(manifest{r.URL.Path, r.Header.Get("Content-Type"), body})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// put stores a manifest that the registry takes before anybody learns that.
func (h *Handler) put(m manifest) (*httptest.ResponseRecorder, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	answer := h.give(m)
	if answer.Code/100 != 2 {
		return answer, nil
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(filepath.Join(h.dir, strconv.Itoa(h.next)+".json"), raw); err != nil {
		return nil, err
	}
	h.next++
	return answer, nil
}

// give hands a manifest to the registry in memory.
func (h *Handler) give(m manifest) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPut, m.Path, bytes.NewReader(m.Body))
	req.Header.Set("Content-Type", m.Type)
	answer := httptest.NewRecorder()
	h.images.ServeHTTP(answer, req)
	return answer
}

// load gives the registry all manifests of the folder, in the order in which they came.
func (h *Handler) load() error {
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return err
	}
	var numbers []int
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimSuffix(e.Name(), ".json")); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		raw, err := os.ReadFile(filepath.Join(h.dir, strconv.Itoa(n)+".json"))
		if err != nil {
			return err
		}
		var m manifest
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("manifest %d: %w", n, err)
		}
		if answer := h.give(m); answer.Code/100 != 2 {
			return fmt.Errorf("manifest %d: %w", n, errors.New(cmp.Or(answer.Body.String(), http.StatusText(answer.Code))))
		}
		h.next = n + 1
	}
	return nil
}
