package service

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// smallMarket is an RPC node that has a market with one model and a node of it.
type smallMarket struct {
	srv  *fakerpc.Server
	node solana.PublicKey

	mu       sync.Mutex
	slot     uint64
	accounts map[solana.PublicKey][]byte
}

func newSmallMarket(t *testing.T) (*smallMarket, *chain.Client) {
	m := &smallMarket{srv: fakerpc.New(t), node: solana.PublicKey{77}, slot: 1000, accounts: map[solana.PublicKey][]byte{}}
	at := func(value any) map[string]any {
		return map[string]any{"context": map[string]any{"slot": m.slot}, "value": value}
	}
	m.srv.Handle("getProgramAccounts", func(p []json.RawMessage) (any, *fakerpc.Error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		list := []any{}
		for key := range m.accounts {
			if m.passes(key, p[1]) {
				list = append(list, map[string]any{"pubkey": key, "account": m.encoded(key)})
			}
		}
		return at(list), nil
	})
	m.srv.Handle("getMultipleAccounts", func(p []json.RawMessage) (any, *fakerpc.Error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		var keys []solana.PublicKey
		_ = json.Unmarshal(p[0], &keys)
		out := make([]any, len(keys))
		for i, k := range keys {
			out[i] = m.encoded(k)
		}
		return at(out), nil
	})
	m.srv.Handle("getAccountInfo", func([]json.RawMessage) (any, *fakerpc.Error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		raw := binary.LittleEndian.AppendUint64(make([]byte, 32), uint64(time.Now().Unix()))
		return at(map[string]any{"lamports": 1, "owner": solana.PublicKey{}, "executable": false, "data": []string{base64.StdEncoding.EncodeToString(raw), "base64"}}), nil
	})
	m.srv.Handle("getSlot", func([]json.RawMessage) (any, *fakerpc.Error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.slot, nil
	})
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: m.srv.URL(), WS: m.srv.WS()}}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	domain, err := c.Domain(t.Context())
	require.NoError(t, err)
	m.put(t, market.MarketAddress(), bindings.Account_Market, bindings.Market{Version: market.LayoutVersion, Domain: [8]byte(domain)})
	m.put(t, market.ModelAddress(1), bindings.Account_GpuModel, bindings.GpuModel{Version: market.LayoutVersion, Id: 1, Name: market.Text32("A100")})
	m.ask(t, 1_000_000)
	return m, c
}

func (m *smallMarket) passes(key solana.PublicKey, conf json.RawMessage) bool {
	var c struct {
		Filters []struct {
			Memcmp struct {
				Bytes []byte `json:"bytes"`
			} `json:"memcmp"`
		} `json:"filters"`
	}
	_ = json.Unmarshal(conf, &c)
	for _, f := range c.Filters {
		if len(f.Memcmp.Bytes) > 0 && !strings.HasPrefix(string(m.accounts[key]), string(f.Memcmp.Bytes)) {
			return false
		}
	}
	return true
}

func (m *smallMarket) encoded(key solana.PublicKey) any {
	data, known := m.accounts[key]
	if !known && key != market.ProgramID {
		return nil
	}
	return map[string]any{
		"lamports": 1, "owner": market.ProgramID, "executable": key == market.ProgramID, "data": []string{base64.StdEncoding.EncodeToString(data), "base64"},
	}
}

func (m *smallMarket) put(t *testing.T, key solana.PublicKey, disc [8]byte, value interface{ Marshal() ([]byte, error) }) {
	raw, err := value.Marshal()
	require.NoError(t, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accounts[key] = append(disc[:], raw...)
}

// ask sets the node's price. Nobody hears of it.
func (m *smallMarket) ask(t *testing.T, price uint64) {
	n := bindings.Node{Version: market.LayoutVersion, Status: uint8(market.NodeActive), Price: price, UptimeBps: 9_900}
	n.Spec = market.NodeSpec{Model: 1, Gpus: 8, VramMib: 81_920, Region: market.Text16("us-west-2")}
	m.put(t, m.node, bindings.Account_Node, n)
}

// announce tells of the node.
func (m *smallMarket) announce() {
	m.mu.Lock()
	m.slot++
	slot := m.slot
	m.mu.Unlock()
	m.srv.Notify("programSubscribe", map[string]any{
		"context": map[string]any{"slot": slot},
		"value": map[string]any{"pubkey": m.node, "account": map[string]any{
			"lamports": 1, "owner": market.ProgramID, "executable": false, "data": []string{"", "base64"},
		}},
	})
}

// A service that follows the market lists its accounts once. Searches show what is announced, without another list, and read the cluster
// while announcements do not come, or where an account has a layout that this version does not know.
func TestASearchOfAFollowedMarketListsNothing(t *testing.T) {
	m, c := newSmallMarket(t)
	s := New(c, zerolog.Nop())
	s.FollowMarket = true
	ctx, cancel := context.WithCancel(t.Context())
	wait, err := s.Keep(ctx)
	require.NoError(t, err)
	defer func() { cancel(); wait() }()
	l := s.live.Load()
	require.Eventually(t, func() bool { return l.whole.current() != nil }, time.Minute, time.Millisecond)
	shown := func() string {
		found, err := s.Offers(ctx, "gpu=a100", SortAward)
		require.NoError(t, err)
		require.Len(t, found.Offers, 1)
		return found.Offers[0].Price
	}
	shows := func(price string) {
		t.Helper()
		require.Eventually(t, func() bool { return shown() == price }, 20*time.Second, 20*time.Millisecond)
	}
	require.Equal(t, "1.00", shown())
	m.ask(t, 2_000_000)
	m.announce()
	shows("2.00")
	require.Equal(t, 1, m.srv.Calls("getProgramAccounts"), "the first reading")

	m.srv.Handle("refuse:logsSubscribe", nil)
	m.srv.DropWS()
	require.Eventually(t, func() bool { return l.whole.current() == nil }, time.Minute, time.Millisecond)
	m.ask(t, 3_000_000) // is not announced
	shows("3.00")
	require.Greater(t, m.srv.Calls("getProgramAccounts"), 1)
}

func TestAFollowedMarketOfALaterLayoutIsNotShown(t *testing.T) {
	m, c := newSmallMarket(t)
	m.mu.Lock()
	m.accounts[solana.PublicKey{78}] = append(m.accounts[m.node], 1)
	m.mu.Unlock()
	s := New(c, zerolog.Nop())
	s.FollowMarket = true
	ctx, cancel := context.WithCancel(t.Context())
	wait, err := s.Keep(ctx)
	require.NoError(t, err)
	defer func() { cancel(); wait() }()
	<-s.live.Load().whole.watcher.Ready()
	require.Nil(t, s.live.Load().whole.current())
	_, err = s.Offers(ctx, "gpu=a100", SortAward)
	require.ErrorIs(t, err, market.ErrProgramMismatch)
}
