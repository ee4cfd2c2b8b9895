package nvgpu

import (
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/beevik/etree"
)

const (
	// MaxRIMSize is a reference manifest's largest size in bytes; those of Hopper have 20 KiB.
	MaxRIMSize = 128 << 10

	nsSWID   = "http://standards.iso.org/iso/19770/-2/2015/schema.xsd"
	nsSHA384 = "http://www.w3.org/2001/04/xmlenc#sha384"

	maxGolden       = 256
	maxAlternatives = 16
)

// Golden is a reference measurement.
type Golden struct {
	// Index counts from 0: it speaks of the report's block with the index one higher.
	Index uint8
	Name  string
	// Active is false for entries that say nothing.
	Active bool
	// Values are the values that are all right.
	Values [][]byte
}

// RIM is a verified reference manifest (TCG RIM in a SWID tag) of a driver or a VBIOS.
type RIM struct {
	// Version is that of the driver or the VBIOS, as the manifest writes it.
	Version string
	// Product is the chip: "GH100".
	Product string
	// Golden are all entries, by ascending index.
	Golden []Golden
	// Signers is the chain that signed it, leaf first.
	Signers []*x509.Certificate
}

// VerifyRIM reads a manifest and verifies its signature and its signers' chain to the root at a time. All of what it
// returns is from the element that the signature covers. The accepted form is the one that NVIDIA's manifests have, and
// nothing near it: see [signedElement].
func (r Roots) VerifyRIM(data []byte, now time.Time) (*RIM, error) {
	return r.verifyRIM(data, now, &seen{})
}

func (r Roots) verifyRIM(data []byte, now time.Time, known *seen) (*RIM, error) {
	roots, err := r.resolve()
	if err != nil {
		return nil, err
	}
	element, signers, err := signedElement(data, roots.RIM, now, known)
	if err != nil {
		return nil, err
	}
	rim, err := parseSWID(element)
	if err != nil {
		return nil, err
	}
	rim.Signers = signers
	return rim, nil
}

// parseSWID reads the signed element.
func parseSWID(root *etree.Element) (*RIM, error) {
	if root.Tag != "SoftwareIdentity" || root.NamespaceURI() != nsSWID {
		return nil, malformed("manifest", "element %.64q, want SoftwareIdentity", root.Tag)
	}
	meta, err := onlyChild(root, "Meta")
	if err != nil {
		return nil, err
	}
	payload, err := onlyChild(root, "Payload")
	if err != nil {
		return nil, err
	}
	rim := &RIM{}
	if rim.Version, err = attribute(meta, "", "colloquialVersion"); err != nil {
		return nil, err
	}
	if rim.Product, err = attribute(meta, "", "product"); err != nil {
		return nil, err
	}
	for _, e := range payload.ChildElements() {
		if len(rim.Golden) == maxGolden {
			return nil, malformed("manifest", "more than %d measurements", maxGolden)
		}
		g, err := parseGolden(e)
		if err != nil {
			return nil, err
		}
		if n := len(rim.Golden); n > 0 && g.Index <= rim.Golden[n-1].Index {
			return nil, malformed("manifest", "measurement index %d out of order or repeated", g.Index)
		}
		rim.Golden = append(rim.Golden, g)
	}
	if rim.active() == 0 {
		return nil, malformed("manifest", "no active measurement")
	}
	return rim, nil
}

func (r *RIM) active() int {
	n := 0
	for _, g := range r.Golden {
		if g.Active {
			n++
		}
	}
	return n
}

func parseGolden(e *etree.Element) (Golden, error) {
	if e.Tag != "Resource" || e.NamespaceURI() != nsSWID {
		return Golden{}, malformed("manifest", "element %.64q in the payload", e.Tag)
	}
	var g Golden
	fields := map[string]string{}
	for _, key := range []string{"type", "index", "active", "alternatives", "name", "size"} {
		v, err := attribute(e, "", key)
		if err != nil {
			return g, err
		}
		fields[key] = v
	}
	index, err := strconv.ParseUint(fields["index"], 10, 8)
	if err != nil || fields["index"] != strconv.FormatUint(index, 10) || index >= 255 || fields["type"] != "Measurement" {
		return g, malformed("manifest", "a %.32q with index %.32q", fields["type"], fields["index"])
	}
	g.Index, g.Name = uint8(index), fields["name"]
	switch fields["active"] {
	case "True":
		g.Active = true
	case "False":
	default:
		return g, malformed("manifest", "measurement %d is active=%.32q", index, fields["active"])
	}
	count, err := strconv.Atoi(fields["alternatives"])
	if err != nil || count < 1 || count > maxAlternatives {
		return g, malformed("manifest", "measurement %d has %.32q alternatives", index, fields["alternatives"])
	}
	size, err := strconv.Atoi(fields["size"])
	if err != nil || size < 1 || size > maxValueSize {
		return g, malformed("manifest", "measurement %d of size %.32q", index, fields["size"])
	}
	for i := range count {
		v, err := attribute(e, nsSHA384, fmt.Sprintf("Hash%d", i))
		if err != nil {
			return g, err
		}
		b, err := hex.DecodeString(v)
		if g.Active && (err != nil || len(b) != size) {
			return g, malformed("manifest", "measurement %d, alternative %d: not %d bytes in hexadecimal", index, i, size)
		}
		g.Values = append(g.Values, b)
	}
	return g, hashCount(e, count)
}

// hashCount refuses values beyond the number that the entry announces.
func hashCount(e *etree.Element, want int) error {
	n := 0
	for i := range e.Attr {
		if strings.HasPrefix(e.Attr[i].Key, "Hash") {
			n++
		}
	}
	if n != want {
		return malformed("manifest", "%d values for %d alternatives", n, want)
	}
	return nil
}

// onlyChild returns the one child of that name in the SWID namespace.
func onlyChild(e *etree.Element, tag string) (*etree.Element, error) {
	var found *etree.Element
	for _, c := range e.ChildElements() {
		if c.Tag != tag || c.NamespaceURI() != nsSWID {
			continue
		}
		if found != nil {
			return nil, malformed("manifest", "more than one %s", tag)
		}
		found = c
	}
	if found == nil {
		return nil, malformed("manifest", "no %s", tag)
	}
	return found, nil
}

// attribute returns the one attribute of that name, "" being no namespace.
func attribute(e *etree.Element, namespace, key string) (string, error) {
	value, n := "", 0
	for i := range e.Attr {
		a := &e.Attr[i]
		if a.Key == key && (a.Space == "" && namespace == "" || a.Space != "" && a.NamespaceURI() == namespace) {
			value, n = a.Value, n+1
		}
	}
	if n != 1 || value == "" {
		return "", malformed("manifest", "%d attributes %s of %.64q with a value, want one", n, key, e.Tag)
	}
	return value, nil
}
