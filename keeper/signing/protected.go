package signing

import (
	"crypto/sha256"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

// ErrRefused: the message is none that a keeper signs.
var ErrRefused = records.ErrRefused

// Store is what a keeper stores, at itself or at a signer. *Protected and *Client are stores.
type Store interface {
	FirstPeriod() records.Period
	SignStatements([]records.CheckStatement) ([]store.Signed, []store.Refusal, error)
	Statements(records.Period) ([]store.Signed, error)
	StatementsAbout(p records.Period, node solana.PublicKey) ([]store.Signed, error)
	Knows(records.CheckStatement) (bool, error)
	Seal(records.Period) error
	Sealed() (records.Period, error)
	PutManifest(records.Period, store.SetRef) error
	Vote(p records.Period, root records.Hash, proposal []byte) error
	Voted(records.Period) (records.Hash, error)
	PutProposal(p records.Period, root records.Hash, proposal []byte) error
	Proposal(p records.Period, root records.Hash) ([]byte, error)
	PutLeaves(p records.Period, root records.Hash, leaves []byte) error
	Leaves(p records.Period, root records.Hash) ([]byte, error)
	PutProof(name string, proof []byte) error
	DropProof(name string) error
	Proofs() (map[string][]byte, error)
	PutBids(store.AuctionKey, map[[32]byte][]byte) error
	EachBid(from int64, f func(a store.AuctionKey, node [32]byte, raw []byte) error) error
	PutBidSet(a store.AuctionKey, keeper solana.PublicKey, raw []byte) error
	BidSet(a store.AuctionKey, keeper solana.PublicKey) ([]byte, error)
	LastBidSet(order, keeper solana.PublicKey) (store.AuctionKey, error)
	Prune(before records.Period) (int, error)
	PruneBids(before int64) (int, error)
	Pack() (int, error)
	Freeze(why string) error
	Frozen() error
	Close() error
}

// Key is a Store that signs with the keeper's key.
type Key interface {
	Store
	records.Signer
}

// Protected is a key with the store of what it has signed. It is safe for concurrent use.
type Protected struct {
	*store.Store
	key    records.Signer
	domain records.Domain
}

// New joins a key with its store; domain is the cluster's.
func New(s *store.Store, key records.Signer, domain records.Domain) *Protected {
	return &Protected{Store: s, key: key, domain: domain}
}

// PublicKey implements records.Signer.
func (p *Protected) PublicKey() solana.PublicKey { return p.key.PublicKey() }

// SignStatements stores the statements that contradict nothing and returns them with their signatures; the others come
// back as refusals. See store.Sign. Errors: ErrRefused for a statement of another cluster, those of store.Sign.
func (p *Protected) SignStatements(all []records.CheckStatement) ([]store.Signed, []store.Refusal, error) {
	for _, s := range all {
		if err := p.ofCluster(s.Domain); err != nil {
			return nil, nil, err
		}
	}
	return p.Store.Sign(all, func(s records.CheckStatement) (solana.Signature, error) { return s.Sign(p.key) })
}

// Sign implements records.Signer: it signs what a keeper signs, after what it may sign once only is stored.
// Errors: ErrRefused, those of the store.
func (p *Protected) Sign(message []byte) (solana.Signature, error) {
	if err := p.check(message); err != nil {
		return solana.Signature{}, err
	}
	if len(message) >= records.TagSize && string(message[:records.TagSize]) == records.TagStatement {
		return p.signStatement(message)
	}
	return p.key.Sign(message)
}

// check decides about a message, and stores what it commits the keeper to.
func (p *Protected) check(message []byte) error {
	switch kind, err := p.kindOf(message); {
	case err != nil:
		return err
	case kind != nil:
		return kind(message)
	}
	return nil
}

// kindOf returns what is to be done before a message is signed; nil for nothing. Error: ErrRefused.
func (p *Protected) kindOf(message []byte) (func([]byte) error, error) {
	if len(message) < records.TagSize {
		return nil, fmt.Errorf("%w: a message of %d bytes", ErrRefused, len(message))
	}
	if isIdentity(message) {
		return nil, nil
	}
	at := func(n int) func([]byte) error {
		return func(m []byte) error {
			if len(m) < n+8 {
				return fmt.Errorf("%w: a record of %d bytes", ErrRefused, len(m))
			}
			return p.ofCluster(records.Domain(m[n : n+8]))
		}
	}
	switch tag := string(message[:records.TagSize]); tag {
	case records.TagStatement, records.TagOutcome, records.TagCommitmentAck, records.TagRevealAck:
		// A statement is stored when it is signed; the others name a bid, whose hash has the cluster.
		return nil, nil
	case records.TagManifest:
		return p.manifest, nil
	case records.TagProposal:
		return p.proposal, nil
	case records.TagBidSet:
		return p.bidSet, nil
	case tagEnrolment:
		return at(records.TagSize), nil
	}
	if string(message[:6]) == "GANTRY" {
		return nil, fmt.Errorf("%w: a keeper signs no record %q", ErrRefused, message[:records.TagSize])
	}
	return p.transaction, nil
}

// tagEnrolment is the tag of a record of attest, which imports nothing of package records.
var tagEnrolment = tagOf("enrolment of a TPM")

func tagOf(name string) string {
	for _, x := range records.AllTagged {
		if x.Name == name {
			return x.Tag
		}
	}
	return name // none has the length of a tag, so that nothing is signed by it; a test signs it
}

func (p *Protected) ofCluster(d records.Domain) error {
	if d != p.domain {
		return fmt.Errorf("%w: the record is of cluster %s, this key signs for %s", ErrRefused, d, p.domain)
	}
	return nil
}

func (p *Protected) signStatement(message []byte) (solana.Signature, error) {
	st, err := records.DecodeStatement(message)
	if err != nil {
		return solana.Signature{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	signed, refused, err := p.SignStatements([]records.CheckStatement{st})
	switch {
	case err != nil:
		return solana.Signature{}, err
	case len(refused) > 0:
		return solana.Signature{}, refused[0].Err
	}
	return signed[0].Signature, nil
}

func (p *Protected) manifest(message []byte) error {
	m, err := records.DecodeManifest(message)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := p.ofCluster(m.Domain); err != nil {
		return err
	}
	return p.PutManifest(m.Period, store.SetRef{Count: m.Count, Size: m.Size, Digest: m.Digest})
}

func (p *Protected) proposal(message []byte) error {
	m, err := records.DecodeProposal(message)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := p.ofCluster(m.Domain); err != nil {
		return err
	}
	return p.PutRound(m.Period, m.Round, sha256.Sum256(message))
}

func (p *Protected) bidSet(message []byte) error {
	h, err := records.DecodeBidSetHead(message)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := p.ofCluster(h.Domain); err != nil {
		return err
	}
	return p.PutHead(store.AuctionKey{CloseAt: h.CloseAt, Order: solana.PublicKey(h.Order)}, h.Count, h.Root)
}
