package signing

import (
	"encoding/json"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

// Sign implements records.Signer.
func (c *Client) Sign(message []byte) (solana.Signature, error) {
	var a bytesBody
	if err := c.call("sign", bytesBody{message}, &a); err != nil {
		return solana.Signature{}, err
	}
	if len(a.Bytes) != solana.SignatureLength {
		return solana.Signature{}, fmt.Errorf("%w: a signature of %d bytes", errSigner, len(a.Bytes))
	}
	return solana.SignatureFromBytes(a.Bytes), nil
}

// SignStatements implements Store.
func (c *Client) SignStatements(all []records.CheckStatement) ([]store.Signed, []store.Refusal, error) {
	in := listBody{List: make([][]byte, len(all))}
	for i, s := range all {
		enc := s.Encode()
		in.List[i] = enc[:]
	}
	var a signedAnswer
	if err := c.call("statements/sign", in, &a); err != nil {
		return nil, nil, err
	}
	signed, err := a.signed()
	if err != nil {
		return nil, nil, err
	}
	var refused []store.Refusal
	for _, r := range a.Refused {
		st, err := records.DecodeStatement(r.Statement)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errSigner, err)
		}
		refused = append(refused, store.Refusal{Statement: st, Err: sentinel(r.Code)})
	}
	return signed, refused, nil
}

func (a signedAnswer) signed() ([]store.Signed, error) {
	var out []store.Signed
	for _, raw := range a.Signed {
		if len(raw) != records.StatementSize+solana.SignatureLength {
			return nil, fmt.Errorf("%w: a signed statement of %d bytes", errSigner, len(raw))
		}
		st, err := records.DecodeStatement(raw[:records.StatementSize])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSigner, err)
		}
		out = append(out, store.Signed{Statement: st, Signature: solana.SignatureFromBytes(raw[records.StatementSize:])})
	}
	return out, nil
}

// FirstPeriod implements Store: as the signer last said.
func (c *Client) FirstPeriod() records.Period { return records.Period(c.first.Load()) }

// Statements implements Store.
func (c *Client) Statements(p records.Period) ([]store.Signed, error) {
	return c.statements(aboutRequest{Period: p})
}

// StatementsAbout implements Store.
func (c *Client) StatementsAbout(p records.Period, node solana.PublicKey) ([]store.Signed, error) {
	return c.statements(aboutRequest{Period: p, Node: node[:]})
}

func (c *Client) statements(in aboutRequest) ([]store.Signed, error) {
	var a signedAnswer
	if err := c.call("statements", in, &a); err != nil {
		return nil, err
	}
	return a.signed()
}

// Knows implements Store.
func (c *Client) Knows(s records.CheckStatement) (bool, error) {
	enc := s.Encode()
	var a yesAnswer
	err := c.call("knows", bytesBody{enc[:]}, &a)
	return a.Yes, err
}

// Seal implements Store.
func (c *Client) Seal(p records.Period) error { return c.call("seal", periodBody{p}, &empty{}) }

// Sealed implements Store.
func (c *Client) Sealed() (records.Period, error) {
	var a periodBody
	err := c.call("sealed", empty{}, &a)
	return a.Period, err
}

// PutManifest implements Store.
func (c *Client) PutManifest(p records.Period, r store.SetRef) error {
	return c.call("manifest", manifestRequest{p, r.Count, r.Size, r.Digest[:]}, &empty{})
}

// Vote implements Store.
func (c *Client) Vote(p records.Period, root records.Hash, proposal []byte) error {
	return c.call("vote", rootBody{p, root[:], proposal}, &empty{})
}

// Voted implements Store.
func (c *Client) Voted(p records.Period) (records.Hash, error) {
	var a rootBody
	if err := c.call("voted", periodBody{p}, &a); err != nil {
		return records.Hash{}, err
	}
	return bytes32(a.Root)
}

// PutProposal implements Store.
func (c *Client) PutProposal(p records.Period, root records.Hash, proposal []byte) error {
	return c.call("proposal/put", rootBody{p, root[:], proposal}, &empty{})
}

// Proposal implements Store.
func (c *Client) Proposal(p records.Period, root records.Hash) ([]byte, error) {
	return c.bytes("proposal", rootBody{Period: p, Root: root[:]})
}

// PutLeaves implements Store.
func (c *Client) PutLeaves(p records.Period, root records.Hash, leaves []byte) error {
	return c.call("leaves/put", rootBody{p, root[:], leaves}, &empty{})
}

// Leaves implements Store.
func (c *Client) Leaves(p records.Period, root records.Hash) ([]byte, error) {
	return c.bytes("leaves", rootBody{Period: p, Root: root[:]})
}

func (c *Client) bytes(path string, in any) ([]byte, error) {
	var a bytesBody
	if err := c.call(path, in, &a); err != nil {
		return nil, err
	}
	return a.Bytes, nil
}

// PutProof implements Store.
func (c *Client) PutProof(name string, proof []byte) error {
	return c.call("proof/put", proofBody{name, proof}, &empty{})
}

// DropProof implements Store.
func (c *Client) DropProof(name string) error {
	return c.call("proof/drop", proofBody{Name: name}, &empty{})
}

// Proofs implements Store.
func (c *Client) Proofs() (map[string][]byte, error) {
	var a proofsAnswer
	err := c.call("proofs", empty{}, &a)
	return a.Proofs, err
}

// PutBids implements Store.
func (c *Client) PutBids(a store.AuctionKey, bids map[[32]byte][]byte) error {
	in := bidsRequest{CloseAt: a.CloseAt, Order: a.Order[:], Bids: map[string][]byte{}}
	for node, raw := range bids {
		in.Bids[solana.PublicKey(node).String()] = raw
	}
	return c.call("bids/put", in, &empty{})
}

// EachBid implements Store.
func (c *Client) EachBid(from int64, f func(a store.AuctionKey, node [32]byte, raw []byte) error) error {
	resp, err := c.post("bids", fromRequest{from})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var line bidLine
		if err := d.Decode(&line); err != nil { // the end of the stream too: the last line says that it is complete
			return fmt.Errorf("bids of the signer: %w", err)
		}
		if err := line.err(); err != nil || line.End {
			return err
		}
		order, err := bytes32(line.Order)
		if err != nil {
			return err
		}
		node, err := bytes32(line.Node)
		if err != nil {
			return err
		}
		if err := f(store.AuctionKey{CloseAt: line.CloseAt, Order: order}, node, line.Bytes); err != nil {
			return err
		}
	}
}

func bidSetOf(a store.AuctionKey, keeper solana.PublicKey, raw []byte) bidSetBody {
	return bidSetBody{CloseAt: a.CloseAt, Order: a.Order[:], Keeper: keeper[:], Bytes: raw}
}

// PutBidSet implements Store.
func (c *Client) PutBidSet(a store.AuctionKey, keeper solana.PublicKey, raw []byte) error {
	return c.call("bid-set/put", bidSetOf(a, keeper, raw), &empty{})
}

// BidSet implements Store.
func (c *Client) BidSet(a store.AuctionKey, keeper solana.PublicKey) ([]byte, error) {
	return c.bytes("bid-set", bidSetOf(a, keeper, nil))
}

// LastBidSet implements Store.
func (c *Client) LastBidSet(order, keeper solana.PublicKey) (store.AuctionKey, error) {
	var a bidSetBody
	if err := c.call("bid-set/last", bidSetOf(store.AuctionKey{Order: order}, keeper, nil), &a); err != nil {
		return store.AuctionKey{}, err
	}
	last, _, err := a.names()
	return last, err
}

// Prune implements Store.
func (c *Client) Prune(before records.Period) (int, error) {
	return c.count("prune", periodBody{before})
}

// PruneBids implements Store.
func (c *Client) PruneBids(before int64) (int, error) {
	return c.count("bids/prune", fromRequest{before})
}

// Pack implements Store.
func (c *Client) Pack() (int, error) { return c.count("pack", empty{}) }

func (c *Client) count(path string, in any) (int, error) {
	var a countAnswer
	if err := c.call(path, in, &a); err != nil {
		return 0, err
	}
	c.first.Store(uint64(a.First))
	return a.Count, nil
}

// Freeze implements Store.
func (c *Client) Freeze(why string) error { return c.call("freeze", textRequest{why}, &empty{}) }

// Frozen implements Store.
func (c *Client) Frozen() error { return c.call("frozen", empty{}, &empty{}) }
