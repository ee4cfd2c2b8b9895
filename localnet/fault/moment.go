package fault

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
)

// levels are the commitments, the least first.
var levels = [...]string{"processed", confirmed, "finalized"}

const confirmed = "confirmed"

// level is the place of a commitment; what is left out means finalized, as for a node.
func level(commitment string) int {
	if i := slices.Index(levels[:], commitment); i >= 0 {
		return i
	}
	return len(levels) - 1
}

type slotContext struct {
	Slot uint64 `json:"slot"`
}

// moment is what a node showed at one time. It does not change.
type moment struct {
	taken time.Time
	// slot is that of the oldest account, and slots, height and hash are those of each commitment.
	slot   uint64
	slots  [len(levels)]uint64
	height [len(levels)]uint64
	hash   [len(levels)]json.RawMessage
	// programs are all accounts of each recorded program; singles are single accounts, nil where there was none.
	programs map[string]map[string]*account
	singles  map[string]*account
}

// find returns an account, nil if there was none. known is false when it was not recorded.
func (m *moment) find(key string) (a *account, known bool) {
	for _, p := range m.programs {
		if a, ok := p[key]; ok {
			return a, true
		}
	}
	a, known = m.singles[key]
	return a, known
}

// account is the state of one.
type account struct {
	raw  json.RawMessage // as the node sent it
	data []byte
	meta map[string]json.RawMessage // all but the data
}

// newAccount reads an account; it is the one before if nothing has changed. It is nil for null.
func newAccount(raw json.RawMessage, before *account) (*account, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil //nolint:nilnil // there is none
	}
	if before != nil && bytes.Equal(before.raw, raw) {
		return before, nil
	}
	a := &account{raw: raw}
	if err := json.Unmarshal(raw, &a.meta); err != nil {
		return nil, err
	}
	var data [2]string
	if err := json.Unmarshal(a.meta["data"], &data); err != nil || data[1] != "base64" {
		return nil, fmt.Errorf("its data are not base64: %.60s", a.meta["data"])
	}
	delete(a.meta, "data")
	var err error
	a.data, err = base64.StdEncoding.DecodeString(data[0])
	return a, err
}

func (a *account) owner() (owner string) {
	_ = json.Unmarshal(a.meta["owner"], &owner) // empty if there is none
	return owner
}

// accountConfig are the parameters of a read of accounts.
type accountConfig struct {
	Encoding       string  `json:"encoding"`
	Commitment     string  `json:"commitment"`
	MinContextSlot *uint64 `json:"minContextSlot"`
	WithContext    bool    `json:"withContext"`
	Slice          *struct {
		Offset int `json:"offset"`
		Length int `json:"length"`
	} `json:"dataSlice"`
	Filters []filter `json:"filters"`
}

type filter struct {
	DataSize *int `json:"dataSize"`
	Memcmp   *struct {
		Offset   int    `json:"offset"`
		Bytes    string `json:"bytes"`
		Encoding string `json:"encoding"`
	} `json:"memcmp"`
}

// show is the account in the form that was asked for.
func (c accountConfig) show(a *account) any {
	if a == nil {
		return nil
	}
	data := a.data
	if s := c.Slice; s != nil {
		from := min(max(s.Offset, 0), len(data))
		data = data[from:min(from+max(s.Length, 0), len(data))]
	}
	out := make(map[string]any, len(a.meta)+1)
	for k, v := range a.meta {
		out[k] = v
	}
	out["data"] = [2]string{base64.StdEncoding.EncodeToString(data), "base64"}
	return out
}

// pass reports whether data pass all filters.
func (c accountConfig) pass(data []byte) (bool, error) {
	for _, f := range c.Filters {
		if f.DataSize != nil && *f.DataSize != len(data) {
			return false, nil
		}
		if f.Memcmp == nil {
			continue
		}
		want, err := f.bytes()
		if err != nil {
			return false, err
		}
		at := f.Memcmp.Offset
		if at < 0 || at > len(data) || !bytes.HasPrefix(data[at:], want) {
			return false, nil
		}
	}
	return true, nil
}

func (f filter) bytes() ([]byte, error) {
	if f.Memcmp.Encoding == "base64" {
		return base64.StdEncoding.DecodeString(f.Memcmp.Bytes)
	}
	quoted, err := json.Marshal(f.Memcmp.Bytes)
	if err != nil {
		return nil, err
	}
	var out solana.Base58
	err = out.UnmarshalJSON(quoted)
	return out, err
}
