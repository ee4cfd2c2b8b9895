package attestation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
)

// MaxDocument is the largest document, bytes: what an order over HTTP has room for, whose fields say so too.
const MaxDocument = 192 << 10

// Document is a policy, and the certificates and lists that it needs: complete in itself, so that an order can carry it. In
// JSON it is {"policy": …, "collateral": {"KEY": "BASE64"}}, or the policy alone.
type Document struct {
	Policy     policy.Policy
	Collateral Collateral
}

// Collateral is collateral by its key.
type Collateral map[string][]byte

var _ attest.Collateral = Collateral(nil)

// Get implements [attest.Collateral].
func (c Collateral) Get(key string) ([]byte, error) {
	if data, ok := c[key]; ok {
		return bytes.Clone(data), nil
	}
	return nil, fmt.Errorf("%q is not with the policy: %w", key, attest.ErrNoCollateral)
}

// packed is a document's JSON.
type packed struct {
	Policy     json.RawMessage `json:"policy"`
	Collateral Collateral      `json:"collateral,omitempty"`
}

// ParseDocument reads a document. Error: a [service.Failure].
func ParseDocument(raw []byte) (Document, error) {
	d, err := parseDocument(raw)
	if err == nil {
		_, err = policy.Standard(d.Policy, d.Collateral, policy.Subject{})
	}
	if err != nil {
		return Document{}, service.Usage("the policy cannot be used: "+printable.Text(err.Error()), formOfPolicies)
	}
	return d, nil
}

func parseDocument(raw []byte) (d Document, err error) {
	if len(raw) > MaxDocument {
		return d, fmt.Errorf("it has %d bytes, at most %d are possible", len(raw), MaxDocument)
	}
	var probe map[string]json.RawMessage
	if err := json.Unmarshal(raw, &probe); err != nil {
		return d, fmt.Errorf("it is not JSON: %w", err)
	}
	if _, is := probe["policy"]; !is {
		d.Policy, err = policy.Parse(raw)
		return d, err
	}
	var p packed
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return d, err
	}
	d.Collateral = p.Collateral
	d.Policy, err = policy.Parse(p.Policy)
	return d, err
}

// ReadDocument reads a document from a file; - is standard input. What a folder has, named as docs/protocol/evidence.md
// says, is added; "" for none. Error: a [service.Failure].
func ReadDocument(file, folder string, stdin io.Reader) (Document, error) {
	raw, err := service.ReadInput(file, stdin, MaxDocument)
	if err != nil {
		return Document{}, err
	}
	d, err := parseDocument(raw)
	if err == nil && folder != "" {
		err = d.add(folder)
	}
	if err == nil {
		_, err = d.Encode()
	}
	if err == nil {
		_, err = policy.Standard(d.Policy, d.Collateral, policy.Subject{})
	}
	var f *service.Failure
	if err != nil && !errors.As(err, &f) {
		err = wrongPolicy(file, err, formOfPolicies)
	}
	return d, err
}

// add takes the files of a folder.
func (d *Document) add(folder string) error {
	if _, err := Folder(folder); err != nil {
		return err
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	all := Collateral{}
	for key, data := range d.Collateral {
		all[key] = data
	}
	for _, f := range files {
		key, err := url.PathUnescape(f.Name())
		if err != nil || !f.Type().IsRegular() {
			continue
		}
		if all[key], err = service.ReadFile(filepath.Join(folder, f.Name()), MaxDocument); err != nil {
			return err
		}
	}
	d.Collateral = all
	return nil
}

// Encode is the document in one line of JSON.
func (d Document) Encode() ([]byte, error) {
	p, err := d.Policy.Encode()
	if err != nil || len(d.Collateral) == 0 {
		return p, err
	}
	raw, err := json.Marshal(packed{p, d.Collateral})
	if err == nil && len(raw) > MaxDocument {
		err = fmt.Errorf("policy and collateral have %d bytes, at most %d are possible: leave out of the folder what it does not need", len(raw), MaxDocument)
	}
	return raw, err
}
