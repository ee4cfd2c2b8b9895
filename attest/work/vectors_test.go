package work

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/vectors.json anew")

// vectors pin every byte that another implementation (the program) must agree on.
type vectors struct {
	Cells    []cellVector    `json:"cells"`
	Openings []openingVector `json:"openings"`
	Claims   []string        `json:"claims"`
}

type cellVector struct {
	Seed  string `json:"seed"`
	N     int    `json:"n"`
	Row   int    `json:"row"`
	Col   int    `json:"col"`
	Value int32  `json:"value"`
}

type openingVector struct {
	Seed    string `json:"seed"`
	N       int    `json:"n"`
	Root    string `json:"root"`
	Opening string `json:"opening"`
}

func makeVectors(t *testing.T) vectors {
	var v vectors
	for i, at := range [][3]int{{32, 0, 0}, {32, 31, 31}, {96, 95, 0}, {1024, 1000, 17}, {4096, 0, 4095}, {4096, 4095, 2048}} {
		seed := seedOf(byte(i))
		value, err := Cell(seed, at[0], at[1], at[2])
		require.NoError(t, err)
		v.Cells = append(v.Cells, cellVector{hex.EncodeToString(seed[:]), at[0], at[1], at[2], value})
	}
	for i, at := range [][3]int{{32, 31, 0}, {64, 0, 1}, {96, 95, 2}, {160, 77, 4}} {
		p, err := CPU{}.Prove(context.Background(), seedOf(byte(i)), at[0])
		require.NoError(t, err)
		o, err := p.OpenChunk(at[1], at[2])
		require.NoError(t, err)
		v.Openings = append(v.Openings, openingVector{
			hex.EncodeToString(p.Seed[:]), p.N, hex.EncodeToString(p.Root[:]), hex.EncodeToString(o.Bytes()),
		})
		c := p.Claim([8]byte{1, 2}, [32]byte{3, 4}, uint64(i)).Bytes()
		v.Claims = append(v.Claims, hex.EncodeToString(c[:]))
	}
	return v
}

func TestVectors(t *testing.T) {
	const path = "testdata/vectors.json"
	got := makeVectors(t)
	if *update {
		b, err := json.MarshalIndent(got, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(b, '\n'), 0o644))
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var want vectors
	require.NoError(t, json.Unmarshal(b, &want))
	require.Equal(t, want, got, "a fixed format changed")
}
