package bundle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/gantry-market/gantry/attest"
)

const (
	tag          = "GANTRYE1" // of a bundle
	signatureTag = "GANTRYN1" // of what the node signs
	fixedLen     = 288
)

// Encode returns the one encoding of the bundle. Error: attest.ErrMalformed when order or limits are not kept.
func (b *Bundle) Encode() ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	size := fixedLen
	for _, e := range b.Evidence {
		for _, i := range e.Items {
			size += len(i.Data)
		}
	}
	for _, c := range b.Collateral {
		size += len(c.Data)
	}
	if size > MaxSize {
		return nil, fmt.Errorf("bundle of more than %d bytes, at most %d: %w", size, MaxSize, attest.ErrMalformed)
	}
	var out bytes.Buffer
	out.Grow(size + 4096)
	b.writeHead(&out)
	for _, c := range b.Collateral {
		out.Write(c.Data)
	}
	if out.Len() > MaxSize {
		return nil, fmt.Errorf("bundle of %d bytes, at most %d: %w", out.Len(), MaxSize, attest.ErrMalformed)
	}
	return out.Bytes(), nil
}

// Digest is sha256 of the head: what goes on chain. Error: attest.ErrMalformed.
func (b *Bundle) Digest() ([32]byte, error) {
	if err := b.check(); err != nil {
		return [32]byte{}, err
	}
	h := sha256.New()
	b.writeHead(h)
	return [32]byte(h.Sum(nil)), nil
}

// Head is the encoding without the data of collateral, which it names by size and hash. Bundles of machines with the same
// drivers have most of their collateral in common: who keeps many of them keeps it once. Error: attest.ErrMalformed.
func (b *Bundle) Head() ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	b.writeHead(&out)
	return out.Bytes(), nil
}

// Join puts a head and its collateral together to the bundle's encoding. get returns the item with a sha256. Errors:
// attest.ErrMalformed, and those of get.
func Join(head []byte, get func(sum [32]byte) ([]byte, error)) ([]byte, error) {
	r := &reader{rest: head}
	_, refs, err := r.head()
	if err != nil {
		return nil, err
	}
	if len(r.rest) != 0 {
		return nil, fmt.Errorf("%d bytes after the head: %w", len(r.rest), attest.ErrMalformed)
	}
	out := bytes.Clone(head)
	for _, ref := range refs {
		data, err := get(ref.sum)
		if err != nil {
			return nil, fmt.Errorf("collateral %.80q: %w", ref.key, err)
		}
		if err := ref.check(data); err != nil {
			return nil, err
		}
		out = append(out, data...)
	}
	return out, nil
}

// writeHead writes to a hash or a buffer, neither of which fails. A bundle is hashed several times when it is judged, and
// copied for none of them.
func (b *Bundle) writeHead(w io.Writer) {
	le := binary.LittleEndian
	out := make([]byte, 0, fixedLen)
	out = append(out, tag...)
	out = le.AppendUint16(out, Version)
	out = le.AppendUint16(out, 0)
	c := b.Challenge
	for _, part := range [][32]byte{c.GenesisHash, c.Program, c.ID, c.Node, c.NodeKey, c.SlotHash} {
		out = append(out, part[:]...)
	}
	out = le.AppendUint64(out, uint64(c.Expiry))
	out = le.AppendUint64(out, uint64(b.Created))
	out = append(out, b.Signature[:]...)
	out = le.AppendUint16(out, uint16(len(b.Evidence)))
	out = le.AppendUint16(out, uint16(len(b.Collateral)))
	_, _ = w.Write(out)
	for _, e := range b.Evidence {
		writeEvidence(w, e)
	}
	for _, c := range b.Collateral {
		out = append(out[:0], byte(len(c.Key)))
		out = append(out, c.Key...)
		out = le.AppendUint32(out, uint32(len(c.Data)))
		sum := sha256.Sum256(c.Data)
		_, _ = w.Write(append(out, sum[:]...))
	}
}

func writeEvidence(w io.Writer, e attest.Evidence) {
	le := binary.LittleEndian
	out := make([]byte, 0, fixedLen)
	out = le.AppendUint16(out, uint16(e.Kind))
	out = le.AppendUint16(out, e.Instance)
	out = le.AppendUint16(out, uint16(len(e.Items)))
	for _, i := range e.Items {
		out = append(out, byte(len(i.Name)))
		out = append(out, i.Name...)
		out = le.AppendUint32(out, uint32(len(i.Data)))
		_, _ = w.Write(out)
		_, _ = w.Write(i.Data)
		out = out[:0]
	}
}

// check holds everything against the limits and the order of the format.
func (b *Bundle) check() error {
	if len(b.Evidence) == 0 {
		return fmt.Errorf("bundle without evidence: %w", attest.ErrMalformed)
	}
	if err := checkEvidence(b.Evidence); err != nil {
		return err
	}
	if len(b.Collateral) > MaxCollateral {
		return fmt.Errorf("%d items of collateral, at most %d: %w", len(b.Collateral), MaxCollateral, attest.ErrMalformed)
	}
	for i, c := range b.Collateral {
		if !validKey(c.Key) {
			return fmt.Errorf("collateral key %.80q: %w", c.Key, attest.ErrMalformed)
		}
		if len(c.Data) > MaxItem {
			return fmt.Errorf("collateral %q of %d bytes, at most %d: %w", c.Key, len(c.Data), MaxItem, attest.ErrMalformed)
		}
		if i > 0 && cmp.Compare(b.Collateral[i-1].Key, c.Key) >= 0 {
			return fmt.Errorf("collateral %q is a duplicate or out of order: %w", c.Key, attest.ErrMalformed)
		}
	}
	return nil
}

func checkEvidence(evidence []attest.Evidence) error {
	if len(evidence) > MaxEvidence {
		return fmt.Errorf("%d pieces of evidence, at most %d: %w", len(evidence), MaxEvidence, attest.ErrMalformed)
	}
	for i, e := range evidence {
		if i > 0 && compareEvidence(evidence[i-1], e) >= 0 {
			return fmt.Errorf("%s %d is a duplicate or out of order: %w", e.Kind, e.Instance, attest.ErrMalformed)
		}
		if err := checkPiece(e); err != nil {
			return err
		}
	}
	return nil
}

func checkPiece(e attest.Evidence) error {
	if !e.Kind.Known() {
		return fmt.Errorf("evidence of unknown %s: %w", e.Kind, attest.ErrMalformed)
	}
	if len(e.Items) == 0 || len(e.Items) > MaxItems {
		return fmt.Errorf("%s %d has %d items, must be 1 to %d: %w", e.Kind, e.Instance, len(e.Items), MaxItems, attest.ErrMalformed)
	}
	for i, item := range e.Items {
		if !validName(item.Name) {
			return fmt.Errorf("%s %d: item name %.80q: %w", e.Kind, e.Instance, item.Name, attest.ErrMalformed)
		}
		if len(item.Data) > MaxItem {
			return fmt.Errorf("%s %d: %q of %d bytes, at most %d: %w", e.Kind, e.Instance, item.Name, len(item.Data), MaxItem, attest.ErrMalformed)
		}
		if i > 0 && cmp.Compare(e.Items[i-1].Name, item.Name) >= 0 {
			return fmt.Errorf("%s %d: item %q is a duplicate or out of order: %w", e.Kind, e.Instance, item.Name, attest.ErrMalformed)
		}
	}
	return nil
}

func validName(s string) bool {
	return len(s) >= 1 && len(s) <= maxName && !slices.ContainsFunc([]byte(s), func(c byte) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
	})
}

func validKey(s string) bool {
	return len(s) >= 1 && len(s) <= maxKey && !slices.ContainsFunc([]byte(s), func(c byte) bool { return c <= ' ' || c > '~' })
}
