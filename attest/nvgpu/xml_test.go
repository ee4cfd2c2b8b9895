package nvgpu_test

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
)

// Attacks on XML signatures, tried on a real manifest: each must be refused, and none may get other values in.
func TestXMLTraps(t *testing.T) {
	good := string(read(t, "driver-545.00.swidtag"))
	start, end := strings.Index(good, "<ds:Signature "), strings.Index(good, "</ds:Signature>")+len("</ds:Signature>")
	signature, unsigned := good[start:end], good[:start]+good[end:]
	fake := strings.Replace(strings.ReplaceAll(unsigned, `colloquialVersion="545.00"`, `colloquialVersion="999.99"`), "\n", "", 1)
	body := fake[:strings.LastIndex(fake, "</SoftwareIdentity>")]
	inner := strings.TrimSpace(good)
	info := signature[strings.Index(signature, "<ds:SignedInfo>") : strings.Index(signature, "</ds:SignedInfo>")+len("</ds:SignedInfo>")]
	replace := func(old, with string) string {
		require.True(t, strings.Contains(good, old), old)
		return strings.Replace(good, old, with, 1)
	}
	for name, test := range map[string]struct{ data, says string }{
		"no signature":              {unsigned, "0 signatures, want one"},
		"entity expansion":          {`<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>` + good, "byte 0x26"},
		"document type":             {"<!DOCTYPE x>" + good, "a declaration, comment or CDATA at 0"},
		"external entity":           {`<!DOCTYPE x SYSTEM "file:///etc/passwd">` + good, "a declaration, comment or CDATA at 0"},
		"character reference":       {replace("545.00", "545.&#48;0"), "byte 0x26"},
		"comment in a value":        {replace("<ds:X509Certificate>MII", "<ds:X509Certificate>M<!-- -->II"), "a declaration, comment or CDATA"},
		"comment":                   {replace("<ns0:Payload", "<!-- --><ns0:Payload"), "a declaration, comment or CDATA"},
		"CDATA":                     {replace("</ns0:Payload>", "<![CDATA[x]]></ns0:Payload>"), "a declaration, comment or CDATA"},
		"processing instruction":    {"<?xml-stylesheet href='x'?>" + good, "a processing instruction at 0"},
		"wrapped in a fake":         {body + "<Object>" + inner + "</Object></SoftwareIdentity>", "the signature is not the root's last child"},
		"fake around, moved":        {body + "<Object>" + strings.TrimSpace(unsigned) + "</Object>" + signature + "</SoftwareIdentity>", "the manifest's signature does not hold"},
		"original in the object":    {body + strings.Replace(signature, "</ds:Signature>", "<ds:Object>"+strings.TrimSpace(unsigned)+"</ds:Object></ds:Signature>", 1) + "</SoftwareIdentity>", "Signature does not consist of"},
		"reference by id":           {replace(`Reference URI=""`, `Reference URI="#a"`), "does not refer to the whole document"},
		"id on the root":            {replace("<SoftwareIdentity ", `<SoftwareIdentity ID="a" `), "an Id attribute"},
		"xml:id":                    {replace("<ns0:Payload ", `<ns0:Payload xml:id="a" `), "an Id attribute"},
		"duplicate ids":             {strings.Replace(replace("<ns0:Payload ", `<ns0:Payload Id="a" `), "<ns0:Meta ", `<ns0:Meta Id="a" `, 1), "an Id attribute"},
		"two signatures":            {good[:end] + signature + good[end:], "2 signatures, want one"},
		"signature of no namespace": {replace("</ns0:Payload>", "<Signature/></ns0:Payload>"), "2 signatures, want one"},
		"signature first":           {strings.Replace(unsigned, "<ns0:Entity", signature+"<ns0:Entity", 1), "is not the root's last child"},
		"two references":            {replace("</ds:SignedInfo>", `<ds:Reference URI=""/></ds:SignedInfo>`), "SignedInfo does not consist of"},
		"two signed infos":          {replace("</ds:SignedInfo>", "</ds:SignedInfo>"+info), "Signature does not consist of"},
		"no transforms":             {replace(`<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>`, ""), "Transforms does not consist of"},
		"XSLT":                      {replace("http://www.w3.org/2000/09/xmldsig#enveloped-signature", "http://www.w3.org/TR/1999/REC-xslt-19991116"), "Transform is not exactly"},
		"SHA-1":                     {replace("http://www.w3.org/2001/04/xmldsig-more#sha384", "http://www.w3.org/2000/09/xmldsig#sha1"), "DigestMethod is not exactly"},
		"HMAC":                      {replace("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384", "http://www.w3.org/2000/09/xmldsig#hmac-sha1"), "SignatureMethod is not exactly"},
		"other canonical form":      {replace("http://www.w3.org/2006/12/xml-c14n11", "http://www.w3.org/2001/10/xml-exc-c14n#"), "CanonicalizationMethod is not exactly"},
		"attribute twice":           {replace(`colloquialVersion="545.00"`, `colloquialVersion="545.00" colloquialVersion="999.99"`), `attribute "colloquialVersion" of "Meta" more than once`},
		"no chain":                  {good[:strings.Index(good, "<ds:X509Certificate>")] + good[strings.LastIndex(good, "</ds:X509Certificate>")+len("</ds:X509Certificate>"):], "0 certificates, want a chain"},
		"text in the key":           {replace("<ds:X509Data>", "<ds:X509Data>x"), "X509Data has more than certificates"},
		"key by name":               {replace("<ds:X509Data>", "<ds:KeyName>x</ds:KeyName><ds:X509Data>"), "KeyInfo does not consist of"},
		"version changed":           {replace(`colloquialVersion="545.00"`, `colloquialVersion="545.01"`), "the manifest's signature does not hold"},
		"measurement changed":       {replace("0e0ee161", "0e0ee162"), "the manifest's signature does not hold"},
		"measurement deactivated":   {replace(`active="True"`, `active="False"`), "the manifest's signature does not hold"},
		"deep":                      {replace("</ns0:Payload>", strings.Repeat("<a>", 9)+strings.Repeat("</a>", 9)+"</ns0:Payload>"), "more than 8 deep"},
		"many elements":             {replace("</ns0:Payload>", strings.Repeat("<a/>", 400)+"</ns0:Payload>"), "400 elements"},
		"many attributes":           {replace("<ns0:Payload ", "<ns0:Payload "+attributes(40)), "32 attributes"},
		"too long":                  {good + strings.Repeat(" ", nvgpu.MaxRIMSize), "bytes, more than 131072"},
		"empty":                     {"", "does not begin with its root"},
		"only text":                 {"x", "does not begin with its root"},
		"not closed":                {good[:len(good)-3], "manifest: "},
		"carriage returns":          {strings.ReplaceAll(good, "\n", "\r\n"), "byte 0x0d"},
		"UTF-16":                    {"\xff\xfe<\x00a\x00", "byte 0xff"},
	} {
		rim, err := nvgpu.Roots{}.VerifyRIM([]byte(test.data), sampleTime)
		require.Nil(t, rim, name)
		require.ErrorContains(t, err, test.says, name)
		require.Condition(t, func() bool { e := reason(t, err, name, 0); return e == attest.ErrMalformed || e == attest.ErrUntrusted }, name)
	}
}

func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("a" + strings.Repeat("b", i) + `="" `)
	}
	return b.String()
}

// The shape checks and the library's own reading rest on the same lexer; this is what is let through to it.
func TestGoodManifestIsWellFormed(t *testing.T) {
	require.NoError(t, xml.Unmarshal(read(t, "driver-545.00.swidtag"), new(struct{})))
}
