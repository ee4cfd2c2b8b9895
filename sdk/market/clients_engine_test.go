package market_test

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

var updateClients = flag.Bool("update", false, "write clients/vectors.json anew, from a market of the embedded engine")

// clientVectors are what generated clients in other languages must read and write as the Go bindings do. Numbers and addresses are text, bytes
// are hex.
type clientVectors struct {
	About        string                    `json:"about"`
	Accounts     []clientAccount           `json:"accounts"`
	Instructions map[string]clientInstruct `json:"instructions"`
}

type clientAccount struct {
	Kind   string         `json:"kind"`
	Data   []byte         `json:"data"`
	Fields map[string]any `json:"fields"`
}

type clientInstruct struct {
	Accounts []clientMeta   `json:"accounts"`
	Data     []byte         `json:"data"`
	Args     map[string]any `json:"args"`
}

type clientMeta struct {
	Address  string `json:"address"`
	Signer   bool   `json:"signer"`
	Writable bool   `json:"writable"`
}

var clientVectorsFile = filepath.Join("..", "..", "clients", "vectors.json")

// plain is a value of the bindings as vectors have it.
func plain(v reflect.Value) any {
	if key, is := v.Interface().(solana.PublicKey); is {
		return key.String()
	}
	switch v.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			out[name] = plain(v.Field(i))
		}
		return out
	case reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			raw := make([]byte, v.Len())
			reflect.Copy(reflect.ValueOf(raw), v)
			return hex.EncodeToString(raw)
		}
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plain(v.Index(i))
		}
		return out
	default:
		return fmt.Sprint(v.Interface())
	}
}

// fieldsOf are the fields of an account as the Go bindings read it.
func fieldsOf(t *testing.T, data []byte) (string, map[string]any) {
	t.Helper()
	a, err := bindings.ParseAnyAccount(data)
	require.NoError(t, err)
	v := reflect.ValueOf(a).Elem()
	return v.Type().Name(), plain(v).(map[string]any)
}

// clientInstructions are built by the Go SDK for fixed accounts.
func clientInstructions(t *testing.T) map[string]clientInstruct {
	t.Helper()
	key := func(n byte) solana.PublicKey { return solana.PublicKey{n, 1} }
	lease := market.Lease{Meta: market.Meta{Address: key(1)}, Lease: bindings.Lease{Order: key(2), Node: key(3), NodeKey: key(4), Provider: key(5), Customer: key(6)}}
	requirement := market.Requirement{Models: market.Models(513), MinVramMib: 40_000, MinTflopsX10: 3_120, MinCpuCores: 12, MinCuda: 1_208, AllowSimulated: 1, Region: [16]byte{'e', 'u'}}
	out := map[string]clientInstruct{}
	add := func(name string, args map[string]any, i solana.Instruction, err error) {
		t.Helper()
		require.NoError(t, err)
		data, err := i.Data()
		require.NoError(t, err)
		c := clientInstruct{Data: data, Args: args}
		for _, a := range i.Accounts() {
			c.Accounts = append(c.Accounts, clientMeta{a.PublicKey.String(), a.IsSigner, a.IsWritable})
		}
		require.Equal(t, market.ProgramID, i.ProgramID())
		out[name] = c
	}
	i, err := ix.CreditsDeposit(ix.CreditsArgs{Customer: key(6), PaymentMint: key(7), Amount: 12_500_000})
	add("creditsDeposit", map[string]any{"amount": "12500000"}, i, err)
	i, err = ix.OrderCreate(ix.OrderCreateArgs{
		Customer: key(6), Nonce: 1 << 60, MaxPrice: 3_600_000, Duration: 86_400, Nodes: 3, GPUsPerNode: 8, RunToCompletion: true, JobDigest: [32]byte{1, 2, 3}, Requirement: requirement,
	})
	add("orderCreate", map[string]any{"args": plain(reflect.ValueOf(bindings.OrderArgs{
		Nonce: 1 << 60, MaxPrice: 3_600_000, DurationSecs: 86_400, Nodes: 3, GpusPerNode: 8, RunToCompletion: 1, ImageDigest: [32]byte{1, 2, 3}, Requirement: requirement,
	}))}, i, err)
	i, err = ix.LeaseStart(ix.LeaseStartArgs{Lease: lease, ConnectionHash: [32]byte{7, 8, 9}})
	add("leaseStart", map[string]any{"connectionHash": hex.EncodeToString(append([]byte{7, 8, 9}, make([]byte, 29)...))}, i, err)
	i, err = ix.LeaseRate(ix.LeaseRateArgs{Lease: lease, Stars: 4})
	add("leaseRate", map[string]any{"stars": "4"}, i, err)
	return out
}

// The vectors of clients in other languages are what the Go bindings read of accounts, and what the Go SDK builds.
func TestClientVectors(t *testing.T) {
	if *updateClients {
		writeClientVectors(t)
	}
	raw, err := os.ReadFile(clientVectorsFile)
	require.NoError(t, err)
	var v clientVectors
	require.NoError(t, json.Unmarshal(raw, &v))
	require.NotEmpty(t, v.Accounts)
	for _, a := range v.Accounts {
		kind, fields := fieldsOf(t, a.Data)
		require.Equal(t, kind, a.Kind)
		require.Equal(t, fields, a.Fields, kind)
	}
	require.Equal(t, clientInstructions(t), v.Instructions)
}

// writeClientVectors takes the accounts of a small market.
func writeClientVectors(t *testing.T) {
	t.Helper()
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	keeper := w.Keeper()
	provider := w.Provider(100 * market.OneGNT)
	_, node := w.Node(provider, testmarket.A100, 1, 3_600_000)
	customer := w.Customer(50*market.OneUSDC, 20*market.OneUSDC)
	order := w.Order(customer, ix.OrderCreateArgs{
		Nonce: 1, GPUsPerNode: 1, Nodes: 1, Duration: 600, MaxPrice: 4_000_000, JobDigest: [32]byte{1}, Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	})
	lease := w.Award(keeper, order, node)
	v := clientVectors{
		About:        "Accounts of a small market of the embedded engine, as the Go bindings read them, and instructions that the Go SDK builds: go test ./sdk/market -run TestClientVectors -update",
		Instructions: clientInstructions(t),
	}
	for _, key := range []solana.PublicKey{
		market.MarketAddress(), market.ModelAddress(testmarket.A100), market.ProviderAddress(provider.PublicKey()), node.Address, market.KeeperAddress(keeper.PublicKey()),
		market.CreditsAddress(customer.PublicKey()), order.Address, lease.Address,
	} {
		a, err := w.Client.Account(w.Ctx, key, chain.Confirmed)
		require.NoError(t, err, key)
		kind, fields := fieldsOf(t, a.Data)
		v.Accounts = append(v.Accounts, clientAccount{kind, a.Data, fields})
	}
	raw, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(clientVectorsFile, append(raw, '\n'), 0o644))
}
