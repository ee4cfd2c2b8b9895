package tpm

import (
	"encoding/asn1"
	"fmt"

	"github.com/gantry-market/gantry/attest"
)

// Names of the items of a piece of evidence of kind [attest.KindTPM]. Where the form is a structure of the TPM 2.0
// library specification (part 2), it is that structure's encoding without an outer size field.
const (
	// ItemAK is the attestation key's public area: TPMT_PUBLIC.
	ItemAK = "ak.pub"
	// ItemEK is the endorsement key's certificate: DER.
	ItemEK = "ek.cert"
	// ItemEKChain is the certificates between the manufacturer's root and the endorsement key's, one DER certificate
	// after the other. Optional: policies bring the usual ones.
	ItemEKChain = "ek.chain"
	// ItemLog is the firmware's event log in the crypto-agile form of the TCG PC Client profile. Optional.
	ItemLog = "log"
	// ItemPCRs is the quoted PCRs' values in the SHA-256 bank, 32 bytes each, by rising index.
	ItemPCRs = "pcrs"
	// ItemQuote is what the TPM signed: TPMS_ATTEST.
	ItemQuote = "quote"
	// ItemSignature is the attestation key's signature over the quote: TPMT_SIGNATURE.
	ItemSignature = "quote.sig"
	// ItemStatements is keepers' statements that they saw the attestation key activated: see [Statement]. One after the
	// other. Optional.
	ItemStatements = "statements"
)

// Limits of what a verifier looks at.
const (
	maxAK         = 256
	maxCert       = 8 << 10
	maxChain      = 6
	maxQuote      = 512
	maxSignature  = 160
	maxStatements = 16
	// MaxLog is the largest event log that is accepted, in bytes. Logs of real machines have 10 to 100 KiB.
	MaxLog = 256 << 10
)

type itemRule struct {
	max      int
	optional bool
}

var itemRules = map[string]itemRule{
	ItemAK:         {max: maxAK},
	ItemEK:         {max: maxCert},
	ItemEKChain:    {max: maxChain * maxCert, optional: true},
	ItemLog:        {max: MaxLog, optional: true},
	ItemPCRs:       {max: pcrCount * pcrSize},
	ItemQuote:      {max: maxQuote},
	ItemSignature:  {max: maxSignature},
	ItemStatements: {max: maxStatements * statementSize, optional: true},
}

// Parts is a piece of evidence after parsing. Nothing in it is verified.
type Parts struct {
	AK         AK
	EK         EK
	Chain      [][]byte
	Quote      Quote
	Signature  Signature
	PCRs       PCRs
	Log        []byte
	Statements []Statement
}

// Parse reads a piece of evidence. Errors wrap [attest.ErrMalformed].
func Parse(e attest.Evidence) (Parts, error) {
	if err := checkItems(e); err != nil {
		return Parts{}, err
	}
	var p Parts
	var err error
	item := func(name string) []byte {
		data, _ := e.Item(name)
		return data
	}
	if p.AK, err = ParseAK(item(ItemAK)); err != nil {
		return Parts{}, err
	}
	if p.EK, err = ParseEK(item(ItemEK)); err != nil {
		return Parts{}, err
	}
	if p.Chain, err = splitChain(item(ItemEKChain)); err != nil {
		return Parts{}, err
	}
	if p.Quote, err = ParseQuote(item(ItemQuote)); err != nil {
		return Parts{}, err
	}
	if p.Signature, err = ParseSignature(item(ItemSignature)); err != nil {
		return Parts{}, err
	}
	if p.PCRs, err = ParsePCRs(p.Quote.Selection, item(ItemPCRs)); err != nil {
		return Parts{}, err
	}
	if p.Statements, err = ParseStatements(item(ItemStatements)); err != nil {
		return Parts{}, err
	}
	p.Log = item(ItemLog)
	return p, nil
}

// checkItems wants the known names alone, sorted, once, and within their sizes.
func checkItems(e attest.Evidence) error {
	if e.Kind != attest.KindTPM {
		return fmt.Errorf("evidence is a %s, not a %s: %w", e.Kind, attest.KindTPM, attest.ErrMalformed)
	}
	if e.Instance != 0 {
		return fmt.Errorf("instance %d: a machine has one TPM, instance 0: %w", e.Instance, attest.ErrMalformed)
	}
	for i, item := range e.Items {
		rule, known := itemRules[item.Name]
		switch {
		case !known:
			return fmt.Errorf("unknown item %q: %w", item.Name, attest.ErrMalformed)
		case i > 0 && e.Items[i-1].Name >= item.Name:
			return fmt.Errorf("item %q is out of order or there twice: %w", item.Name, attest.ErrMalformed)
		case len(item.Data) == 0:
			return fmt.Errorf("item %q is empty: %w", item.Name, attest.ErrMalformed)
		case len(item.Data) > rule.max:
			return fmt.Errorf("item %q has %d bytes, at most %d are accepted: %w", item.Name, len(item.Data), rule.max, attest.ErrMalformed)
		}
	}
	for name, rule := range itemRules {
		if _, ok := e.Item(name); !ok && !rule.optional {
			return fmt.Errorf("item %q is missing: %w", name, attest.ErrMalformed)
		}
	}
	return nil
}

// splitChain takes DER certificates apart that follow each other.
func splitChain(data []byte) ([][]byte, error) {
	var chain [][]byte
	for len(data) > 0 {
		var raw asn1.RawValue
		rest, err := asn1.Unmarshal(data, &raw)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate %d: %w: %w", ItemEKChain, len(chain), err, attest.ErrMalformed)
		}
		if len(chain) == maxChain || len(raw.FullBytes) > maxCert {
			return nil, fmt.Errorf("%s: more than %d certificates or one above %d bytes: %w", ItemEKChain, maxChain, maxCert, attest.ErrMalformed)
		}
		chain = append(chain, raw.FullBytes)
		data = rest
	}
	return chain, nil
}
