package nvgpu

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"
)

// Algorithms of NVIDIA's manifests. No others are accepted: there is nothing to negotiate.
const (
	algC14N11    = "http://www.w3.org/2006/12/xml-c14n11"
	algECDSA384  = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384"
	algEnveloped = "http://www.w3.org/2000/09/xmldsig#enveloped-signature"
	algSHA384    = "http://www.w3.org/2001/04/xmldsig-more#sha384"
)

const (
	maxXMLDepth      = 8
	maxXMLElements   = 400
	maxXMLAttributes = 32
)

// signedElement returns the element that a valid signature covers and the verified chain of its signer.
//
// XML signatures are easy to get wrong, so that only one shape is let through to the library that checks them: ASCII
// without any entity, character reference, comment, CDATA, processing instruction or document type; bounded depth,
// elements and attributes; no Id attribute anywhere; one Signature in the whole document, as the root's last child,
// with one reference to the whole document (URI=""), the enveloped-signature transform and C14N 1.1, ECDSA with
// SHA-384, and the chain in X509Data. What is then read is the element that the library returns, never the document.
func signedElement(data []byte, root *x509.Certificate, now time.Time, known *seen) (*etree.Element, []*x509.Certificate, error) {
	top, err := readXML(data)
	if err != nil {
		return nil, nil, err
	}
	sig, err := findSignature(top)
	if err != nil {
		return nil, nil, err
	}
	signers, err := parseSignature(sig)
	if err != nil {
		return nil, nil, err
	}
	if err := checkPath(signers, root, now, known); err != nil {
		return nil, nil, err
	}
	ctx := dsig.NewDefaultValidationContext(&dsig.MemoryX509CertificateStore{Roots: signers[:1]})
	ctx.Clock = dsig.NewFakeClockAt(now)
	signed, err := ctx.Validate(top)
	if err != nil {
		return nil, nil, untrusted("the manifest's signature does not hold: %v", err)
	}
	return signed, signers, nil
}

// readXML returns the root element of a document that passed [scanXML].
func readXML(data []byte) (*etree.Element, error) {
	if err := scanXML(data); err != nil {
		return nil, err
	}
	doc := etree.NewDocument()
	if err := doc.ReadFromBytes(data); err != nil {
		return nil, malformed("manifest", "%v", err)
	}
	return onlyRoot(doc)
}

// onlyRoot returns the root of a document that has nothing else, but for a last line end.
func onlyRoot(doc *etree.Document) (*etree.Element, error) {
	top := doc.Root()
	if top == nil || doc.Child[0] != etree.Token(top) {
		return nil, malformed("manifest", "does not begin with its root element")
	}
	for _, rest := range doc.Child[1:] {
		if text, ok := rest.(*etree.CharData); !ok || text.Data != "\n" {
			return nil, malformed("manifest", "something after its root element")
		}
	}
	return top, nil
}

// scanXML bounds a document before anything is built from it.
func scanXML(data []byte) error {
	if len(data) > MaxRIMSize {
		return malformed("manifest", "%d bytes, more than %d", len(data), MaxRIMSize)
	}
	for i, c := range data {
		if c > '~' || c < ' ' && c != '\n' && c != '\t' || c == '&' {
			return malformed("manifest", "byte %#02x at %d, want ASCII without entities", c, i)
		}
	}
	if i := bytes.Index(data, []byte("<!")); i >= 0 {
		return malformed("manifest", "a declaration, comment or CDATA at %d", i)
	}
	if i := bytes.Index(data, []byte("<?")); i >= 0 {
		return malformed("manifest", "a processing instruction at %d", i)
	}
	depth, elements := 0, 0
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return malformed("manifest", "%v", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth, elements = depth+1, elements+1
			if depth > maxXMLDepth || elements > maxXMLElements || len(t.Attr) > maxXMLAttributes {
				return malformed("manifest", "element %.64q: more than %d deep, %d elements or %d attributes", t.Name.Local, maxXMLDepth,
					maxXMLElements, maxXMLAttributes)
			}
			if err := scanAttributes(t); err != nil {
				return err
			}
		case xml.EndElement:
			depth--
		}
	}
}

// scanAttributes refuses attributes that repeat and those that could serve as an Id. An Id has no use with a reference
// to the whole document, and is what wrapping attacks need.
func scanAttributes(e xml.StartElement) error {
	for i, a := range e.Attr {
		if strings.EqualFold(a.Name.Local, "id") {
			return malformed("manifest", "an Id attribute on %.64q", e.Name.Local)
		}
		if slices.ContainsFunc(e.Attr[:i], func(b xml.Attr) bool { return a.Name == b.Name }) {
			return malformed("manifest", "attribute %.64q of %.64q more than once", a.Name.Local, e.Name.Local)
		}
	}
	return nil
}

// findSignature returns the only Signature of a document.
func findSignature(top *etree.Element) (*etree.Element, error) {
	n := 0
	for _, e := range top.FindElements(".//*") {
		if e.Tag == dsig.SignatureTag {
			n++
		}
	}
	if n != 1 {
		return nil, malformed("manifest", "%d signatures, want one", n)
	}
	all := top.ChildElements()
	last := all[len(all)-1]
	if last.Tag != dsig.SignatureTag || last.NamespaceURI() != dsig.Namespace {
		return nil, malformed("manifest", "the signature is not the root's last child")
	}
	return last, nil
}

// parseSignature checks a Signature's shape, writes its value the way the library wants it, and returns the chain it
// carries.
func parseSignature(sig *etree.Element) ([]*x509.Certificate, error) {
	parts, err := children(sig, dsig.SignedInfoTag, dsig.SignatureValueTag, dsig.KeyInfoTag)
	if err != nil {
		return nil, err
	}
	if err := checkSignedInfo(parts[0]); err != nil {
		return nil, err
	}
	raw, err := decodeBase64(parts[1])
	if err != nil || len(raw) != SignatureSize {
		return nil, malformed("manifest", "signature value of %d bytes, want %d (%v)", len(raw), SignatureSize, err)
	}
	der, err := asn1.Marshal(struct{ R, S *big.Int }{
		new(big.Int).SetBytes(raw[:SignatureSize/2]), new(big.Int).SetBytes(raw[SignatureSize/2:]),
	})
	if err != nil {
		return nil, malformed("manifest", "signature value: %v", err)
	}
	parts[1].SetText(base64.StdEncoding.EncodeToString(der))
	data, err := children(parts[2], dsig.X509DataTag)
	if err != nil {
		return nil, err
	}
	return parseSigners(data[0])
}

func parseSigners(data *etree.Element) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	if len(data.Attr) != 0 || len(data.Child) != len(data.ChildElements()) {
		return nil, malformed("manifest", "%s has more than certificates", data.Tag)
	}
	for _, e := range data.ChildElements() {
		if e.Tag != dsig.X509CertificateTag || e.NamespaceURI() != dsig.Namespace || len(certs) == maxChain {
			return nil, malformed("manifest", "%.64q after %d certificates", e.Tag, len(certs))
		}
		der, err := decodeBase64(e)
		if err != nil {
			return nil, malformed("manifest", "certificate %d: %v", len(certs)+1, err)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, malformed("manifest", "certificate %d: %v", len(certs)+1, err)
		}
		certs = append(certs, cert)
	}
	if len(certs) < 2 {
		return nil, malformed("manifest", "%d certificates, want a chain", len(certs))
	}
	return certs, nil
}

// checkSignedInfo lets only the one set of algorithms and the one reference through.
func checkSignedInfo(info *etree.Element) error {
	parts, err := children(info, dsig.CanonicalizationMethodTag, dsig.SignatureMethodTag, dsig.ReferenceTag)
	if err != nil {
		return err
	}
	if err := errors.Join(algorithm(parts[0], algC14N11), algorithm(parts[1], algECDSA384)); err != nil {
		return err
	}
	reference := parts[2]
	if len(reference.Attr) != 1 || reference.Attr[0].FullKey() != dsig.URIAttr || reference.Attr[0].Value != "" {
		return malformed("manifest", "the signature does not refer to the whole document")
	}
	parts, err = children(reference, dsig.TransformsTag, dsig.DigestMethodTag, dsig.DigestValueTag)
	if err != nil {
		return err
	}
	transforms, err := children(parts[0], dsig.TransformTag, dsig.TransformTag)
	if err != nil {
		return err
	}
	return errors.Join(algorithm(transforms[0], algEnveloped), algorithm(transforms[1], algC14N11), algorithm(parts[1], algSHA384))
}

// children returns an element's children, which must be exactly these, in the signature's namespace, without text
// between them. The element has no attributes but those that its place asks for.
func children(e *etree.Element, tags ...string) ([]*etree.Element, error) {
	got, attributes := e.ChildElements(), 0
	if e.Tag == dsig.SignatureTag || e.Tag == dsig.ReferenceTag {
		attributes = 1 // xmlns:ds and URI
	}
	ok := len(got) == len(tags) && len(e.Child) == len(tags) && len(e.Attr) == attributes
	for i := 0; ok && i < len(tags); i++ {
		ok = got[i].Tag == tags[i] && got[i].NamespaceURI() == dsig.Namespace
	}
	if !ok {
		return nil, malformed("manifest", "%s does not consist of %v", e.Tag, tags)
	}
	return got, nil
}

func algorithm(e *etree.Element, want string) error {
	if len(e.Child) != 0 || len(e.Attr) != 1 || e.Attr[0].FullKey() != dsig.AlgorithmAttr || e.Attr[0].Value != want {
		return malformed("manifest", "%s is not exactly %s", e.Tag, want)
	}
	return nil
}

// decodeBase64 reads an element's text in lines of base64, in its only encoding.
func decodeBase64(e *etree.Element) ([]byte, error) {
	if len(e.ChildElements()) != 0 || len(e.Attr) != 0 {
		return nil, errors.New("more than text")
	}
	return base64.StdEncoding.Strict().DecodeString(strings.ReplaceAll(e.Text(), "\n", ""))
}
